"""A task as a client sees it: worked out from the ledger, whatever process the call runs in (MCP-246 to MCP-248)."""

from __future__ import annotations

from typing import Any

from ferrule.model.journal import header_of
from ferrule.model.result import Result
from ferrule.model.timestamps import iso
from ferrule.servers.mcp.exchange import Exchange
from ferrule.servers.mcp.server import McpServer
from ferrule.servers.mcp.tasks.ids import TaskRef
from ferrule.servers.mcp.tasks.inputs import Asked, asked_in, given_so_far, go_on
from ferrule.servers.mcp.tasks.tasks import POLL_RUNNING_MS
from ferrule.servers.mcp.wire.messages import RpcError
from ferrule.servers.mcp.wire.results import told

_POLL_WAITING_MS = 2000


async def shown(server: McpServer, exchange: Exchange, ref: TaskRef) -> dict[str, Any] | None:
    """A task as it stands (MCP-246); None when the ledger has nothing of it (any more)."""
    outcome = await exchange.surface.result(ref.invocation_id)
    if outcome is None:
        return None
    rows = await server.app.store.rows_of(ref.invocation_id)
    task: dict[str, Any] = {
        "taskId": ref.task_id,
        "status": "working",
        "createdAt": iso(ref.created_at),
        "lastUpdatedAt": iso(rows[-1].at if rows else ref.created_at),
        "ttlMs": ref.ttl_ms,
    }
    if isinstance(outcome, Result):
        name = header_of(rows[0].segment()).tool_name
        return {**task, **_ended(server, exchange, outcome, name)}
    asked = asked_in(rows) if outcome.client_requests else None
    if asked is not None and (still_open := await _open(server, exchange, ref.invocation_id, asked)):
        return {**task, "status": "input_required", "inputRequests": still_open, "pollIntervalMs": POLL_RUNNING_MS}
    is_waiting = outcome.state in ("awaiting_approval", "needs_input") and asked is None
    interval = _POLL_WAITING_MS if is_waiting else POLL_RUNNING_MS
    return {**task, "statusMessage": outcome.message, "pollIntervalMs": interval}


def _ended(server: McpServer, exchange: Exchange, result: Result, name: str) -> dict[str, Any]:
    if result.error is not None and result.error.error_class == "canceled":
        return {"status": "cancelled", "statusMessage": result.error.message}
    try:
        said = told(server, exchange, result, exchange.surface.session.find(name), name)
        return {"status": "completed", "result": said}
    except RpcError as error:
        failed = {"code": error.code, "message": error.message}
        return {"status": "failed", "error": failed | ({"data": error.data} if error.data is not None else {})}


async def _open(server: McpServer, exchange: Exchange, call: str, asked: Asked) -> dict[str, Any]:
    """What is still to be answered. Nothing may be left of a task whose process died between the last answer and what
    follows from it: then that follows now."""
    given = await given_so_far(server.app.services, call, asked)
    still_open = {key: request for key, request in asked.requests.items() if key not in given}
    if not still_open:
        await go_on(exchange.surface, server.app, call, asked, given)
    return still_open
