"""`tasks/get`, `tasks/update`, `tasks/cancel`: for whoever has a task, and knows what one is (MCP-246 to MCP-255)."""

from __future__ import annotations

from typing import Any

import msgspec

from ferrule.servers.mcp.server import Exchange
from ferrule.servers.mcp.tasks.inputs import asked_in, given_so_far, go_on, keep, problem_with
from ferrule.servers.mcp.tasks.state import shown
from ferrule.servers.mcp.tasks.tasks import NEEDED, TaskRef, knows_tasks, secret_of, task_named
from ferrule.servers.mcp.wire.messages import INVALID_PARAMS, MISSING_CAPABILITY, RpcError
from ferrule.servers.mcp.wire.params import params_of

_UNKNOWN = "there is no such task"


class TaskParams(msgspec.Struct, gc=False):
    """Parameters of the three methods."""

    task_id: str = msgspec.field(name="taskId")


class UpdateParams(msgspec.Struct, gc=False):
    """Parameters of `tasks/update`."""

    task_id: str = msgspec.field(name="taskId")
    input_responses: dict[str, Any] = msgspec.field(name="inputResponses")


async def get_task(exchange: Exchange, params: bytes) -> dict[str, Any]:
    """`tasks/get` (MCP-246)."""
    ref = _named(exchange, params)
    task = await shown(exchange, ref)
    if task is None:
        raise RpcError(INVALID_PARAMS, _UNKNOWN)
    return task


async def update_task(exchange: Exchange, params: bytes) -> dict[str, Any]:
    """`tasks/update`: answers to what the task asked for, all at once or one by one (MCP-249)."""
    ref = _named(exchange, params)
    responses = params_of(params, UpdateParams).input_responses
    call, services = ref.invocation_id, exchange.server.app.services
    if await exchange.surface.result(call) is None:
        raise RpcError(INVALID_PARAMS, _UNKNOWN)
    rows = await services.store.rows_of(call)
    asked = asked_in(rows)
    if asked is None:
        return {}
    before = await given_so_far(services, call, asked)
    fresh = {key: said for key, said in responses.items() if key in asked.requests and key not in before}
    for key, said in fresh.items():
        problem = problem_with(asked.requests[key], said)
        if problem is not None:
            raise RpcError(INVALID_PARAMS, f"{key!r} is not answered: {problem}")
    if fresh and not await keep(services, call, rows, asked, fresh):
        return {}
    given = await given_so_far(services, call, asked)  # after writing: of two updates at once, the later one sees both
    if asked.requests.keys() <= given.keys():
        await go_on(exchange.surface, exchange.server.app, call, asked, given)
    return {}


async def cancel_task(exchange: Exchange, params: bytes) -> dict[str, Any]:
    """`tasks/cancel`: asks that it stops; what came of that shows in the task (MCP-251)."""
    ref = _named(exchange, params)
    if await exchange.surface.cancel(ref.invocation_id, "its client canceled the task", within=0.2) is None:
        raise RpcError(INVALID_PARAMS, _UNKNOWN)
    return {}


def _named(exchange: Exchange, params: bytes) -> TaskRef:
    """The task that a request names. Raises RpcError: the extension first, then the id (MCP-252, MCP-253)."""
    if not knows_tasks(exchange):
        raise RpcError(MISSING_CAPABILITY, "tasks are for clients that declare the extension", NEEDED)
    text = params_of(params, TaskParams).task_id
    ref = task_named(secret_of(exchange.server), exchange.caller, text, exchange.server.app.services.wall())
    if ref is None:
        raise RpcError(INVALID_PARAMS, _UNKNOWN)
    return ref
