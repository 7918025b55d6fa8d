"""Takes secrets out of a result before anybody sees or keeps it: the delivered one and the stored one are the same (AT-233)."""

from __future__ import annotations

from typing import Any

import msgspec
from msgspec.structs import replace

from ferrule.contracts.redactor import RedactingStream, Redactor
from ferrule.model.redaction import RedactionSettings
from ferrule.model.result import Result
from ferrule.pipeline.call import Call
from ferrule.pipeline.inputs import sensitive_values
from ferrule.pipeline.keeping import NO_KEEPING
from ferrule.pipeline.output_rules import OutputRules
from ferrule.pipeline.redaction import scrub
from ferrule.pipeline.redactor import KnownSecrets
from ferrule.pipeline.services import Services

_FIELDS = (
    "content", "structured_content", "model_facing_content", "ui_facing_summary", "summary", "transcript_search_text",
    "artifact_refs", "resource_refs", "additional_context", "native_output", "hook_stop", "native_output_ref",
)  # fmt: skip
_TUPLES = frozenset({"content", "model_facing_content", "artifact_refs", "resource_refs", "additional_context"})
CONTRACT = "output_contract"
"""The name under which what a tool's own contract keeps out of its output is told."""
ONLY_ASKED: Redactor = KnownSecrets(RedactionSettings(well_known=False), {})
"""Knows nothing by itself: for calls with secrets of their own where no redactor is set up."""


def secrets_of(call: Call) -> frozenset[str]:
    """The values that are secret for this call only: its sensitive inputs, and what its tool asked to hide."""
    return call.secrets if call.prepared.mask is None else call.secrets | sensitive_values(call)


def redacting(call: Call, services: Services) -> RedactingStream | None:
    """A filter for bytes of this call; None when nothing is secret."""
    secrets, redactor = secrets_of(call), services.redactor or ONLY_ASKED
    return redactor.stream(secrets) if secrets or not redactor.is_idle else None


def redact(call: Call, services: Services) -> None:
    """Replace the call's result by one without secrets, and note what was taken out, by name."""
    result = call.result
    secrets, redactor = secrets_of(call), services.redactor
    rules = (call.prepared.traits.keeping or NO_KEEPING).rules
    if result is None or not (secrets or rules is not None or (redactor is not None and not redactor.is_idle)):
        return
    found: list[str] = []
    if rules is not None:
        result = _ruled(result, rules, call, found)
    fields = [getattr(result, name) for name in _FIELDS]
    words = [None, None] if result.error is None else [result.error.message, result.error.native_error_ref]
    natives = call.notes.get("native_refs")
    clean, names = (redactor or ONLY_ASKED).value([*map(_without_bytes, fields), words, natives], secrets)
    found += names
    if not found:
        return
    changed = {
        name: tuple(_with_bytes(after, before)) if name in _TUPLES and after is not None else after
        for name, before, after in zip(_FIELDS, fields, clean, strict=False)
    }
    if result.error is not None:
        message, native = clean[-2]
        changed["error"] = replace(result.error, message=message, native_error_ref=native)
    call.is_plain_result = False
    call.result = replace(result, redaction_state="partial", **changed)
    call.notes = {**call.notes, "redaction_state": "partial", "redactions": sorted(set(found))}
    if natives is not None:
        call.notes["native_refs"] = clean[-1]


def _ruled(result: Result, rules: OutputRules, call: Call, found: list[str]) -> Result:
    """What the tool's own contract keeps out of its output."""
    structured, masked = rules.apply(result.structured_content)
    structured = rules.texts(structured)
    content = result.content
    if masked or structured != result.structured_content:
        gave_blocks = call.output is not None and call.output.content is not None
        text = {"type": "text", "text": msgspec.json.encode(structured).decode()}
        content = scrub(content, masked) if gave_blocks else (text,)
    content = rules.texts(content)
    if content == result.content and structured == result.structured_content:
        return result
    found.append(CONTRACT)
    shown = result.model_facing_content
    return replace(
        result,
        content=content,
        structured_content=structured,
        native_output=rules.texts(rules.apply(result.native_output)[0]),
        model_facing_content=None if shown is None else rules.texts(scrub(shown, masked)),
    )


def _without_bytes(value: Any) -> Any:
    """Raw bytes are looked through when they are stored; nothing that handles texts can."""
    if not isinstance(value, tuple):
        return value
    return [{name: member for name, member in one.items() if not isinstance(member, bytes)} for one in value]


def _with_bytes(clean: list[dict[str, Any]], before: tuple[dict[str, Any], ...]) -> list[dict[str, Any]]:
    return [
        {**one, **{name: member for name, member in was.items() if isinstance(member, bytes)}}
        for one, was in zip(clean, before, strict=True)
    ]
