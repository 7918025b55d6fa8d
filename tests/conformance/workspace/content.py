"""Tools that answer at once: every kind of content, an error, progress, and log messages."""

from __future__ import annotations

import asyncio
from typing import Annotated, Any

import msgspec

import ferrule
from ferrule.contracts.executor import Context, Output

PNG = "iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAYAAAAfFcSJAAAADUlEQVR42mP8z8BQDwAEhQGAhKmMIQAAAABJRU5ErkJggg=="
"""One red dot."""
WAV = "UklGRiQAAABXQVZFZm10IBAAAAABAAEAQB8AAEAfAAABAAgAZGF0YQAAAAA="
"""A sound without a sample."""
STEP_SECONDS = 0.05


def text(said: str) -> dict[str, Any]:
    """A text block."""
    return {"type": "text", "text": said}


@ferrule.tool(read_only=True, concurrency_safe=True)
def test_simple_text() -> Any:
    """Gives a text."""
    return Output(content=(text("This is a simple text response for testing."),))


@ferrule.tool(read_only=True, concurrency_safe=True)
def test_image_content() -> Any:
    """Gives an image."""
    return Output(content=({"type": "image", "data": PNG, "mimeType": "image/png"},))


@ferrule.tool(read_only=True, concurrency_safe=True)
def test_audio_content() -> Any:
    """Gives a sound."""
    return Output(content=({"type": "audio", "data": WAV, "mimeType": "audio/wav"},))


@ferrule.tool(read_only=True, concurrency_safe=True)
def test_embedded_resource() -> Any:
    """Gives a resource."""
    resource = {
        "uri": "test://embedded-resource",
        "mimeType": "text/plain",
        "text": "This is an embedded resource content.",
    }
    return Output(content=({"type": "resource", "resource": resource},))


@ferrule.tool(read_only=True, concurrency_safe=True)
def test_multiple_content_types() -> Any:
    """Gives a text, an image and a resource."""
    resource = {
        "uri": "test://mixed-content-resource",
        "mimeType": "application/json",
        "text": '{"test":"data","value":123}',
    }
    image = {"type": "image", "data": PNG, "mimeType": "image/png"}
    return Output(content=(text("Multiple content types test:"), image, {"type": "resource", "resource": resource}))


@ferrule.tool(read_only=True, concurrency_safe=True)
async def test_tool_with_logging(context: Context) -> Any:
    """Says three things in the log, and ends."""
    for said in ("Tool execution started", "Tool processing data", "Tool execution completed"):
        context.log("info", said, "conformance")
        await asyncio.sleep(STEP_SECONDS)
    return Output(content=(text("Tool with logging executed successfully"),))


@ferrule.tool(read_only=True, concurrency_safe=True)
async def test_logging_tool(context: Context) -> Any:
    """Says something in the log, for those who want to hear it."""
    context.log("info", "somebody may want to know", "conformance")
    return Output(content=(text("It was said."),))


@ferrule.tool(read_only=True, concurrency_safe=True)
async def test_tool_with_progress(context: Context) -> Any:
    """Tells three times how far it is."""
    for percent in (0, 50, 100):
        context.progress(f"Completed step {percent} of 100", percent=percent)
        await asyncio.sleep(STEP_SECONDS)
    return Output(content=(text("progress-test-1"),))


@ferrule.tool(read_only=True, concurrency_safe=True)
def test_error_handling() -> Any:
    """Fails."""
    raise ferrule.ToolFailed("This tool intentionally returns an error for testing")


@ferrule.tool(read_only=True, concurrency_safe=True)
async def test_reconnection() -> Any:
    """Takes long enough for its client's stream to be closed meanwhile."""
    await asyncio.sleep(0.3)
    return Output(content=(text("Reconnection test completed successfully."),))


@ferrule.tool(read_only=True, concurrency_safe=True)
def test_x_mcp_header(
    region: Annotated[str, msgspec.Meta(extra_json_schema={"x-mcp-header": "Region"})] = "",
) -> Any:
    """Has an argument that is repeated in a header.

    Args:
        region: Where it happens.
    """
    return Output(content=(text(f"region: {region}"),))


@ferrule.tool("json-schema-2020-12-tool")
def json_schema_2020_12_tool(**arguments: Any) -> str:
    """Its definition has the schema."""
    return "the arguments fit"
