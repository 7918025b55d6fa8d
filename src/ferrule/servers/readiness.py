"""Whether the process can be given work: `GET /ready`, for whoever balances load. `/health` only says that it lives."""

from __future__ import annotations

import asyncio
import logging

import msgspec

from ferrule.runtime.policy.refusing import RefusingPolicy
from ferrule.servers.asgi import JSON, Answer, Request
from ferrule.servers.edge import Edge
from ferrule.servers.root import OpenEndpoint

_SECONDS = 2.0
_log = logging.getLogger("ferrule.serve")


def readiness(edge: Edge) -> OpenEndpoint:
    """Ready means: the keys and the ledger can be read, the policy can be used, and the process is not about to stop."""

    async def ready(request: Request) -> Answer:
        problem = await _problem(edge)
        body = {"status": "ready"} if problem is None else {"status": "not ready", "reason": problem}
        return Answer(200 if problem is None else 503, msgspec.json.encode(body), [JSON])

    return ready


async def _problem(edge: Edge) -> str | None:
    if edge.is_closing:
        return "stopping"
    if (problem := edge.gate.problem()) is not None:
        _log.warning("not ready: the keys cannot be read: %s", problem)
        return "the keys cannot be read"
    try:
        await asyncio.wait_for(edge.app.store.rows_before(None, 1), _SECONDS)
    except Exception as error:  # whatever it is, calls would meet it too; strangers are told no more than that
        _log.warning("not ready: the ledger cannot be read: %s", error)
        return "the ledger cannot be read"
    edge.app.generation()  # a mended policy counts from now on
    return "the policy cannot be used" if isinstance(edge.app.policy, RefusingPolicy) else None
