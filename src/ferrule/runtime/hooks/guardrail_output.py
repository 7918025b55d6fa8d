"""A tool's output as a guardrail sees it: everything the model would see of it, in the plainest form that holds all of that."""

from __future__ import annotations

from collections.abc import Mapping
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
