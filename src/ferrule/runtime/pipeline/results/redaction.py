"""Redacts a result before anybody sees or stores it: the delivered and the stored result are the same (AT-233).

`phases/persist_result`, `payload_store` and `streaming` call it; the engine is `runtime/redaction`. It also applies
the rules of the tool's own output contract. Rows are redacted in `runtime/pipeline/rows`.
"""

from __future__ import annotations

from collections.abc import Callable

import msgspec
from msgspec.structs import replace

from ferrule.contracts.redactor import RedactingStream
from ferrule.model.result import Result
from ferrule.model.value import JsonObject
from ferrule.runtime.pipeline.call import Call
from ferrule.runtime.pipeline.redaction import list_secrets
from ferrule.runtime.pipeline.results.mapping import Blocks, redact_binary
from ferrule.runtime.pipeline.results.output_contract import NO_OUTPUT_POLICY, OutputRules
from ferrule.runtime.pipeline.results.views import has_raw
from ferrule.runtime.pipeline.services import Services
from ferrule.runtime.redaction.redactor import ONLY_GIVEN
from ferrule.runtime.redaction.sensitive_input import scrub_values

_FIELDS = (
    "content", "structured_content", "model_facing_content", "ui_facing_summary", "summary", "transcript_search_text",
    "artifact_refs", "resource_refs", "additional_context", "native_output", "hook_stop", "native_output_ref", "native_call_id",
    "native_meta",
)  # fmt: skip
_TUPLES = frozenset({"content", "model_facing_content", "artifact_refs", "resource_refs", "additional_context"})
CONTRACT = "output_contract"
"""The name under which the tool's own output contract is listed in `redactions`."""


def open_redacting_stream(call: Call, services: Services) -> RedactingStream | None:
    """Opens a redacting filter for bytes of this call; None when nothing is secret."""
    secrets, redactor = list_secrets(call), services.redactor or ONLY_GIVEN
    return redactor.stream(secrets) if secrets or not redactor.is_idle else None


def redact_result(call: Call, services: Services) -> None:
    """Replaces the call's result by a redacted one, and notes the names of what was removed."""
    ending = call.ending
    result = ending.result
    secrets, redactor = list_secrets(call), services.redactor
    rules = (call.prepared.traits.output_policy or NO_OUTPUT_POLICY).rules
    if result is None or not (secrets or rules is not None or (redactor is not None and not redactor.is_idle)):
        return
    found: list[str] = []
    if rules is not None:
        result = _apply_rules(result, rules, call, found)
    stream = (redactor or ONLY_GIVEN).stream
    result = _redact_bytes(result, lambda: stream(secrets), found)
    fields = [getattr(result, name) for name in _FIELDS]
    error, notes, natives = result.error, result.input_mutations, call.notes.get("native_refs")
    words = () if error is None else (error.message, error.error_code, error.native_error_ref)
    told = [*map(_drop_bytes, fields), words, [note.changed_fields for note in notes], natives]
    clean, names = (redactor or ONLY_GIVEN).value(told, secrets)
    found += names
    if not found:
        return
    changed = {
        name: tuple(_restore_bytes(after, before)) if name in _TUPLES and after is not None else after
        for name, before, after in zip(_FIELDS, fields, clean, strict=False)
    }
    own = "structured_content" if result.native_output is None else "native_output"
    changed["content"] = _encode_again(result.content, getattr(result, own), changed[own]) or changed["content"]
    *_, words, fields_of_notes, natives = clean
    if error is not None:
        message, code, native = words
        changed["error"] = replace(error, message=message, error_code=code, native_error_ref=native)
        if ending.stop is not None:  # later uses of the stop must be clean too
            stop = ending.stop
            ending.stop = replace(stop, message=message, code=stop.code and code, native_error_ref=native)
    changed["input_mutations"] = tuple(
        replace(note, changed_fields=tuple(each)) for note, each in zip(notes, fields_of_notes, strict=True)
    )
    ending.is_plain_result = False
    ending.result = replace(result, redaction_state="partial", **changed)
    call.notes = {**call.notes, "redaction_state": "partial", "redactions": sorted(set(found))}
    if natives is not None:
        call.notes["native_refs"] = natives


def _redact_bytes(result: Result, stream: Callable[[], RedactingStream], found: list[str]) -> Result:
    """Redacts the bytes that blocks carry. A single block of raw bytes is skipped: it is redacted while it is stored."""
    changed: JsonObject = {}
    for name in ("content", "model_facing_content"):
        blocks = getattr(result, name)
        if blocks is None or (len(blocks) == 1 and has_raw(blocks[0])):
            continue
        clean = tuple(redact_binary(block, stream, found) for block in blocks)
        if any(one is not other for one, other in zip(clean, blocks, strict=True)):
            changed[name] = clean
    return replace(result, **changed) if changed else result


def _encode_again(content: Blocks, before: object, after: object) -> Blocks | None:
    """Encodes a redacted value again, so that its text stays valid JSON; None where the content is no such text."""
    if before is after or len(content) != 1 or content[0].get("type") != "text":
        return None
    try:
        is_its_text = content[0].get("text") == msgspec.json.encode(before).decode()
        return ({**content[0], "text": msgspec.json.encode(after).decode()},) if is_its_text else None
    except (OverflowError, TypeError, UnicodeEncodeError, ValueError):
        return None


def _apply_rules(result: Result, rules: OutputRules, call: Call, found: list[str]) -> Result:
    """Applies the redaction rules of the tool's own contract."""
    structured, masked = rules.mask(result.structured_content)
    structured = rules.redact_texts(structured)
    content = result.content
    if masked or structured != result.structured_content:
        gave_blocks = call.ending.output is not None and call.ending.output.content is not None
        text = {"type": "text", "text": msgspec.json.encode(structured).decode()}
        content = scrub_values(content, masked) if gave_blocks else (text,)
    content = rules.redact_texts(content)
    if content == result.content and structured == result.structured_content:
        return result
    found.append(CONTRACT)
    shown = result.model_facing_content
    return replace(
        result,
        content=content,
        structured_content=structured,
        native_output=rules.redact_texts(rules.mask(result.native_output)[0]),
        model_facing_content=None if shown is None else rules.redact_texts(scrub_values(shown, masked)),
    )


def _drop_bytes(value: object) -> object:
    """Drops raw bytes from blocks: they are redacted when they are stored, and text redaction cannot read them."""
    if not isinstance(value, tuple):
        return value
    return [{name: member for name, member in one.items() if not isinstance(member, bytes)} for one in value]


def _restore_bytes(clean: list[JsonObject], before: tuple[JsonObject, ...]) -> list[JsonObject]:
    return [
        {**one, **{name: member for name, member in was.items() if isinstance(member, bytes)}}
        for one, was in zip(clean, before, strict=True)
    ]
