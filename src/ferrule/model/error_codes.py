"""The meaning of each error class and each finer code, for people: the reference page is generated from this.

Codes are a promise: programs and runbooks name them, so one that was emitted is never renamed (AT-238).
"""

from __future__ import annotations

from typing import NamedTuple

from ferrule.model.failure import ErrorClass
from ferrule.model.lifecycle import Phase


class ErrorExplanation(NamedTuple):
    """One error class, for people."""

    text: str
    phases: tuple[Phase, ...]
    """Where it comes from."""


EXPLANATIONS: dict[ErrorClass, ErrorExplanation] = {
    "unknown_tool": ErrorExplanation("No tool of that name is on the caller's surface.", ("resolve_tool",)),
    "schema_not_loaded": ErrorExplanation(
        "The tool is deferred and was called unseen. Search for it, or `select` it, first.",
        ("resolve_tool", "check_schema_loaded"),
    ),
    "schema_validation_failed": ErrorExplanation(
        "The arguments do not fit the input schema, as they were sent or as somebody changed them.",
        ("parse_schema", "pre_hooks"),
    ),
    "invalid_arguments": ErrorExplanation(
        "They fit the schema, and the tool's own check or its contract refused the values.",
        ("validate_values", "pre_hooks", "execute"),
    ),
    "setup_required": ErrorExplanation(
        "Something has to be set up first: a session, a connection, a function, a service.",
        ("resolve_tool", "validate_values", "execute"),
    ),
    "credential_missing": ErrorExplanation(
        "A credential the tool needs is not at hand.", ("resolve_tool", "validate_values", "execute")
    ),
    "capability_gap": ErrorExplanation(
        "Nothing here can run this kind of tool, or the model or a feature lacks what it needs.",
        ("resolve_tool", "validate_values", "execute"),
    ),
    "sandbox_violation": ErrorExplanation(
        "The tool tried to reach what its sandbox forbids.", ("validate_values", "execute")
    ),
    "hook_blocked": ErrorExplanation(
        "A hook or guardrail stopped the call or withheld its output, or failed before it.",
        ("pre_hooks", "permission", "post_hooks", "persist_result"),
    ),
    "permission_denied": ErrorExplanation(
        "A rule, a mode or a hook said no, or nobody could be asked: then nothing ran. Or the system behind the tool said no.",
        ("validate_values", "permission", "execute"),
    ),
    "approval_rejected": ErrorExplanation("A person said no. Nothing ran.", ("permission",)),
    "policy_blocked": ErrorExplanation(
        "The tool is held back for this caller: switched off, not granted, over its limit, or at a host that may not be reached.",
        ("resolve_tool", "permission", "schedule", "execute"),
    ),
    "canceled": ErrorExplanation("Whoever called took it back.", ("schedule", "execute")),
    "sibling_canceled": ErrorExplanation(
        "A call of the same batch failed, so this one was given up.", ("schedule", "execute")
    ),
    "streaming_fallback_discarded": ErrorExplanation(
        "The model's turn was begun again, and this call with it.", ("schedule", "execute")
    ),
    "timeout": ErrorExplanation(
        "It took too long, its turn did not come, or nobody answered an approval in time.",
        ("permission", "schedule", "execute"),
    ),
    "rate_limited": ErrorExplanation(
        "The system behind the tool asks to wait, or too many calls wait here; `retry_after` says how long.",
        ("schedule", "execute"),
    ),
    "dependency_unavailable": ErrorExplanation(
        "The system behind the tool, or the ledger, could not be reached.",
        ("permission", "schedule", "execute", "emit_terminal"),
    ),
    "execution_failed": ErrorExplanation(
        "The tool ran and failed, or Ferrule did.", ("schedule", "execute", "map_result")
    ),
    "partial_failure": ErrorExplanation("Some of it was done. Do not repeat it blindly.", ("execute", "post_hooks")),
    "result_too_large": ErrorExplanation(
        "The answer is larger than what may be read or handed on.", ("execute", "persist_result")
    ),
    "result_redacted": ErrorExplanation("The answer was held back because of what is in it.", ("persist_result",)),
}

