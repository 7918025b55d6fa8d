"""The value of a result as OXP has it: JSON that fits the tool's output schema, whole, or an error (OXP-32)."""

from __future__ import annotations

from typing import Any

import msgspec

from ferrule.app.surface import SurfaceHandle
from ferrule.contracts.payloads import PayloadGone
from ferrule.model.result import Result
from ferrule.model.tool import Tool
from ferrule.schema.validation.compiled import compiled_schema
from ferrule.servers.oxp.definitions import has_no_output

_LARGEST = 16 * 1024**2
_MISSING = object()


class Unfit(Exception):
    """A result that cannot be given as a value; the message is for the caller."""


async def value_of(handle: SurfaceHandle, tool: Tool, result: Result, *, is_checked: bool) -> Any:
    """What a tool returned; None for nothing. `is_checked`: what does not fit has failed already. Raises Unfit."""
    if has_no_output(tool):
        return None
    value, is_native = await _given(handle, result)
    if tool.output_schema is not None and not (is_native and is_checked):
        schema = bytes(tool.output_schema)
        if schema != b"null" and not compiled_schema(schema).is_valid(value):
            raise Unfit(
                "the tool did its work, but what it gave does not fit its output schema, so it is not passed on"
            )
    return value


async def _given(handle: SurfaceHandle, result: Result) -> tuple[Any, bool]:
    """The value, and whether it is the tool's own, which the pipeline has looked at already."""
    if result.structured_content is not None:
        return result.structured_content, True
    shown = result.content if result.model_facing_content is None else result.model_facing_content
    blocks = [block for block in shown if block not in result.additional_context]
    stored = await _stored(handle, blocks)
    if stored is not _MISSING:
        return stored, False
    if len(blocks) == 1 and blocks[0].get("empty") is True:
        return None, True
    if all(block.get("type") == "text" for block in blocks):
        return "\n".join(str(block.get("text", "")) for block in blocks), False
    return list(blocks), False


async def _stored(handle: SurfaceHandle, blocks: list[dict[str, Any]]) -> Any:
    """The whole of a result that was too large to be told: OXP has no references that could be followed later."""
    ref = next((block for block in reversed(blocks) if isinstance(block.get("uri"), str)), None)
    if ref is None or ref.get("type") != "persisted_output_ref":
        return _MISSING
    try:
        data = await handle.payload(ref["uri"], limit=_LARGEST + 1)
    except PayloadGone:
        return _MISSING
    if len(data) > _LARGEST:
        raise Unfit(f"the tool did its work, but its output has more than {_LARGEST:,} bytes; ask for less of it")
    media_type = str(ref.get("media_type", ""))
    try:
        return msgspec.json.decode(data) if "json" in media_type else data.decode()
    except (msgspec.DecodeError, UnicodeDecodeError, RecursionError):
        return _MISSING
