"""Verdicts of guardrails: the output that a provider is shown, and its answer, read strictly.

An answer that is not exactly one of its type is a provider error. The provider's reason is repeated without the
content it was shown. `guardrail` calls this module and acts on the verdict.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Annotated, Any, TypeVar

import msgspec

from ferrule.contracts.hook import HookFailed
from ferrule.model.value import JsonObject
from ferrule.runtime.hooks.guardrail_records import Point, ResultType

MAX_ADDED_BYTES = 64 * 1024
"""The most that a guardrail may add to one call."""


class ScoreVerdict(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """A severity from 0 to 10."""

    score: Annotated[float, msgspec.Meta(ge=0, le=10)]
    reason: str | None = None


class TransformVerdict(msgspec.Struct, frozen=True):
    """The judged value, changed or not."""

    value: object
    is_changed: bool
    reason: str | None = None


class AdditionVerdict(msgspec.Struct, frozen=True):
    """Content blocks to add for the model."""

    blocks: tuple[JsonObject, ...]


Verdict = ScoreVerdict | TransformVerdict | AdditionVerdict
T = TypeVar("T")


class _TransformAnswer(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    input: Any = msgspec.UNSET
    output: Any = msgspec.UNSET
    text: str | msgspec.UnsetType = msgspec.UNSET
    changed: bool | msgspec.UnsetType = msgspec.UNSET
    reason: str | None = None


class _AdditionAnswer(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    annotations: Any = msgspec.UNSET
    context: Any = msgspec.UNSET


def read_verdict(answer: bytes, kind: ResultType, point: Point, judged: object) -> Verdict:
    """Reads the verdict in an answer about the value `judged`. Raises HookFailed, which repeats nothing of the answer."""
    if kind == "score":
        return _decode(answer, ScoreVerdict)
    if kind == "transform":
        return _read_transform(_decode(answer, _TransformAnswer), point, judged)
    return _read_addition(_decode(answer, _AdditionAnswer))


def _decode(answer: bytes, kind: type[T]) -> T:
    try:
        return msgspec.json.decode(answer, type=kind)
    except (msgspec.MsgspecError, ValueError, RecursionError):
        raise HookFailed("its answer cannot be read") from None


def _read_transform(said: _TransformAnswer, point: Point, judged: object) -> TransformVerdict:
    value = said.input if point == "tool_input" else said.output
    other = said.output if point == "tool_input" else said.input
    if other is not msgspec.UNSET or (said.text is not msgspec.UNSET and value is not msgspec.UNSET):
        raise HookFailed("its answer gives another value than it was asked for")
    if said.text is not msgspec.UNSET:
        if point == "tool_input" and not isinstance(judged, str):
            raise HookFailed("its answer gives a text for arguments that have names")
        value = said.text
    if value is msgspec.UNSET:
        if said.changed is not False:
            raise HookFailed("its answer gives no value")
        return TransformVerdict(judged, False, said.reason)
    if point == "tool_input" and isinstance(judged, dict) and not isinstance(value, dict):
        raise HookFailed("its answer gives arguments without names")
    differs = not _is_same(value, judged)
    if said.changed is False and differs:
        raise HookFailed("its answer says that nothing was changed, and something was")
    return TransformVerdict(value, differs or said.changed is True, said.reason)


def _is_same(one: object, other: object) -> bool:
    """Returns True for values that are equal as JSON, where 1 and true differ."""
    return msgspec.json.encode(one, order="deterministic") == msgspec.json.encode(other, order="deterministic")


def _read_addition(said: _AdditionAnswer) -> AdditionVerdict:
    given = [value for value in (said.annotations, said.context) if value is not msgspec.UNSET]
    if len(given) != 1:
        raise HookFailed("its answer gives no annotations, or two kinds of them")
    if given[0] in (None, "", [], {}):
        return AdditionVerdict(())
    text = given[0] if isinstance(given[0], str) else msgspec.json.encode(given[0]).decode()
    if len(text.encode()) > MAX_ADDED_BYTES:
        raise HookFailed(f"its answer adds more than {MAX_ADDED_BYTES} bytes")
    return AdditionVerdict(({"type": "text", "text": text},))


_STRUCTURED, _CONTENT = "structured_content", "content"


def find_output(result: JsonObject) -> object:
    """Returns the output in a result's record: its value, else its text, else its content blocks.

    A value and blocks that say something else come as an object of both. Changes of earlier hooks are included.
    """
    blocks = _list_blocks(result)
    text = blocks[0].get("text") if len(blocks) == 1 and blocks[0].get("type") == "text" else None
    if _STRUCTURED not in result:
        return blocks if text is None else text
    value = result[_STRUCTURED]
    return value if _says_same(value, text) else {_STRUCTURED: value, _CONTENT: blocks}


def restore_output(result: JsonObject, value: object) -> object:
    """Returns a transformed output in the pipeline's form: of a value with blocks of its own, the blocks."""
    if _STRUCTURED in result and isinstance(value, dict) and value.keys() == {_STRUCTURED, _CONTENT}:
        shown = find_output(result)
        if isinstance(shown, dict) and shown.keys() == value.keys():
            return value[_CONTENT]
    return value


