"""What each error class and each finer code means, for people: the reference page is written from this.

Codes are a promise: programs and runbooks name them, so one that was emitted is never renamed (AT-238).
"""

from __future__ import annotations

from typing import NamedTuple

from ferrule.model.failure import ErrorClass
from ferrule.model.lifecycle import Phase


class Explanation(NamedTuple):
    """One error class, for people."""

    text: str
    phases: tuple[Phase, ...]
    """Where it comes from."""


EXPLANATIONS: dict[ErrorClass, Explanation] = {
    "unknown_tool": Explanation("No tool of that name is on the caller's surface.", ("resolve_tool",)),
    "schema_not_loaded": Explanation(
        "The tool is deferred and was called unseen. Search for it, or `select` it, first.",
        ("resolve_tool", "check_schema_loaded"),
    ),
    "schema_validation_failed": Explanation(
        "The arguments do not fit the input schema, as they were sent or as somebody changed them.",
        ("parse_schema", "pre_hooks"),
    ),
    "invalid_arguments": Explanation(
        "They fit the schema, and the tool's own check or its contract refused the values.",
        ("validate_values", "pre_hooks", "execute"),
    ),
    "setup_required": Explanation(
        "Something has to be set up first: a session, a connection, a function, a service.",
        ("resolve_tool", "validate_values", "execute"),
    ),
    "credential_missing": Explanation(
        "A credential the tool needs is not at hand.", ("resolve_tool", "validate_values", "execute")
    ),
    "capability_gap": Explanation(
        "Nothing here can run this kind of tool, or the model or a feature lacks what it needs.",
        ("resolve_tool", "validate_values"),
    ),
    "sandbox_violation": Explanation(
        "The tool tried to reach what its sandbox forbids.", ("validate_values", "execute")
    ),
    "hook_blocked": Explanation(
        "A hook or guardrail stopped the call or withheld its output, or failed before it.",
        ("pre_hooks", "permission", "post_hooks", "persist_result"),
    ),
    "permission_denied": Explanation(
        "A rule, a mode or a hook said no, or nobody could be asked. Nothing ran.", ("validate_values", "permission")
    ),
    "approval_rejected": Explanation("A person said no. Nothing ran.", ("permission",)),
    "policy_blocked": Explanation(
        "The tool is held back for this caller: switched off, not granted, over its limit.",
        ("resolve_tool", "permission", "schedule"),
    ),
    "canceled": Explanation("Whoever called took it back.", ("schedule", "execute")),
    "sibling_canceled": Explanation(
        "A call of the same batch failed, so this one was given up.", ("schedule", "execute")
    ),
    "streaming_fallback_discarded": Explanation(
        "The model's turn was begun again, and this call with it.", ("schedule", "execute")
    ),
    "timeout": Explanation(
        "It took too long, its turn did not come, or nobody answered an approval in time.",
        ("permission", "schedule", "execute"),
    ),
    "rate_limited": Explanation(
        "The system behind the tool asks to wait, or too many calls wait here; `retry_after` says how long.",
        ("schedule", "execute"),
    ),
    "dependency_unavailable": Explanation(
        "The system behind the tool, or the ledger, could not be reached.",
        ("permission", "schedule", "execute", "emit_terminal"),
    ),
    "execution_failed": Explanation("The tool ran and failed, or Ferrule did.", ("schedule", "execute", "map_result")),
    "partial_failure": Explanation("Some of it was done. Do not repeat it blindly.", ("execute", "post_hooks")),
    "result_too_large": Explanation("The answer is larger than what may be handed on.", ("persist_result",)),
    "result_redacted": Explanation("The answer was held back because of what is in it.", ("persist_result",)),
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
        "feature_disabled": "disabled, a feature gate is closed, or nothing here runs it",
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
        "interrupted": "the process ended while a reading tool ran",
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
        "bad_header": "a header cannot be set, is there twice, or has characters that none may have",
        "bad_path": "the path is empty, too long, or has characters that no path has",
        "bad_text": "the text has half a character in it, which no file can hold",
        "bad_url": "the address cannot be read as one, or has parts that are not taken",
        "binary_file": "the file is no text in UTF-8",
        "empty_old_string": "`edit` was not told which text to replace",
        "file_not_found": "there is no such file",
        "file_too_large": "the file is larger than what `edit` takes",
        "image_file": "the file is an image, and `read` gives text",
        "is_a_folder": "the path is a folder's",
        "no_such_program": "no program of that name is where programs are looked for",
        "nothing_to_save": "`save_path` with HEAD, which brings no body",
        "option_injection": "a value would be taken for an option of the program",
        "shell_syntax": "the line means something only a shell could carry out",
        "text_not_found": "the text to replace is not in the file",
        "text_not_unique": "the text to replace is in the file more than once",
    },
    "setup_required": {
        "sandbox_missing": "there is no sandbox here that works, and the workspace requires one",
        "sandbox_failed": "the sandbox could not be set up for this call",
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
    "dependency_unavailable": {"broken_answer": "the server's answer broke off, or is no HTTP"},
    "execution_failed": {
        "certificate_refused": "the server's certificate is not that of the host",
        "disk_full": "there is no room on the disk, and nothing was changed",
        "encoded_answer": "the answer is compressed, although nobody asked for that",
        "exit_code": "the program ended with a code that its definition does not list as success",
        "file_changed": "somebody else changed the file meanwhile, so nothing was written",
        "file_error": "the file system reported an error of another kind",
        "file_not_accessible": "this process may not use the file",
        "not_ended": "the program was told to end, and some of its processes are still there",
        "output_lost": "a stream of output broke off before its end",
        "too_many_redirects": "the answer redirects more often than is followed",
    },
    "result_too_large": {"output_limit": "the program wrote more than it may and was ended"},
}
"""Codes of what runs tools: the built-in tools, declared programs, streamed output."""
