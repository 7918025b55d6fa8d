"""The page of error classes, from the table of ferrule.model.failure."""

from __future__ import annotations

from ferrule.model.failure import ERROR_CLASSES, FINER_CODES, MEANINGS, ErrorClass

WHAT: dict[ErrorClass, str] = {
    "unknown_tool": "No tool of that name is on the caller's surface.",
    "schema_not_loaded": "The tool is deferred and was called unseen. Search for it, or `select` it, first.",
    "schema_validation_failed": "The arguments do not fit the input schema.",
    "invalid_arguments": "They fit the schema, and the tool's own check refused the values.",
    "setup_required": "Something has to be set up first: a session, a connection, a function.",
    "credential_missing": "A credential the tool needs is not at hand.",
    "capability_gap": "Nothing here can run this kind of tool, or the model cannot use it.",
    "sandbox_violation": "The tool tried to reach what its sandbox forbids.",
    "hook_blocked": "A hook stopped the call, or failed.",
    "permission_denied": "The policy said no. Nothing ran.",
    "approval_rejected": "A person said no. Nothing ran.",
    "policy_blocked": "The tool is held back for this caller: switched off, not granted, over its limit.",
    "canceled": "Whoever called took it back.",
    "sibling_canceled": "A call of the same batch failed, so this one was given up.",
    "streaming_fallback_discarded": "The model's turn was begun again, and this call with it.",
    "timeout": "It took too long, or nobody answered an approval in time.",
    "rate_limited": "The system behind the tool asks to wait; `retry_after` says how long.",
    "dependency_unavailable": "The system behind the tool, or the ledger, could not be reached.",
    "execution_failed": "The tool ran and failed.",
    "partial_failure": "Some of it was done. Do not repeat it blindly.",
    "result_too_large": "The answer is larger than what may be handed on.",
    "result_redacted": "The answer was held back because of what is in it.",
}


def page() -> str:
    """Every class, what it means and what to do about it."""
    lines = [
        "# Error classes",
        "",
        "The 22 classes of the Agent Tool standard. A call that does not give what was asked for has exactly one, in",
        "`result.error.error_class`; `error_code` is finer where there is something finer to say. Programs decide by these",
        "and by `error.retry`, never by the message. [Calling tools](../guide/calling-tools.md) shows how.",
        "",
        "| class | what happened | result | last state, not run / run | what helps |",
        "|---|---|---|---|---|",
    ]
    for name in ERROR_CLASSES:
        meaning = MEANINGS[name]
        states = meaning.early if meaning.early == meaning.late else f"{meaning.early} / {meaning.late}"
        lines.append(f"| `{name}` | {WHAT[name]} | `{meaning.status}` | {states} | `{meaning.recoverability}` |")
    lines += ["", "Finer codes that are classes of their own elsewhere:", ""]
    lines += [f"- `{code}`: {kind}" for code, kind in FINER_CODES.items()]
    return "\n".join([*lines, ""])
