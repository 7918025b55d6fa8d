"""What a guardrail's provider answered, read strictly: whatever is not exactly an answer of its type is a provider error."""

from __future__ import annotations

from typing import Annotated, Any, TypeVar

import msgspec

from ferrule.contracts.hook import HookFailed
from ferrule.runtime.hooks.guardrail_records import Point, ResultType

MAX_ADDED_BYTES = 64 * 1024
"""What a guardrail may add to one call."""


class Score(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """How bad it is."""

    score: Annotated[float, msgspec.Meta(ge=0, le=10)]
    reason: str | None = None


class Transformed(msgspec.Struct, frozen=True):
    """The value as it should be."""

    value: Any
    is_changed: bool
    reason: str | None = None


class Added(msgspec.Struct, frozen=True):
    """What to tell the model besides: content blocks."""

    blocks: tuple[dict[str, Any], ...]


Verdict = Score | Transformed | Added
T = TypeVar("T")


class _Transform(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    input: Any = msgspec.UNSET
    output: Any = msgspec.UNSET
    text: str | msgspec.UnsetType = msgspec.UNSET
    changed: bool | msgspec.UnsetType = msgspec.UNSET
    reason: str | None = None


class _Addition(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    annotations: Any = msgspec.UNSET
    context: Any = msgspec.UNSET


def read_verdict(answer: bytes, kind: ResultType, point: Point, judged: Any) -> Verdict:
    """The verdict in an answer. `judged` is what was shown. Raises HookFailed, which repeats nothing of the answer."""
    if kind == "score":
        return _decoded(answer, Score)
    if kind == "transform":
        return _transformed(_decoded(answer, _Transform), point, judged)
    return _added(_decoded(answer, _Addition))


def _decoded(answer: bytes, kind: type[T]) -> T:
    try:
        return msgspec.json.decode(answer, type=kind)
    except (msgspec.MsgspecError, ValueError, RecursionError):
        raise HookFailed("its answer cannot be read") from None


def _transformed(said: _Transform, point: Point, judged: Any) -> Transformed:
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
        return Transformed(judged, False, said.reason)
    if point == "tool_input" and isinstance(judged, dict) and not isinstance(value, dict):
        raise HookFailed("its answer gives arguments without names")
    differs = not _is_same(value, judged)
    if said.changed is False and differs:
        raise HookFailed("its answer says that nothing was changed, and something was")
    return Transformed(value, differs or said.changed is True, said.reason)


def _is_same(one: Any, other: Any) -> bool:
    """Equal as JSON, where 1 and true are not."""
    return msgspec.json.encode(one, order="deterministic") == msgspec.json.encode(other, order="deterministic")


def _added(said: _Addition) -> Added:
    given = [value for value in (said.annotations, said.context) if value is not msgspec.UNSET]
    if len(given) != 1:
        raise HookFailed("its answer gives no annotations, or two kinds of them")
    if given[0] in (None, "", [], {}):
        return Added(())
    text = given[0] if isinstance(given[0], str) else msgspec.json.encode(given[0]).decode()
    if len(text.encode()) > MAX_ADDED_BYTES:
        raise HookFailed(f"its answer adds more than {MAX_ADDED_BYTES} bytes")
    return Added(({"type": "text", "text": text},))
