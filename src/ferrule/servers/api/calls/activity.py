"""Activity of the workspace: calls of the last hour, calls that wait for people, and the health of the systems behind
tools.

All of it is counted from the ledger as it grows (`ledger/history/recent_activity.py`), so a request costs the same
however long the ledger is.
"""

from __future__ import annotations

import asyncio
from collections.abc import Sequence
from typing import Annotated, Literal
from weakref import WeakKeyDictionary

import msgspec

from ferrule.errors import SettingsError
from ferrule.infra.lockfile.file import read_lock
from ferrule.infra.lockfile.oxp_tools import make_lock_key
from ferrule.infra.tasks import resolve
from ferrule.ledger.history.activity import EVERYBODY, OTHER_TOOLS, ActivityReport, CallScope, Counts, merge_counts
from ferrule.ledger.history.histogram import Histogram
from ferrule.ledger.history.recent_activity import HealthVerdict, RecentActivity, Wait, Waits, judge_health
from ferrule.model.approval import APPROVE
from ferrule.model.journal import WAITING_STATES, OpenCall
from ferrule.model.timestamps import iso
from ferrule.runtime.executors.systems import System, Systems
from ferrule.servers.api.ask import Ask
from ferrule.servers.api.calls.outcomes import is_refused_and_hidden
from ferrule.servers.api.replies import AnyReply, JsonReply
from ferrule.servers.api.shapes import describe
from ferrule.servers.auth.callers import Caller, has_scope
from ferrule.servers.edge import Edge

_PATIENCE_SECONDS = 0.3
"""How long a request waits for rows that were not counted yet; then it returns the counts so far."""
_MOST_FAILING = 5

Milliseconds = Annotated[float | None, describe("Milliseconds; null when there is nothing to tell.")]
Covers = Literal["everybody", "tenant", "own"]
Health = Literal["healthy", "slow", "failing", "quiet"]


class ActivityMinute(msgspec.Struct, kw_only=True):
    """Calls that ended in one minute."""

    at: Annotated[str, describe("When it began.")]
    succeeded: int
    failed: Annotated[int, describe("Timed out, or with input that did not fit, included.")]
    denied: Annotated[int, describe("A rule or a person said no.")]
    canceled: int
    p50_ms: Milliseconds
    p95_ms: Milliseconds
    p99_ms: Milliseconds


class FailingTool(msgspec.Struct, kw_only=True):
    """A tool whose calls failed."""

    tool: Annotated[str, describe("The name it was called by; empty for all others together.")]
    calls: int


class WaitingState(msgspec.Struct, kw_only=True):
    """Calls that wait for a person."""

    calls: int
    oldest_at: Annotated[str | None, describe("Since when the oldest of them waits.")]
    first_expires_at: Annotated[str | None, describe("When the first of them expires.")]
    answered: Annotated[int, describe("How many were answered in the last hour.")]
    median_answer_ms: Milliseconds


class ActivityState(msgspec.Struct, kw_only=True):
    """Calls of the last hour, by the time they ended. Latency is that of calls that ran, without the time spent waiting
    for people; percentiles are within two percent.
    """

    as_of: str
    is_complete: Annotated[
        bool,
        describe("False while the ledger is still being read, or when there are more callers than are told apart."),
    ]
    counted_until: Annotated[
        str | None, describe("The time of the last row that was counted; null when there is none.")
    ]
    covers: Annotated[Covers, describe("Whose calls these are: as far as whoever asks may look.")]
    calls: Annotated[int, describe("All that ended.")]
    calls_last_minute: Annotated[int, describe("Of them, those of the last 55 to 60 seconds.")]
    succeeded: int
    failed: int
    denied: int
    canceled: int
    p50_ms: Milliseconds
    p95_ms: Milliseconds
    p99_ms: Milliseconds
    failing: Annotated[list[FailingTool], describe("The tools that failed most.")]
    waiting: WaitingState
    minutes: Annotated[list[ActivityMinute], describe("Sixty, the oldest first; the last one is not over.")]


class UpstreamState(msgspec.Struct, kw_only=True):
    """A system behind tools, judged by the calls of the last hour. No test call is made."""

    kind: str
    name: str
    tools: Annotated[int, describe("How many of the catalog's reach it.")]
    is_locked: Annotated[bool, describe("True for a server whose tools were accepted one by one.")]
    health: Annotated[Health, describe("`quiet`: no calls in the last hour, so nobody knows.")]
    calls: Annotated[int, describe("In the last hour.")]
    unreached: Annotated[int, describe("Of them, those that found it down, too slow or too busy.")]
    p95_ms: Milliseconds
    since: Annotated[str | None, describe("Since when it is slow or failing.")]
    last_at: Annotated[str | None, describe("The last minute with calls.")]


class LockSummary(msgspec.Struct, kw_only=True):
    """The lock of imported tools."""

    servers: int
    tools: int
    problem: Annotated[str | None, describe("Why it cannot be trusted.")]


class UpstreamList(msgspec.Struct, kw_only=True):
    """Every system behind tools, those in trouble first."""

    as_of: str
    is_complete: bool
    items: list[UpstreamState]
    lock: LockSummary


