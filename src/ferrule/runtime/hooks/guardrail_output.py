"""What a guardrail is shown of a tool's output, and its reason without what it was shown."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

import msgspec

_STRUCTURED, _CONTENT = "structured_content", "content"


def output_of(result: Mapping[str, Any]) -> Any:
    """The output in a result's record: its value, else its text, else its content blocks; a value and blocks that say
    something else come as an object of both. What hooks before changed is seen as they left it."""
    blocks = _blocks(result)
    text = blocks[0].get("text") if len(blocks) == 1 and blocks[0].get("type") == "text" else None
    if _STRUCTURED not in result:
        return blocks if text is None else text
    value = result[_STRUCTURED]
    return value if _is_written(value, text) else {_STRUCTURED: value, _CONTENT: blocks}


def given_back(result: Mapping[str, Any], value: Any) -> Any:
    """A transformed output as the pipeline takes it: of a value with blocks of its own, the blocks."""
    if _STRUCTURED in result and isinstance(value, dict) and value.keys() == {_STRUCTURED, _CONTENT}:
        shown = output_of(result)
        if isinstance(shown, dict) and shown.keys() == value.keys():
            return value[_CONTENT]
    return value


def _blocks(result: Mapping[str, Any]) -> list[dict[str, Any]]:
    """What the model would see, without what hooks added beside it."""
    seen = result.get("model_facing_content")
    if seen is None:
        seen = result.get(_CONTENT) or []
    added = list(result.get("additional_context") or ())
    return list(seen)[: -len(added)] if added and list(seen)[-len(added) :] == added else list(seen)


def _is_written(value: Any, text: str | None) -> bool:
    """True when the text says what the value says."""
    if text is None:
        return False
    try:
        return bool(msgspec.json.decode(text) == value)
    except (msgspec.MsgspecError, ValueError, RecursionError):
        return False


LONGEST = 300
_CUT = "…"
_RUN = 3
_SHORTEST = 3
_PUNCTUATION = "\"'`.,;:!?()[]{}<>«»“”‘’"


def without_content(reason: str | None, judged: Any) -> str:
    """The reason as one short line that repeats nothing of the judged value."""
    if not reason:
        return ""
    words = "".join(letter if letter.isprintable() else " " for letter in reason[: 4 * LONGEST]).split()
    leaves = [" ".join(leaf.split()) for leaf in _leaves(judged)]
    whole, text = {leaf.casefold() for leaf in leaves}, "\n".join(leaves).casefold()
    hidden = {number for number, word in enumerate(words) if _is_quoted(word, whole, text)}
    for start in range(len(words) - _RUN + 1):
        if " ".join(words[start : start + _RUN]).strip(_PUNCTUATION).casefold() in text:
            hidden.update(range(start, start + _RUN))
    kept = " ".join(_CUT if number in hidden else word for number, word in enumerate(words))
    return kept if len(kept) <= LONGEST else kept[: LONGEST - 1] + _CUT


def _is_quoted(word: str, whole: set[str], text: str) -> bool:
    core = word.strip(_PUNCTUATION)
    if len(core) < _SHORTEST:
        return False
    folded = core.casefold()
    stands_out = not (core.isalpha() and core.islower())
    return folded in whole or (stands_out and folded in text)


def _leaves(value: Any) -> Iterator[str]:
    if isinstance(value, dict):
        for member in value.values():
            yield from _leaves(member)
    elif isinstance(value, list):
        for member in value:
            yield from _leaves(member)
    elif isinstance(value, str):
        yield value
    elif isinstance(value, int | float) and not isinstance(value, bool):
        yield str(value)
