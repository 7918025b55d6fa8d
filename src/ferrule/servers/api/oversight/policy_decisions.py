"""Decisions of the policy, counted from the ledger: hits of rules, differences of a shadow policy, suggested rules.

One request reads a limited number of rows; a background task reads the rest. `ledger/history/tally` counts.
"""

from __future__ import annotations

import asyncio
from collections import Counter
from typing import Annotated, TypeAlias
from weakref import WeakKeyDictionary

import msgspec

from ferrule.ledger.history.tally import DAY, WEEK, Decider, DecisionTally, RecordedDifference, RecordedSuggestion
from ferrule.model.timestamps import iso
from ferrule.servers.api.ask import Ask
from ferrule.servers.api.oversight.policies import rules_of
from ferrule.servers.api.replies import AnyReply, JsonReply
from ferrule.servers.api.shapes import Record, describe
from ferrule.servers.edge import Edge

Decisions: TypeAlias = "Counter[tuple[Decider, str]]"
_BEHAVIORS = ("allow", "ask", "deny")
_AT_ONCE, _BEHIND = 2000, 500
"""Rows that one request reads, and rows that the background task reads at a time."""
_tallies: WeakKeyDictionary[Edge, DecisionTally] = WeakKeyDictionary()
_behind: WeakKeyDictionary[Edge, asyncio.Task[None]] = WeakKeyDictionary()


class Counted(msgspec.Struct, kw_only=True):
    """How often a rule, or another source of decisions, decided."""

    reason: Annotated[str, describe("`rule`, or what else decided: `mode`, `policy` (a definition, role or agent), …")]
    source: str
    rule_id: str
    day: Annotated[dict[str, int], describe("In the last 24 hours, by what was decided.")]
    week: Annotated[dict[str, int], describe("In the last seven days.")]


class ShadowDifference(msgspec.Struct, kw_only=True):
    """A call that the shadow policy would have decided differently."""

    invocation_id: str
    at: str
    tool_id: str
    principal: str
    agent: str | None
    behavior: str
    ruled_by: str
    policy_ref: str
    shadow_behavior: str
    shadow_rules: list[str]
    message: str


class SuggestedRule(msgspec.Struct, kw_only=True):
    """A rule that would have settled calls that asked."""

    rule: Record
    destination: str
    times: int
    invocation_id: str
    at: str
    is_in_force: bool


class PolicyDecisions(msgspec.Struct, kw_only=True):
    """Decisions counted from the ledger."""

    since: Annotated[str | None, describe("How far back was counted; null when there is nothing yet.")]
    is_whole: Annotated[bool, describe("False while it does not reach back seven days, or to the first row.")]
    is_counting: Annotated[bool, describe("True while older rows are being read: ask again.")]
    rows: int
    day: dict[str, int]
    week: dict[str, int]
    items: list[Counted]
    differences: Annotated[list[ShadowDifference], describe("The latest ones, newest first.")]
    differing_day: int
    differing_week: int
    suggestions: list[SuggestedRule]


async def list_decisions(ask: Ask) -> AnyReply:
    """Returns how often each rule decided, from the ledger."""
    app = ask.edge.app
    now, tally = app.services.now(), _tallies.setdefault(ask.edge, DecisionTally())
    is_done = await tally.read_more(app.store, now, _AT_ONCE)
    if not is_done:
        _count_in_background(ask, tally)
    day, week = tally.count_decisions(now - DAY), tally.count_decisions(now - WEEK)
    known = {rule.rule_id for rule in rules_of(ask)}
    state = PolicyDecisions(
        since=None if tally.since is None else iso(max(tally.since, now - WEEK)),
        is_whole=tally.is_whole,
        is_counting=not is_done,
        rows=tally.rows,
        day=_sum_by_behavior(day),
        week=_sum_by_behavior(week),
        items=[_encode_count(one, day, week) for one in sorted({decider for decider, _ in week})],
        differences=[_encode_difference(one) for one in tally.list_differences()],
        differing_day=tally.count_shadow_differences(now - DAY).total(),
        differing_week=tally.count_shadow_differences(now - WEEK).total(),
        suggestions=[_encode_suggestion(one, known) for one in tally.list_suggestions()],
    )
    return JsonReply(state)


def _encode_difference(one: RecordedDifference) -> ShadowDifference:
    return ShadowDifference(
        invocation_id=one.invocation_id,
        at=iso(one.at),
        tool_id=one.tool_id,
        principal=one.principal,
        agent=one.agent,
        behavior=one.behavior,
        ruled_by=one.ruled_by,
        policy_ref=one.policy_ref,
        shadow_behavior=one.shadow_behavior,
        shadow_rules=list(one.shadow_rules),
        message=one.message,
    )


def _encode_suggestion(one: RecordedSuggestion, known: set[str]) -> SuggestedRule:
    rule = one.update.get("rule", {})
    return SuggestedRule(
        rule=rule,
        destination=str(one.update.get("destination", "")),
        times=one.times,
        invocation_id=one.invocation_id,
        at=iso(one.at),
        is_in_force=rule.get("id") in known,
    )


def _count_in_background(ask: Ask, tally: DecisionTally) -> None:
    """Reads the remaining rows in the background."""
    running = _behind.get(ask.edge)
    if running is None or running.done():
        _behind[ask.edge] = ask.background.start(_read_all(ask.edge, tally))


async def _read_all(edge: Edge, tally: DecisionTally) -> None:
    app = edge.app
    while not edge.is_closing and not await tally.read_more(app.store, app.services.now(), _BEHIND):
        # A pause between the parts leaves the event loop and the store to calls.
        await asyncio.sleep(0.01)


def _sum_by_behavior(counted: Decisions) -> dict[str, int]:
    total = dict.fromkeys(_BEHAVIORS, 0)
    for (_, behavior), times in counted.items():
        total[behavior] = total.get(behavior, 0) + times
    return total


def _encode_count(one: Decider, day: Decisions, week: Decisions) -> Counted:
    def of(counts: Decisions) -> dict[str, int]:
        return {behavior: counts[one, behavior] for behavior in _BEHAVIORS if counts[one, behavior]}

    return Counted(reason=one.reason, source=one.source, rule_id=one.rule_id, day=of(day), week=of(week))