class _Watch:
    """The running counts of one process."""

    def __init__(self, edge: Edge) -> None:
        app = edge.app
        self.systems = Systems(lambda: app.catalog, app.find_executor)
        self.lately = RecentActivity(app.store, app.services.wall, self.systems.key_of)
        self.waits = Waits(app.store)
        edge.closing.append(self.lately.aclose)


_watches: WeakKeyDictionary[Edge, _Watch] = WeakKeyDictionary()


def _find_watch(ask: Ask) -> _Watch:
    found = _watches.get(ask.edge)
    if found is None:
        found = _watches[ask.edge] = _Watch(ask.edge)
    return found


async def get_activity(ask: Ask) -> AnyReply:
    """Returns the activity of the last hour."""
    watch, scope, now = _find_watch(ask), scope_of(ask.caller), ask.edge.app.services.wall()
    is_read = await watch.lately.catch_up(_PATIENCE_SECONDS)
    seen = await _hide_refused_tools(ask, watch.lately.report(scope))
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
        failing=_list_failing(seen.whole),
        waiting=await _summarize_waiting(ask, watch, seen.whole.answered),
        minutes=[_minute(at, counts) for at, counts in seen.minutes],
    )
    return JsonReply(state)


async def _hide_refused_tools(ask: Ask, seen: ActivityReport) -> ActivityReport:
    """Removes failures of tools that are hidden from the caller, as if these tools did not exist."""
    if ask.caller.is_operator or not seen.whole.refused:
        return seen
    surface = (await resolve(ask.surface())).surface

    def is_hidden(name: str) -> bool:
        return is_refused_and_hidden(surface, name, "policy_blocked")

    minutes = [(at, counts.hide_tools(is_hidden)) for at, counts in seen.minutes]
    return seen._replace(minutes=minutes, whole=merge_counts([counts for _, counts in minutes]))


def scope_of(caller: Caller) -> CallScope:
    """Returns the calls that a caller may see, as a scope of the counts."""
    if not caller.is_operator:
        return CallScope(caller.tenant, caller.identity.principal)
    return EVERYBODY if caller.identity.tenant is None else CallScope(caller.identity.tenant)


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


def _list_failing(whole: Counts) -> list[FailingTool]:
    by_calls = sorted(whole.failing.items(), key=lambda item: (item[0] == OTHER_TOOLS, -item[1], item[0]))
    return [FailingTool(tool=tool, calls=calls) for tool, calls in by_calls[:_MOST_FAILING]]


async def _summarize_waiting(ask: Ask, watch: _Watch, answered: Histogram) -> WaitingState:
    opened = await ask.edge.app.store.open_calls(*WAITING_STATES)
    waits = await watch.waits.find_waits(opened)
    mine = [(one, waits[one.call]) for one in opened if one.call in waits and _may_see_waiting(ask.caller, one)]
    ends = [one.expires_at for one, _ in mine if one.expires_at is not None]
    return WaitingState(
        calls=len(mine),
        oldest_at=_find_oldest([wait for _, wait in mine]),
        first_expires_at=iso(min(ends)) if ends else None,
        answered=answered.total,
        median_answer_ms=_milliseconds(answered.percentile(0.5)),
    )


def _find_oldest(waits: Sequence[Wait]) -> str | None:
    return iso(min(wait.asked_at for wait in waits)) if waits else None


def _may_see_waiting(caller: Caller, opened: OpenCall) -> bool:
    """Returns True for the caller's own calls, and for those in its inbox."""
    if caller.sees(opened.principal, opened.tenant):
        return True
    return has_scope(caller, APPROVE) and caller.identity.tenant in (None, opened.tenant)


async def list_upstreams(ask: Ask) -> AnyReply:
    """Lists every system behind tools with its health."""
    watch, app = _find_watch(ask), ask.edge.app
    # The lock is a file, so it is read in a thread; `count_tools()` groups the catalog's tools by system.
    is_read = await watch.lately.catch_up(_PATIENCE_SECONDS)
    tools, lock = await watch.systems.count_tools(), await asyncio.to_thread(_summarize_lock, ask)
    now, minutes = app.services.wall(), watch.lately.report_systems()
    items = [
        _upstream(system, count, judge_health(minutes.get(system.key, ()), now), lock[1])
        for system, count in tools.items()
    ]
    items.sort(key=lambda item: (_ORDER[item.health], item.name, item.kind))
    return JsonReply(UpstreamList(as_of=iso(now), is_complete=is_read, items=items, lock=lock[0]))


_ORDER: dict[Health, int] = {"failing": 0, "slow": 1, "healthy": 2, "quiet": 3}


def _upstream(system: System, tools: int, verdict: HealthVerdict, locked: frozenset[str]) -> UpstreamState:
    key = make_lock_key(system.name) if system.kind == "OXP" else system.name
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


def _summarize_lock(ask: Ask) -> tuple[LockSummary, frozenset[str]]:
    try:
        servers = read_lock(ask.edge.app.root).servers
    except SettingsError as error:
        problem = str(error).replace(f"{ask.edge.app.root}/", "")
        return LockSummary(servers=0, tools=0, problem=problem), frozenset()
    count = sum(len(server.tools) for server in servers.values())
    return LockSummary(servers=len(servers), tools=count, problem=None), frozenset(servers)
