"""Resources, prompts, and tools that change what is listed."""

from __future__ import annotations

import base64
from pathlib import Path
from typing import Any

import ferrule
from ferrule.contracts.executor import Context, Output

PNG = "iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAYAAAAfFcSJAAAADUlEQVR42mP8z8BQDwAEhQGAhKmMIQAAAABJRU5ErkJggg=="
"""One red dot."""
CONTEXT = {"type": "object", "properties": {"context": {"type": "string"}}, "required": ["context"]}


@ferrule.resource("test://static-text", mime_type="text/plain", name="static-text")
def static_text() -> str:
    """A text that never changes."""
    return "This is the content of the static text resource."


@ferrule.resource("test://static-binary", mime_type="image/png", name="static-binary")
def static_binary() -> bytes:
    """An image that never changes."""
    return base64.b64decode(PNG)


@ferrule.resource("test://template/{id}/data", mime_type="application/json", name="template-data")
def template_data(id: str) -> dict[str, Any]:  # noqa: A002  the suite names it so
    """Data of any id."""
    return {"id": id, "templateTest": True, "data": f"Data for ID: {id}"}


@ferrule.resource("test://watched-resource", mime_type="text/plain", name="watched-resource")
def watched_resource() -> str:
    """A text that clients subscribe to."""
    return "Watched resource content"


@ferrule.prompt
def test_simple_prompt() -> str:
    """A prompt without arguments."""
    return "This is a simple prompt for testing."


@ferrule.prompt(complete={"arg1": ["testing", "tested", "other"]})
def test_prompt_with_arguments(arg1: str, arg2: str) -> str:
    """A prompt with two arguments.

    Args:
        arg1: The first.
        arg2: The second.
    """
    return f"Prompt with arguments: arg1='{arg1}', arg2='{arg2}'"


@ferrule.prompt
def test_prompt_with_embedded_resource(resourceUri: str) -> list[Any]:  # noqa: N803  the suite names it so
    """A prompt with a resource in it.

    Args:
        resourceUri: Its address.
    """
    resource = {"uri": resourceUri, "mimeType": "text/plain", "text": "Embedded resource content for testing."}
    return [{"type": "resource", "resource": resource}, "Please process the embedded resource above."]


@ferrule.prompt
def test_prompt_with_image() -> list[Any]:
    """A prompt with an image in it."""
    return [{"type": "image", "data": PNG, "mimeType": "image/png"}, "Please analyze the image above."]


@ferrule.prompt
async def test_input_required_result_prompt(context: Context) -> Any:
    """A prompt that asks the person at the client first."""
    params = {"message": "What context should the prompt use?", "requestedSchema": CONTEXT}
    return context.ask_client({"user_context": {"method": "elicitation/create", "params": params}})


@test_input_required_result_prompt.resume
async def _in_context(state: bytes, answer: dict[str, Any], context: Context) -> str:
    given = answer["user_context"].get("content") or {}
    return f"Use this context: {given.get('context', 'none')}"


@ferrule.prompt
def spare_prompt() -> str:
    """Is there, or is not."""
    return "I am here."


@ferrule.tool(read_only=True, concurrency_safe=True)
def spare_tool() -> str:
    """Is there, or is not."""
    return "I am here."


async def switched(tool_id: str) -> Any:
    """Turn a tool off if it is on, and on if it is off, as an operator would."""
    async with ferrule.open(Path(__file__).parent, build="never", tends=False) as app:
        is_off = any(switch.tool_id == tool_id for switch in await app.store.list_disabled())
        await (app.enable if is_off else app.disable)(tool_id, by="conformance", reason="the list has to change")
    return Output(content=({"type": "text", "text": f"{tool_id} is {'on' if is_off else 'off'} now"},))


@ferrule.tool
async def test_trigger_tool_change() -> Any:
    """Changes the list of tools."""
    return await switched("conformance.spare_tool")


@ferrule.tool
async def test_trigger_prompt_change() -> Any:
    """Changes the list of prompts."""
    return await switched("conformance.spare_prompt")
