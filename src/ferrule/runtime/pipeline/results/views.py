"""Gives the two forms of a result, as texts and bytes to measure and store: what the model sees, and what the tool gave.

`persistence` and `redaction` stand above, `mapping` below. It stores nothing and redacts nothing.
"""

from __future__ import annotations

from typing import Any

import msgspec

from ferrule.contracts.executor import Output
from ferrule.model.result import Result
from ferrule.runtime.pipeline.results.mapping import Blocks, drop_binary, find_binary, find_media_type
from ferrule.runtime.pipeline.results.output_contract import InlineLimits

_encode = msgspec.json.encode
_EMBEDDED = 1_024
"""Bytes a block may always carry itself."""


class StoredForm(msgspec.Struct, frozen=True):
    """Bytes to store."""

    data: bytes
    media_type: str
    name: str = ""
    is_raw: bool = False
    """True when they come from the tool as they are, so that nobody has looked through them for secrets yet."""

    @property
    def size(self) -> int:
        """How many there are."""
        return len(self.data)


class ModelView(msgspec.Struct, frozen=True):
    """What the model sees."""

    blocks: Blocks
    structured: Any
    native: Any
    content: Blocks
    is_changed: bool
    """True when hooks gave the model something else than the tool's own output."""

    @property
    def text(self) -> str:
        """The texts of its blocks, or the JSON of what has none."""
        return "\n".join(map(_render_block, self.blocks))

    @property
    def size(self) -> int:
        """Bytes of the whole."""
        return len(self.text.encode(errors="replace"))

    @property
    def other_blocks(self) -> Blocks:
        """Blocks that are no texts."""
        return tuple(block for block in self.blocks if not isinstance(block.get("text"), str))

    def fits(self, limits: InlineLimits) -> bool:
        """True when all of it may be shown and kept in the ledger's row."""
        return self.is_short(limits) and (not self.is_changed or self.is_small_record(limits))

    def is_short(self, limits: InlineLimits) -> bool:
        """True when all of it may be shown."""
        is_raw = any(map(has_raw, self.blocks))
        return not is_raw and limits.allows(self.text) and _may_show(self.structured, limits)

    def is_small_record(self, limits: InlineLimits) -> bool:
        """True when what the tool gave may stand in the ledger's row."""
        is_raw = any(map(has_raw, self.content))
        return (
            not is_raw and limits.allows("\n".join(map(_render_block, self.content))) and _may_show(self.native, limits)
        )

    def list_oversized(self, limits: InlineLimits) -> list[int]:
        """Blocks whose bytes should be stored by themselves: those that are too large, or all when the whole is."""
        sizes = {number: size for number, block in enumerate(self.content) if (size := _count_bytes(block)) > _EMBEDDED}
        return [number for number, size in sizes.items() if size > limits.chars] or list(sizes)

    def encode(self) -> StoredForm:
        """The view itself as bytes."""
        return _encode_blocks(self.blocks, self.structured, is_value=False)


def view_result(result: Result) -> ModelView:
    """What the model sees of a result, without what hooks added."""
    shown = result.model_facing_content
    own = result.content
    if shown is not None:
        known = len(result.additional_context)
        own = shown[:-known] if known and shown[-known:] == result.additional_context else shown
    is_changed = result.native_output is not None or own != result.content
    return ModelView(own, result.structured_content, result.native_output, result.content, is_changed)


def encode_output(result: Result, output: Output | None) -> StoredForm:
    """What the tool gave, as bytes: a text as itself, JSON as JSON, one picture as the picture, else all blocks as JSON."""
    is_value = output is not None and output.content is None
    structured = result.structured_content if result.native_output is None else result.native_output
    return _encode_blocks(result.content, structured, is_value=is_value)


def _encode_blocks(blocks: Blocks, structured: Any, *, is_value: bool) -> StoredForm:
    if len(blocks) == 1:
        (block,) = blocks
        text = block.get("text")
        if isinstance(text, str) and block.get("type") == "text" and (structured is None or is_value):
            kind = "text/plain" if structured is None else "application/json"
            return StoredForm(text.encode(errors="replace"), kind)
        data = find_binary(block) if structured is None else None
        if data is not None:
            return StoredForm(data, find_media_type(block), str(block.get("name", "")), is_raw=True)
    whole: dict[str, Any] = {"content": blocks}
    if structured is not None:
        whole["structured_content"] = structured
    return StoredForm(_encode(whole), "application/json", is_raw=any(map(has_raw, blocks)))


def drop_block(block: dict[str, Any], reason: str) -> dict[str, Any]:
    """A block that says what it carried, in the place of one that is not kept."""
    return {**drop_binary(block), "dropped": {"reason": reason, "size": _count_bytes(block)}}


def _render_block(block: dict[str, Any]) -> str:
    text = block.get("text")
    if isinstance(text, str) and block.get("type") == "text":
        return text
    return _encode(drop_binary(block) if has_raw(block) else block).decode(errors="replace")


def _may_show(value: Any, limits: InlineLimits) -> bool:
    if value is None:
        return True
    try:
        return limits.allows(_encode(value).decode())
    except (OverflowError, TypeError, ValueError):
        return True  # numbers past 64 bits; the text form has been measured


def has_raw(block: dict[str, Any]) -> bool:
    """True when a block carries bytes as they are."""
    return any(isinstance(member, bytes) for member in block.values())


def _count_bytes(block: dict[str, Any]) -> int:
    if block.get("type") == "text":
        return 0
    data = find_binary(block)
    return 0 if data is None else len(data)
