"""The two forms of a result to measure and store: the model's view, and the tool's own output as bytes.

`persistence` and `redaction` call it; it calls `mapping`. It stores nothing and redacts nothing.
"""

from __future__ import annotations

import msgspec

from ferrule.contracts.executor import Output
from ferrule.model.result import Result
from ferrule.model.value import JsonObject
from ferrule.runtime.pipeline.results.mapping import Blocks, drop_binary, find_binary, find_media_type
from ferrule.runtime.pipeline.results.output_contract import InlineLimits

_encode = msgspec.json.encode
_EMBEDDED = 1_024
"""The bytes that a block may always carry itself."""


class StoredForm(msgspec.Struct, frozen=True):
    """Bytes to store, with their media type."""

    data: bytes
    media_type: str
    name: str = ""
    is_raw: bool = False
    """True when they come from the tool as they are, not yet redacted."""

    @property
    def size(self) -> int:
        """The number of bytes."""
        return len(self.data)


class ModelView(msgspec.Struct, frozen=True):
    """A result as the model sees it."""

    blocks: Blocks
    structured: object
    native: object
    content: Blocks
    is_changed: bool
    """True when hooks gave the model something else than the tool's own output."""

    @property
    def text(self) -> str:
        """The texts of its blocks, or the JSON of blocks without text."""
        return "\n".join(map(_render_block, self.blocks))

    @property
    def size(self) -> int:
        """The bytes of the whole text."""
        return len(self.text.encode(errors="replace"))

    @property
    def other_blocks(self) -> Blocks:
        """The blocks that are no texts."""
        return tuple(block for block in self.blocks if not isinstance(block.get("text"), str))

    def fits(self, limits: InlineLimits) -> bool:
        """Returns True when all of it may be shown and kept in the ledger's row."""
        return self.is_short(limits) and (not self.is_changed or self.is_small_record(limits))

    def is_short(self, limits: InlineLimits) -> bool:
        """Returns True when all of it may be shown."""
        is_raw = any(map(has_raw, self.blocks))
        return not is_raw and limits.allows(self.text) and _may_show(self.structured, limits)

    def is_small_record(self, limits: InlineLimits) -> bool:
        """Returns True when the tool's own output may stand in the ledger's row."""
        is_raw = any(map(has_raw, self.content))
        return (
            not is_raw and limits.allows("\n".join(map(_render_block, self.content))) and _may_show(self.native, limits)
        )

    def list_oversized(self, limits: InlineLimits) -> list[int]:
        """Lists the blocks whose bytes are stored by themselves: the oversized ones, or all when the whole is too large."""
        sizes = {number: size for number, block in enumerate(self.content) if (size := _count_bytes(block)) > _EMBEDDED}
        return [number for number, size in sizes.items() if size > limits.chars] or list(sizes)

    def encode(self) -> StoredForm:
        """Encodes the view itself as bytes."""
        return _encode_blocks(self.blocks, self.structured, is_value=False)


def view_result(result: Result) -> ModelView:
    """Builds the model's view of a result, without the context that hooks added."""
    shown = result.model_facing_content
    own = result.content
    if shown is not None:
        known = len(result.additional_context)
        own = shown[:-known] if known and shown[-known:] == result.additional_context else shown
    is_changed = result.native_output is not None or own != result.content
    return ModelView(own, result.structured_content, result.native_output, result.content, is_changed)


def encode_output(result: Result, output: Output | None) -> StoredForm:
    """Encodes the tool's output: a text as itself, JSON as JSON, one picture as the picture, else all blocks as JSON."""
    is_value = output is not None and output.content is None
    structured = result.structured_content if result.native_output is None else result.native_output
    return _encode_blocks(result.content, structured, is_value=is_value)


def _encode_blocks(blocks: Blocks, structured: object, *, is_value: bool) -> StoredForm:
    if len(blocks) == 1:
        (block,) = blocks
        text = block.get("text")
        if isinstance(text, str) and block.get("type") == "text" and (structured is None or is_value):
            kind = "text/plain" if structured is None else "application/json"
            return StoredForm(text.encode(errors="replace"), kind)
        data = find_binary(block) if structured is None else None
        if data is not None:
            return StoredForm(data, find_media_type(block), str(block.get("name", "")), is_raw=True)
    whole: JsonObject = {"content": blocks}
    if structured is not None:
        whole["structured_content"] = structured
    return StoredForm(_encode(whole), "application/json", is_raw=any(map(has_raw, blocks)))


def drop_block(block: JsonObject, reason: str) -> JsonObject:
    """Returns a block that describes the bytes it carried, in place of a block that is not kept."""
    return {**drop_binary(block), "dropped": {"reason": reason, "size": _count_bytes(block)}}


def _render_block(block: JsonObject) -> str:
    text = block.get("text")
    if isinstance(text, str) and block.get("type") == "text":
        return text
    return _encode(drop_binary(block) if has_raw(block) else block).decode(errors="replace")


def _may_show(value: object, limits: InlineLimits) -> bool:
    if value is None:
        return True
    try:
        return limits.allows(_encode(value).decode())
    except (OverflowError, TypeError, ValueError):
        return True  # numbers past 64 bits; the text form was measured


def has_raw(block: JsonObject) -> bool:
    """Returns True when a block carries raw bytes."""
    return any(isinstance(member, bytes) for member in block.values())


def _count_bytes(block: JsonObject) -> int:
    if block.get("type") == "text":
        return 0
    data = find_binary(block)
    return 0 if data is None else len(data)
