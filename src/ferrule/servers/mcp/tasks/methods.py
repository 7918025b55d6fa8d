"""`tasks/get`, `tasks/update`, `tasks/cancel`: for clients that declared the extension (MCP-246 to MCP-255)."""

from __future__ import annotations

from typing import Any

import msgspec

from ferrule.model.value import JsonObject
from ferrule.servers.mcp.server import Exchange
from ferrule.servers.mcp.tasks.inputs import (
    find_questions,
    read_answers,
    resume_with_answers,
    store_answers,
    why_unusable,
)
from ferrule.servers.mcp.tasks.state import describe_task
from ferrule.servers.mcp.tasks.tasks import NEEDED, TaskRef, find_task, knows_tasks
from ferrule.servers.mcp.wire.messages import INVALID_PARAMS, MISSING_CAPABILITY, RpcError
from ferrule.servers.mcp.wire.params import params_of

_UNKNOWN = "there is no such task"


class TaskParams(msgspec.Struct, gc=False):
    """The parameters of the three methods."""

    task_id: str = msgspec.field(name="taskId")


class UpdateParams(msgspec.Struct, gc=False):
    """The parameters of `tasks/update`."""

    task_id: str = msgspec.field(name="taskId")
    input_responses: dict[str, Any] = msgspec.field(name="inputResponses")


async def get_task(exchange: Exchange, params: bytes) -> JsonObject:
    """Answers `tasks/get` (MCP-246)."""
    ref = _read_ref(exchange, params)
    task = await describe_task(exchange, ref)
    if task is None:
        raise RpcError(INVALID_PARAMS, _UNKNOWN)
    return task


async def update_task(exchange: Exchange, params: bytes) -> JsonObject:
    """Answers `tasks/update`: stores answers to the task's questions, all at once or one by one (MCP-249)."""
    ref = _read_ref(exchange, params)
    responses = params_of(params, UpdateParams).input_responses
    call, services = ref.invocation_id, exchange.server.app.services
    if await exchange.surface.result(call) is None:
        raise RpcError(INVALID_PARAMS, _UNKNOWN)
    rows = await services.store.rows_of(call)
    asked = find_questions(rows)
    if asked is None:
        return {}
    before = await read_answers(services, call, asked)
    fresh = {key: said for key, said in responses.items() if key in asked.requests and key not in before}
    for key, said in fresh.items():
        problem = why_unusable(asked.requests[key], said)
        if problem is not None:
            raise RpcError(INVALID_PARAMS, f"{key!r} is not answered: {problem}")
    if fresh and not await store_answers(services, call, rows, asked, fresh):
        return {}
    given = await read_answers(services, call, asked)  # after writing: of two updates at once, the later one sees both
    if asked.requests.keys() <= given.keys():
        await resume_with_answers(exchange.surface, exchange.server.app, call, asked, given)
    return {}


async def cancel_task(exchange: Exchange, params: bytes) -> JsonObject:
    """Answers `tasks/cancel`: asks the call to stop; the outcome shows in the task (MCP-251)."""
    ref = _read_ref(exchange, params)
    if await exchange.surface.cancel(ref.invocation_id, "its client canceled the task", within=0.2) is None:
        raise RpcError(INVALID_PARAMS, _UNKNOWN)
    return {}


def _read_ref(exchange: Exchange, params: bytes) -> TaskRef:
    """Returns the task that a request names. Raises RpcError: for the extension first, then for the id (MCP-252,
    MCP-253)."""
    if not knows_tasks(exchange):
        raise RpcError(MISSING_CAPABILITY, "tasks are for clients that declare the extension", NEEDED)
    ref = find_task(exchange, params_of(params, TaskParams).task_id)
    if ref is None:
        raise RpcError(INVALID_PARAMS, _UNKNOWN)
    return ref
