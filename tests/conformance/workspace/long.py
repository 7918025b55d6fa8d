"""Tools that take long, or wait for their client: what a client that knows tasks gets a task for."""

from __future__ import annotations

import asyncio
from typing import Any

import ferrule
from ferrule.contracts.executor import Context, Output

NAME = {"type": "object", "properties": {"name": {"type": "string"}}, "required": ["name"]}
STEP_SECONDS = 0.05
CONFIRM = {"type": "object", "properties": {"confirm": {"type": "boolean"}}, "required": ["confirm"]}


def text(said: str) -> Output:
    """What a tool gives that has something to say."""
    return Output(content=({"type": "text", "text": said},))


def form(message: str, schema: dict[str, Any]) -> dict[str, Any]:
    """A form for the person at the client."""
    return {"method": "elicitation/create", "params": {"message": message, "requestedSchema": schema}}


@ferrule.tool(read_only=True, concurrency_safe=True, task="never")
def greet(name: str) -> Any:
    """Greets somebody, at once.

    Args:
        name: Whom.
    """
    return text(f"Hello, {name}!")


@ferrule.tool(read_only=True, concurrency_safe=True)
async def slow_compute(seconds: float, label: str = "") -> Any:
    """Takes its time.

    Args:
        seconds: How long.
        label: What it is for.
    """
    await asyncio.sleep(seconds)
    return text(f"slow_compute {label} took {seconds} seconds")


@ferrule.tool(read_only=True, concurrency_safe=True, task="required")
async def failing_job() -> Any:
    """Takes a second, and fails."""
    await asyncio.sleep(1)
    raise ferrule.ToolFailed("the job failed, as it always does")


@ferrule.tool(read_only=True, concurrency_safe=True, task="required")
async def protocol_error_job(context: Context) -> Any:
    """Asks for the client's roots, which this client has not declared: no result can come of it."""
    await asyncio.sleep(STEP_SECONDS)
    return context.ask_client({"client_roots": {"method": "roots/list", "params": {}}})


@protocol_error_job.resume
async def _rooted(state: bytes, answer: dict[str, Any], context: Context) -> Any:
    return text("there are roots")


@ferrule.tool(concurrency_safe=True, task="required")
async def confirm_delete(filename: str, context: Context) -> Any:
    """Deletes nothing, and asks before it does.

    Args:
        filename: What is not deleted.
    """
    return context.ask_client({"confirm": form(f"Delete {filename}?", CONFIRM)}, state=filename.encode())


@confirm_delete.resume
async def _confirmed(state: bytes, answer: dict[str, Any], context: Context) -> Any:
    content = answer["confirm"].get("content") or {}
    return text(f"{state.decode()} was {'deleted' if content.get('confirm') else 'kept'}")


@ferrule.tool(read_only=True, concurrency_safe=True, task="required")
async def multi_input(context: Context) -> Any:
    """Asks for two things at once."""
    return context.ask_client({"first": form("First?", CONFIRM), "second": form("Second?", CONFIRM)})


@multi_input.resume
async def _both(state: bytes, answer: dict[str, Any], context: Context) -> Any:
    return text(f"answered: {', '.join(sorted(answer))}")


@ferrule.tool(read_only=True, concurrency_safe=True)
async def test_tool_with_task(context: Context) -> Any:
    """Asks for a name, then takes its time."""
    return context.ask_client({"user_name": form("What is your name?", NAME)})


@test_tool_with_task.resume
async def _named(state: bytes, answer: dict[str, Any], context: Context) -> Any:
    await asyncio.sleep(1)
    content = answer["user_name"].get("content") or {}
    return text(f"Hello, {content.get('name', 'stranger')}!")
