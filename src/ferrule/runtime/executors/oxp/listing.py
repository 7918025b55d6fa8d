"""What an OXP server lists, and whether its tools are still what was accepted. Nothing is sent to one that is not."""

from __future__ import annotations

import asyncio
from typing import Any

from ferrule.contracts.executor import Context, ExecutionFailed
from ferrule.infra.clouds.reached import json_object, reach
from ferrule.infra.lockfile.compare import changes_between
from ferrule.infra.lockfile.native import Native, digest
from ferrule.runtime.executors.identity import demand_trusted
from ferrule.runtime.executors.oxp.answers import bad_answer, refusal
from ferrule.runtime.executors.oxp.upstream import Upstream
from ferrule.runtime.executors.surroundings import Surroundings

_LIST_SECONDS = 30.0


class Listings:
    """The lists of every server, asked for now and then."""

    def __init__(self, around: Surroundings) -> None:
        self._around = around
        self._settings = around.upstreams.oxp
        self._known: dict[str, tuple[float, dict[str, Native]]] = {}
        self._looking: dict[str, asyncio.Lock] = {}

    async def tools(self, upstream: Upstream, context: Context) -> tuple[Native, ...]:
        """Every definition a server has. Raises ExecutionFailed."""
        around = self._around
        if upstream.has_credentials:
            demand_trusted(around.guard, upstream.target, upstream.label)
        headers = await upstream.headers(around.vault, context, around.now)
        fetched = await reach(
            around.client,
            upstream.label,
            "GET",
            upstream.url("/tools"),
            [*headers.items(), ("Accept", "application/json")],
            timeout_seconds=_LIST_SECONDS,
            listed_only=context.is_confined,
            max_bytes=self._settings.max_response_bytes,
        )
        if fetched.status != 200:
            if fetched.status == 401:
                around.vault.refused(upstream.credentials, context)
            raise refusal(upstream.label, fetched).error
        body = json_object(fetched.body)
        listed: Any = body.get("tools", body.get("items") if upstream.is_compat else None)
        if not isinstance(listed, list):
            what = "a list of tools without `tools`"
            if isinstance(body.get("items"), list):
                what += f"; later drafts have it under `items`, which compat = true in [oxp.servers.{upstream.server_id}] takes"
            raise bad_answer(upstream.label, what)
        return tuple(one for one in listed if isinstance(one, dict))

    async def demand_unchanged(self, upstream: Upstream, accepted: Native, context: Context) -> None:
        """Raises ExecutionFailed (`policy_blocked`) when a tool is not what its caller saw and was allowed."""
        tool_id = str(accepted.get("id"))
        live = (await self._live(upstream, context)).get(tool_id)
        if live is None:
            raise _blocked(upstream, tool_id, "the server does not have it any more")
        if digest(live) != digest(accepted):
            where = ", ".join(change.path for change in changes_between(accepted, live)[:8])
            raise _blocked(upstream, tool_id, f"its definition changed ({where})")

    def forget(self, upstream: Upstream) -> None:
        """Look again before the next call."""
        self._known.pop(upstream.server_id, None)

    async def _live(self, upstream: Upstream, context: Context) -> dict[str, Native]:
        loop = asyncio.get_running_loop()
        async with self._looking.setdefault(upstream.server_id, asyncio.Lock()):
            known = self._known.get(upstream.server_id)
            if known is None or loop.time() - known[0] > self._settings.recheck_seconds:
                began = loop.time()
                listed = await self.tools(upstream, context)
                known = self._known[upstream.server_id] = (began, {str(one.get("id")): one for one in listed})
            return known[1]


def _blocked(upstream: Upstream, tool_id: str, why: str) -> ExecutionFailed:
    return ExecutionFailed(
        "policy_blocked",
        f"the tool {tool_id} of {upstream.label} is not what was accepted: {why}. Nothing was sent; look at it with"
        " 'ferrule lock --show', and accept it with 'ferrule lock --accept'",
        code="upstream_changed",
        is_retryable=False,
    )
