"""How the workspace does: what calls did in the last hour, who is waited for, and how the systems behind tools do.

Everything is counted from the ledger as it grows (`ledger/history/recent_activity.py`), so that asking costs the same however
long it is.
"""

from __future__ import annotations

import asyncio
from collections.abc import Sequence
from typing import Annotated, Literal
from weakref import WeakKeyDictionary

import msgspec

from ferrule.errors import SettingsError
from ferrule.infra.lockfile.file import read_lock
from ferrule.infra.lockfile.oxp_tools import lock_key
from ferrule.infra.tasks import resolve
from ferrule.ledger.history.activity import EVERYBODY, OTHER_TOOLS, Counts, Scope, Seen, whole_of
from ferrule.ledger.history.histogram import Histogram
from ferrule.ledger.history.recent_activity import Lately, Verdict, Wait, Waits, verdict_of
from ferrule.model.approval import APPROVE
from ferrule.model.journal import WAITING_STATES, OpenCall
from ferrule.model.timestamps import iso
from ferrule.runtime.executors.systems import System, Systems
from ferrule.servers.api.ask import Ask
from ferrule.servers.api.calls.outcomes import is_unseen
from ferrule.servers.api.replies import Replied, Reply
from ferrule.servers.api.shapes import says
from ferrule.servers.auth.callers import Caller, has_scope
from ferrule.servers.edge import Edge

_PATIENCE_SECONDS = 0.3
"""How long whoever asks waits for rows that were not counted yet; then they get what there is."""
_MOST_FAILING = 5

Milliseconds = Annotated[float | None, says("Milliseconds; null when there is nothing to tell.")]
Covers = Literal["everybody", "tenant", "own"]
Health = Literal["healthy", "slow", "failing", "quiet"]


class ActivityMinute(msgspec.Struct, kw_only=True):
    """Calls that ended in one minute."""

    at: Annotated[str, says("When it began.")]
    succeeded: int
    failed: Annotated[int, says("Timed out, or with input that did not fit, included.")]
    denied: Annotated[int, says("A rule or a person said no.")]
    canceled: int
    p50_ms: Milliseconds
    p95_ms: Milliseconds
    p99_ms: Milliseconds


class FailingTool(msgspec.Struct, kw_only=True):
    """A tool whose calls failed."""

    tool: Annotated[str, says("The name it was called by; empty for all others together.")]
    calls: int


class WaitingState(msgspec.Struct, kw_only=True):
    """Calls that wait for a person."""

    calls: int
    oldest_at: Annotated[str | None, says("Since when the oldest of them waits.")]
    first_expires_at: Annotated[str | None, says("When the first of them expires.")]
    answered: Annotated[int, says("How many were answered in the last hour.")]
    median_answer_ms: Milliseconds


class ActivityState(msgspec.Struct, kw_only=True):
    """What calls did in the last hour, by the time they ended. Latency is that of calls that ran, without the time in
    which a person was waited for; percentiles are within two percent."""

    as_of: str
    is_complete: Annotated[
        bool, says("False while the ledger is still being read, or when there are more callers than are told apart.")
    ]
    counted_until: Annotated[str | None, says("The time of the last row that was counted; null when there is none.")]
    covers: Annotated[Covers, says("Whose calls these are: as far as whoever asks may look.")]
    calls: Annotated[int, says("All that ended.")]
    calls_last_minute: Annotated[int, says("Of them, those of the last 55 to 60 seconds.")]
    succeeded: int
    failed: int
    denied: int
    canceled: int
    p50_ms: Milliseconds
    p95_ms: Milliseconds
    p99_ms: Milliseconds
    failing: Annotated[list[FailingTool], says("The tools that failed most.")]
    waiting: WaitingState
    minutes: Annotated[list[ActivityMinute], says("Sixty, the oldest first; the last one is not over.")]


class UpstreamState(msgspec.Struct, kw_only=True):
    """A system behind tools, judged by what its calls met. Nothing is tried for this."""

    kind: str
    name: str
    tools: Annotated[int, says("How many of the catalog's reach it.")]
    is_locked: Annotated[bool, says("True for a server whose tools were accepted one by one.")]
    health: Annotated[Health, says("`quiet`: no calls in the last hour, so nobody knows.")]
    calls: Annotated[int, says("In the last hour.")]
    unreached: Annotated[int, says("Of them, those that found it down, too slow or too busy.")]
    p95_ms: Milliseconds
    since: Annotated[str | None, says("Since when it is slow or failing.")]
    last_at: Annotated[str | None, says("The last minute with calls.")]


class LockSummary(msgspec.Struct, kw_only=True):
    """The lock of imported tools."""

    servers: int
    tools: int
    problem: Annotated[str | None, says("Why it cannot be trusted.")]


class UpstreamList(msgspec.Struct, kw_only=True):
    """Every system behind tools, those with trouble first."""

    as_of: str
    is_complete: bool
    items: list[UpstreamState]
    lock: LockSummary


class _Watch:
    """What one process knows."""

    def __init__(self, edge: Edge) -> None:
        app = edge.app
        self.systems = Systems(lambda: app.catalog, app.executor_of)
        self.lately = Lately(app.store, app.services.wall, self.systems.key_of)
        self.waits = Waits(app.store)
        edge.closing.append(self.lately.aclose)


_watches: WeakKeyDictionary[Edge, _Watch] = WeakKeyDictionary()


def _watch(ask: Ask) -> _Watch:
    found = _watches.get(ask.edge)
    if found is None:
        found = _watches[ask.edge] = _Watch(ask.edge)
    return found


