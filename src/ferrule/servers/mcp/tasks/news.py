"""News of tasks for whoever listens for them by id: each change of the ledger that concerns one, as `tasks/get` would tell it
(MCP-257)."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Iterable
from typing import Any

from ferrule.servers.mcp.exchange import Exchange
from ferrule.servers.mcp.server import McpServer
from ferrule.servers.mcp.tasks.ids import TaskRef, task_named
from ferrule.servers.mcp.tasks.state import shown
from ferrule.servers.mcp.tasks.tasks import secret_of

_LOOK_SECONDS = 5.0
_AT_MOST_EVERY = 0.1
_ROWS = 500
_OVER = frozenset({"completed", "failed", "cancelled"})

Heard = Callable[[str, dict[str, Any]], None]
"""Told a task's id, and all there is to say of it."""


async def own_tasks(server: McpServer, exchange: Exchange, task_ids: Iterable[str]) -> list[str]:
    """Those of these tasks that are the caller's; of others nobody learns whether they exist (MCP-239)."""
    found = []
    for task_id in dict.fromkeys(task_ids):
        ref = _named(server, exchange, task_id)
        if ref is not None and await exchange.surface.result(ref.invocation_id) is not None:
            found.append(task_id)
    return found


async def follow_tasks(server: McpServer, exchange: Exchange, task_ids: Iterable[str], heard: Heard) -> None:
    """Tell how each task stands now, and again whenever that changes, until all of them are over."""
    store = server.app.store
    following = {ref.invocation_id: ref for name in task_ids if (ref := _named(server, exchange, name)) is not None}
    told: dict[str, dict[str, Any]] = {}
    newest = await store.rows_before(None, 1)
    seen = newest[0].seq if newest else 0
    concerned = list(following)
    while following:
        for call in concerned:
            task = await shown(server, exchange, following[call])
            if task is not None and task != told.get(call):
                told[call] = task
                heard(task["taskId"], task)
            if task is None or task["status"] in _OVER:
                del following[call]
        concerned = []
        while following and not concerned:
            await asyncio.sleep(_AT_MOST_EVERY)
            if await store.wait_after(seen, _LOOK_SECONDS):
                rows = await store.rows_after(seen, _ROWS)
                seen = rows[-1].seq if rows else seen
                concerned = list(dict.fromkeys(row.call for row in rows if row.call in following))
            else:
                concerned = list(following)  # its process may have died without a word


def _named(server: McpServer, exchange: Exchange, task_id: str) -> TaskRef | None:
    return task_named(secret_of(server), exchange.caller, task_id, server.app.services.wall())