CODES: dict[ErrorClass, dict[str, str]] = {
    "unknown_tool": {
        "tool_not_found": "there is no such tool",
        "tool_not_surfaced": "the catalog has it, the surface does not",
        "ambiguous_name": "the name means several tools here",
    },
    "schema_not_loaded": {"deferred_until_discovered": "its server is still connecting, or refused"},
    "schema_validation_failed": {
        "invalid_json": "the arguments are no JSON",
        "arguments_too_large": "they are larger than arguments may be",
        "internal_field": "they hold a field that only the runtime fills in",
        "unusable_schema": "the tool's own schema cannot be used",
        "updated_input_invalid": "a hook changed the input into something that does not fit",
    },
    "invalid_arguments": {
        "idempotency_conflict": "the idempotency key was used with other arguments",
        "input_mutation_failed": "the contract forbids that the input is replaced",
    },
    "capability_gap": {
        "feature_disabled": "disabled, a feature gate is closed, its schema cannot be used, or nothing here runs it",
        "model_unsupported": "the model lacks what the tool requires",
    },
    "hook_blocked": {
        "guardrail_blocked": "a guardrail fired, or could not judge",
        "guardrail_escalated": "a guardrail withheld the output until a person has looked",
        "guardrail_fired": "one fired on the input of this run, and the agent calls nothing more in it",
        "guardrail_missing": "the agent's file names a guardrail that nobody configured",
        "hook_failed": "a hook before the call crashed, was late or gave no answer that can be used",
    },
    "policy_blocked": {
        "recursive_tool_forbidden": "an agent as a tool, inside an agent that is one",
        "role_not_allowed": "the role does not grant it",
        "tool_choice_none": "the agent shows its tools and calls none",
        "tool_disabled": "an operator switched it off while the call waited",
        "call_limit_reached": "the run has used up its calls",
        "surface_gone": "the caller's surface cannot be made again",
        "key_ended": "the key that the call came with was revoked, expired or removed while it waited",
        "record_changed": "the ledger's rows of a waiting call do not agree",
    },
    "sibling_canceled": {"dependency_pending": "what it depends on waits for a person, so it was not begun"},
    "timeout": {"approval_expired": "nobody answered in time"},
    "rate_limited": {"queue_full": "as many calls wait as may"},
    "dependency_unavailable": {
        "circuit_open": "it failed several times in a row, and is left alone for a while",
        "ledger_unavailable": "the ledger cannot be written, so nothing ran",
        "outcome_not_recorded": "nothing ran, and that could not be recorded",
    },
    "execution_failed": {
        "internal_error": "a mistake in Ferrule or in an executor; the log has it",
        "deadlock": "a tool called another that would wait for what the first one holds",
        "result_mapping_failed": "the tool gave something else than it promises",
        "interrupted": "the process ended while a reading tool ran, or before the call's turn came",
        "outcome_settled": "a person found out that it did not happen",
        "outcome_not_recorded": "it ran, and how it ended could not be recorded",
    },
    "partial_failure": {
        "post_hook_failed": "the tool did its work, a hook after it crashed",
        "outcome_settled": "a person found out that it happened; its output is lost",
    },
}
"""Finer codes by class. Where a call has none, its code is the class itself; tools may add codes of their own."""