async def get_activity(ask: Ask) -> Replied:
    """What calls did in the last hour."""
    watch, scope, now = _watch(ask), scope_of(ask.caller), ask.edge.app.services.wall()
    is_read = await watch.lately.caught_up(_PATIENCE_SECONDS)
    seen = await _told(ask, watch.lately.seen(scope))
    until = watch.lately.read_until
    state = ActivityState(
        as_of=iso(now),
        is_complete=is_read and seen.is_whole,
        counted_until=iso(until) if until else None,
        covers="own" if scope.principal is not None else "tenant" if scope.tenant is not None else "everybody",
        calls=seen.whole.calls,
        calls_last_minute=seen.last_minute,
        succeeded=seen.whole.succeeded,
        failed=seen.whole.failed,
        denied=seen.whole.denied,
        canceled=seen.whole.canceled,
        **_percentiles(seen.whole.latency),
        failing=_failing(seen.whole),
        waiting=await _waiting(ask, watch, seen.whole.answered),
        minutes=[_minute(at, counts) for at, counts in seen.minutes],
    )
    return Reply(state)


async def _told(ask: Ask, seen: Seen) -> Seen:
    """What calls did, as whoever asks may know: those of a tool that is hidden from them failed, as if there were none."""
    if ask.caller.is_operator or not seen.whole.refused:
        return seen
    surface = (await resolve(ask.surface())).surface

    def is_hidden(name: str) -> bool:
        return is_unseen(surface, name, "policy_blocked")

    minutes = [(at, counts.hiding(is_hidden)) for at, counts in seen.minutes]
    return seen._replace(minutes=minutes, whole=whole_of([counts for _, counts in minutes]))


def scope_of(caller: Caller) -> Scope:
    """Whose calls a caller may look at, in the words of the counts."""
    if not caller.is_operator:
        return Scope(caller.tenant, caller.identity.principal)
    return EVERYBODY if caller.identity.tenant is None else Scope(caller.identity.tenant)


def _minute(at: int, counts: Counts) -> ActivityMinute:
    return ActivityMinute(
        at=iso(at),
        succeeded=counts.succeeded,
        failed=counts.failed,
        denied=counts.denied,
        canceled=counts.canceled,
        **_percentiles(counts.latency),
    )


def _percentiles(latency: Histogram) -> dict[str, float | None]:
    return {f"p{share}_ms": _milliseconds(latency.percentile(share / 100)) for share in (50, 95, 99)}


def _milliseconds(microseconds: float | None) -> float | None:
    return None if microseconds is None else round(microseconds / 1000, 3)


def _failing(whole: Counts) -> list[FailingTool]:
    by_calls = sorted(whole.failing.items(), key=lambda item: (item[0] == OTHER_TOOLS, -item[1], item[0]))
    return [FailingTool(tool=tool, calls=calls) for tool, calls in by_calls[:_MOST_FAILING]]


async def _waiting(ask: Ask, watch: _Watch, answered: Histogram) -> WaitingState:
    opened = await ask.edge.app.store.open_calls(*WAITING_STATES)
    waits = await watch.waits.of(opened)
    mine = [(one, waits[one.call]) for one in opened if one.call in waits and _is_told_of(ask.caller, one)]
    ends = [one.expires_at for one, _ in mine if one.expires_at is not None]
    return WaitingState(
        calls=len(mine),
        oldest_at=_first([wait for _, wait in mine]),
        first_expires_at=iso(min(ends)) if ends else None,
        answered=answered.total,
        median_answer_ms=_milliseconds(answered.percentile(0.5)),
    )


def _first(waits: Sequence[Wait]) -> str | None:
    return iso(min(wait.asked_at for wait in waits)) if waits else None


def _is_told_of(caller: Caller, opened: OpenCall) -> bool:
    """True for one's own, and for what the inbox shows."""
    if caller.sees(opened.principal, opened.tenant):
        return True
    return has_scope(caller, APPROVE) and caller.identity.tenant in (None, opened.tenant)


async def list_upstreams(ask: Ask) -> Replied:
    """Every system behind tools, and how it does."""
    watch, app = _watch(ask), ask.edge.app
    is_read = await watch.lately.caught_up(_PATIENCE_SECONDS)
    tools, lock = await watch.systems.all(), await asyncio.to_thread(_locked, ask)
    now, minutes = app.services.wall(), watch.lately.systems()
    items = [
        _upstream(system, count, verdict_of(minutes.get(system.key, ()), now), lock[1])
        for system, count in tools.items()
    ]
    items.sort(key=lambda item: (_ORDER[item.health], item.name, item.kind))
    return Reply(UpstreamList(as_of=iso(now), is_complete=is_read, items=items, lock=lock[0]))


_ORDER: dict[Health, int] = {"failing": 0, "slow": 1, "healthy": 2, "quiet": 3}


def _upstream(system: System, tools: int, verdict: Verdict, locked: frozenset[str]) -> UpstreamState:
    key = lock_key(system.name) if system.kind == "OXP" else system.name
    return UpstreamState(
        kind=system.kind,
        name=system.name,
        tools=tools,
        is_locked=system.kind in ("MCP", "OXP") and key in locked,
        health=verdict.health,
        calls=verdict.calls,
        unreached=verdict.unreached,
        p95_ms=_milliseconds(verdict.p95),
        since=None if verdict.since is None else iso(verdict.since),
        last_at=None if verdict.last_at is None else iso(verdict.last_at),
    )


def _locked(ask: Ask) -> tuple[LockSummary, frozenset[str]]:
    try:
        servers = read_lock(ask.edge.app.root).servers
    except SettingsError as error:
        told = str(error).replace(f"{ask.edge.app.root}/", "")
        return LockSummary(servers=0, tools=0, problem=told), frozenset()
    count = sum(len(server.tools) for server in servers.values())
    return LockSummary(servers=len(servers), tools=count, problem=None), frozenset(servers)
