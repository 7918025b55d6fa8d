"""The state of a task as its client sees it, worked out from the ledger in any process (MCP-246 to MCP-248).

Clients that follow tasks by id get every change of the ledger that concerns one, as `tasks/get` would show it
(MCP-257).
"""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Iterable

from ferrule.model.journal import header_of
from ferrule.model.result import Result
from ferrule.model.timestamps import iso
from ferrule.model.value import JsonObject
from ferrule.servers.mcp.server import Exchange
from ferrule.servers.mcp.tasks.inputs import ClientQuestions, find_questions, read_answers, resume_with_answers
from ferrule.servers.mcp.tasks.tasks import POLL_RUNNING_MS, TaskRef, find_task
from ferrule.servers.mcp.wire.messages import RpcError
from ferrule.servers.mcp.wire.results import build_result

_POLL_WAITING_MS = 2000


async def describe_task(exchange: Exchange, ref: TaskRef) -> JsonObject | None:
    """Returns the current state of a task (MCP-246); None when the ledger no longer has its call."""
    outcome = await exchange.surface.result(ref.invocation_id)
    if outcome is None:
        return None
    rows = await exchange.server.app.store.rows_of(ref.invocation_id)
    task: JsonObject = {
        "taskId": ref.task_id,
        "status": "working",
        "createdAt": iso(ref.created_at),
        "lastUpdatedAt": iso(rows[-1].at if rows else ref.created_at),
        "ttlMs": ref.ttl_ms,
    }
    if isinstance(outcome, Result):
        name = header_of(rows[0].segment()).tool_name
        return {**task, **_describe_ending(exchange, outcome, name)}
    asked = find_questions(rows) if outcome.client_requests else None
    if asked is not None and (still_open := await _list_open_questions(exchange, ref.invocation_id, asked)):
        return {**task, "status": "input_required", "inputRequests": still_open, "pollIntervalMs": POLL_RUNNING_MS}
    is_waiting = outcome.state in ("awaiting_approval", "needs_input") and asked is None
    interval = _POLL_WAITING_MS if is_waiting else POLL_RUNNING_MS
    return {**task, "statusMessage": outcome.message, "pollIntervalMs": interval}


def _describe_ending(exchange: Exchange, result: Result, name: str) -> JsonObject:
    if result.error is not None and result.error.error_class == "canceled":
        return {"status": "cancelled", "statusMessage": result.error.message}
    try:
        said = build_result(exchange, result, exchange.surface.session.find(name), name)
        return {"status": "completed", "result": said}
    except RpcError as error:
        failed = {"code": error.code, "message": error.message}
        return {"status": "failed", "error": failed | ({"data": error.data} if error.data is not None else {})}


async def _list_open_questions(exchange: Exchange, call: str, asked: ClientQuestions) -> JsonObject:
    """Returns the questions without an answer. When a process died between the last answer and the resume, this resumes
    the call."""
    given = await read_answers(exchange.server.app.services, call, asked)
    still_open = {key: request for key, request in asked.requests.items() if key not in given}
    if not still_open:
        await resume_with_answers(exchange.surface, exchange.server.app, call, asked, given)
    return still_open


_LOOK_SECONDS = 5.0
_AT_MOST_EVERY = 0.1
_ROWS = 500
_OVER = frozenset({"completed", "failed", "cancelled"})

TaskListener = Callable[[str, JsonObject], None]
"""Takes a task's id and its state."""


async def filter_own_tasks(exchange: Exchange, task_ids: Iterable[str]) -> list[str]:
    """Returns those tasks that are the caller's; others look like unknown ones (MCP-239)."""
    found = []
    for task_id in dict.fromkeys(task_ids):
        ref = find_task(exchange, task_id)
        if ref is not None and await exchange.surface.result(ref.invocation_id) is not None:
            found.append(task_id)
    return found


async def follow_tasks(exchange: Exchange, task_ids: Iterable[str], heard: TaskListener) -> None:
    """Reports the state of each task now and after every change, until all of them have ended."""
    store = exchange.server.app.store
    following = {ref.invocation_id: ref for name in task_ids if (ref := find_task(exchange, name)) is not None}
    told: dict[str, JsonObject] = {}
    newest = await store.rows_before(None, 1)
    seen = newest[0].seq if newest else 0
    concerned = list(following)
    while following:
        for call in concerned:
            task = await describe_task(exchange, following[call])
            if task is not None and task != told.get(call):
                told[call] = task
                heard(task["taskId"], task)
            if task is None or task["status"] in _OVER:
                del following[call]
        concerned = []
        while following and not concerned:
            # Bounds how often a busy ledger wakes this; the rows meanwhile are read in one go.
            await asyncio.sleep(_AT_MOST_EVERY)
            if await store.wait_after(seen, _LOOK_SECONDS):
                rows = await store.rows_after(seen, _ROWS)
                seen = rows[-1].seq if rows else seen
                concerned = list(dict.fromkeys(row.call for row in rows if row.call in following))
            else:
                concerned = list(following)  # its process may have died without a word