TOOL_CODES: dict[ErrorClass, dict[str, str]] = {
    "invalid_arguments": {
        "attachment_unavailable": "the attached file cannot be fetched from its address",
        "bad_header": "a header cannot be set, is there twice, or has characters that none may have",
        "bad_path": "the path is empty, too long, or has characters that no path has",
        "bad_request": "what was asked of the database names something it has not, or in a way that is not taken",
        "bad_statement": "the statement in the arguments cannot be read, or is more than one",
        "bad_text": "the text has half a character in it, which no file can hold",
        "bad_url": "the address cannot be read as one, or has parts that are not taken",
        "bad_value": "a value does not fit what the database expects",
        "binary_file": "the file is no text in UTF-8",
        "constraint_violated": "the values break a rule of the database",
        "empty_old_string": "`edit` was not told which text to replace",
        "file_not_found": "there is no such file",
        "file_too_large": "the file is larger than what `edit` takes",
        "image_file": "the file is an image, and `read` gives text",
        "is_a_folder": "the path is a folder's",
        "message_too_large": "the message is larger than the queue takes",
        "no_such_program": "no program of that name is where programs are looked for",
        "nothing_to_save": "`save_path` with HEAD, which brings no body",
        "option_injection": "a value would be taken for an option of the program",
        "payload_too_large": "the input is larger than the cloud function takes",
        "protocol_error": "the MCP server did not accept the arguments",
        "shell_syntax": "the line means something only a shell could carry out",
        "text_not_found": "the text to replace is not in the file",
        "text_not_unique": "the text to replace is in the file more than once",
        "too_complex": "the statement or its values are larger than the database takes",
        "too_long": "the other side finds what was sent too long",
        "unsendable_argument": "a value cannot be put where the definition sends it",
        "upstream_invalid": "the OXP server does not accept the arguments",
    },
    "setup_required": {
        "address_unreadable": "an address in the definition or the settings cannot be read",
        "bad_statement": "the statement of the definition cannot be used",
        "driver_missing": "a library is not installed; the message says how to get it",
        "function_unbound": "no Python function is bound to the tool",
        "not_started": "the program that is the MCP server cannot be started",
        "protocol_version": "the definition wants, or the MCP server speaks, no revision that is known here",
        "provider_unknown": "the settings have no such provider of authorizations",
        "provider_unusable": "the settings of the provider of authorizations cannot be used",
        "raw_input": "a raw payload needs an input of one text",
        "reply_subscription": "replies are read from a subscription, and the definition names none",
        "request_unwritable": "a name or value cannot stand in a request",
        "sandbox_failed": "the sandbox could not be set up for this call",
        "sandbox_missing": "there is no sandbox here that works, and the workspace requires one",
        "sasl_mechanism": "the Kafka cluster wants another way of signing in",
        "scheme_unfit": "the system behind the tool takes no credentials of that scheme",
        "security_protocol": "the Kafka cluster wants another kind of connection",
        "unknown_database": "the database named in the credentials does not exist",
        "unknown_schema": "the schema does not exist",
        "upstream_needs_person": "the MCP server wants a person to open a page first",
    },
    "capability_gap": {
        "upstream_needs_capability": "the MCP server wants something of its client that is not offered here",
    },
    "sandbox_violation": {
        "address_forbidden": "the host's address is private, link-local or otherwise not public",
        "domain_not_allowed": "the host is not among the allowed domains",
        "not_whitelisted": "the command begins like no entry of the whitelist",
        "outside_sandbox": "the program lies where a sandboxed one cannot reach",
        "path_outside_roots": "the path leads outside the allowed folders",
        "path_protected": "the file belongs to Ferrule itself: keys, ledger, settings, policy",
        "process_limit": "the program started more processes than it may",
        "redirect_refused": "the answer redirects to where the tool may not go",
        "special_file": "a pipe, device or socket, and no plain file",
    },
    "credential_missing": {
        "authorization_failed": "the user's authorization broke off, or what came back is not what was asked for",
        "authorization_required": "the user has to authorize the tool first",
        "broker_answer": "the token broker gave no token that can be sent",
        "credential_refused": "the system behind the tool does not accept the credentials; the next call reads them anew",
        "credential_shape": "the secret is there and has another shape than is needed",
        "identity_missing": "this process has no identity at the cloud",
        "identity_unavailable": "the identity of this process could not be had from the cloud",
        "secret_unavailable": "the secret is not where it should be",
        "secret_unbound": "`[secrets.bindings]` does not say where the secret is",
        "upstream_requirements": "the OXP server misses a secret, a token or a user",
        "user_id_required": "the tool acts for a user, and the call names none",
    },
    "permission_denied": {
        "read_only": "the statement changes something, and a retrieval only reads",
        "statement_not_allowed": "the tool does not run statements of that kind",
        "upstream_denied": "the system behind the tool says that these credentials may not do that",
    },
    "policy_blocked": {
        "address_forbidden": "the host leads to an address that has to be in `[network] allow`",
        "lock_damaged": "the file of accepted MCP tools cannot be read, so none is called",
        "redirect_refused": "the answer redirects to where the tool may not go",
        "upstream_changed": "the tool of the MCP server is not the one that was accepted",
    },
    "timeout": {
        "locked": "something the statement needs is locked by somebody else",
        "statement_timeout": "the statement took too long and was stopped at the database",
    },
    "rate_limited": {
        "provider_unavailable": "the provider of authorizations asks to wait",
        "too_many_connections": "the database has too many connections",
        "upstream_busy": "the OXP server wants fewer requests",
    },
    "dependency_unavailable": {
        "attachment_unavailable": "the host of an attached file does not answer as it should",
        "broken_answer": "the server's answer broke off, or is no HTTP",
        "broker_failed": "the token broker failed",
        "connect_timeout": "the database did not answer in time",
        "connection_closed": "the MCP server closed the connection",
        "connection_lost": "the connection to the database broke",
        "database_failed": "the database failed inside",
        "no_endpoint": "the MCP server did not say where to write to",
        "no_handshake": "the MCP server did not answer in time when the connection was made",
        "no_resources": "the database is out of memory, room or connections",
        "process_not_started": "no process could be started for the function",
        "protocol_error": "the MCP server answered with an error of the protocol, or broke its rules",
        "provider_unavailable": "the provider of authorizations does not answer, or tells no endpoints",
        "secret_unavailable": "the store of the secret did not answer",
        "server_ended": "the program that is the MCP server ended",
        "shutting_down": "the database is shutting down or starting",
        "tls_failed": "the database cannot prove who it is",
        "unreachable": "nothing answers at the address, or the connection broke off",
        "upstream_broken": "the OXP server is in trouble",
    },
    "execution_failed": {
        "answer_shape": "the answer has nothing at the place that the definition names",
        "bad_answer": "the MCP server gave an answer that the protocol does not have",
        "bad_state": "what the statement names is in no state for that",
        "bad_statement": "the database does not understand the statement",
        "bad_transaction": "the transaction is in no state for that",
        "broken_json": "the answer says that it is JSON, and it is not",
        "cardinality": "a part of the statement gave more rows than it may",
        "certificate_refused": "the server's certificate is not that of the host",
        "conflict": "another transaction came in between; a new attempt may succeed",
        "database_failed": "the database refused the statement, and says no more",
        "disk_full": "there is no room on the disk, and nothing was changed",
        "endpoint_not_found": "nothing speaks MCP at the address",
        "exit_code": "the program ended with a code that its definition does not list as success",
        "file_changed": "somebody else changed the file meanwhile, so nothing was written",
        "file_error": "the file system reported an error of another kind",
        "file_not_accessible": "this process may not use the file",
        "function_error": "the cloud function ran and failed",
        "no_row": "the statement should give one row, and found none",
        "not_ended": "the program was ended, but some of its processes are still running",
        "not_found": "the queue or topic does not exist",
        "not_supported": "the database cannot do that",
        "output_lost": "a stream of output broke off before its end",
        "output_not_json": "the program should write JSON, and wrote something else",
        "process_died": "the process of the function ended before it answered",
        "protocol_error": "the MCP server has no tools, or not this way of calling them",
        "raised": "a function of the database refused",
        "reply_unreadable": "the reply in the queue cannot be read in the tool's message format",
        "result_unreadable": "the cloud function gave no JSON, and its payload format is JSON",
        "several_rows": "the statement should give one row, and gave more",
        "too_many_redirects": "the answer redirects more often than is followed",
        "tool_error": "the tool of the MCP server ran and says that it failed",
        "upstream_failed": "the tool ran at the OXP server and failed",
        "upstream_pending": "the call still waits at the OXP server",
        "upstream_refused": "the OXP server refused the call before it began",
        "upstream_tool_unknown": "the MCP server has no tool of that name",
    },
    "result_too_large": {
        "output_limit": "the program wrote more than it may and was ended",
        "too_long": "the other side's answer is longer than may be read",
        "too_many_bytes": "the rows are larger than the limit of the tool",
        "too_many_rows": "there are more rows than the limit of the tool",
    },
}
"""Codes of what runs tools: built-in tools, declared programs, functions, transports and their credentials. A REST tool
has `http_404` and the like for statuses that have no code of their own."""