def _list_blocks(result: JsonObject) -> list[JsonObject]:
    """Lists the blocks the model would see, without the context that hooks added."""
    seen = result.get("model_facing_content")
    if seen is None:
        seen = result.get(_CONTENT) or []
    added = list(result.get("additional_context") or ())
    return list(seen)[: -len(added)] if added and list(seen)[-len(added) :] == added else list(seen)


def _says_same(value: object, text: str | None) -> bool:
    """Returns True when the text is the JSON of the value."""
    if text is None:
        return False
    try:
        return bool(msgspec.json.decode(text) == value)
    except (msgspec.MsgspecError, ValueError, RecursionError):
        return False


MAX_REASON_CHARS = 300
_ELLIPSIS = "…"
_MIN_WORDS = 3
_MIN_WORD_CHARS = 3
_PUNCTUATION = "\"'`.,;:!?()[]{}<>«»“”‘’"


def redact_reason(reason: str | None, judged: object) -> str:
    """Shortens a reason to one line that repeats nothing of the judged value."""
    if not reason:
        return ""
    words = "".join(letter if letter.isprintable() else " " for letter in reason[: 4 * MAX_REASON_CHARS]).split()
    leaves = [" ".join(leaf.split()) for leaf in _iter_leaves(judged)]
    whole, text = {leaf.casefold() for leaf in leaves}, "\n".join(leaves).casefold()
    hidden = {number for number, word in enumerate(words) if _is_quoted(word, whole, text)}
    for start in range(len(words) - _MIN_WORDS + 1):
        if " ".join(words[start : start + _MIN_WORDS]).strip(_PUNCTUATION).casefold() in text:
            hidden.update(range(start, start + _MIN_WORDS))
    kept = " ".join(_ELLIPSIS if number in hidden else word for number, word in enumerate(words))
    return kept if len(kept) <= MAX_REASON_CHARS else kept[: MAX_REASON_CHARS - 1] + _ELLIPSIS


def _is_quoted(word: str, whole: set[str], text: str) -> bool:
    core = word.strip(_PUNCTUATION)
    if len(core) < _MIN_WORD_CHARS:
        return False
    folded = core.casefold()
    # A plain word in lower case may be the provider's own; it is hidden only where it is a whole value.
    stands_out = not (core.isalpha() and core.islower())
    return folded in whole or (stands_out and folded in text)


def _iter_leaves(value: object) -> Iterator[str]:
    if isinstance(value, dict):
        for member in value.values():
            yield from _iter_leaves(member)
    elif isinstance(value, list):
        for member in value:
            yield from _iter_leaves(member)
    elif isinstance(value, str):
        yield value
    elif isinstance(value, int | float) and not isinstance(value, bool):
        yield str(value)
