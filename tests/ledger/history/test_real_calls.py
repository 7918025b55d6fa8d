"""Events and stories of calls that really went through the pipeline, with every secret sent once."""

from __future__ import annotations

import asyncio
import json
from typing import Any

from ferrule.cli.show.story_text import story_lines
from ferrule.ledger.audit.records import make_invocation_record
from ferrule.ledger.history.expand import expand_row
from ferrule.ledger.history.replay import replay_events
from ferrule.model.event import TERMINAL_EVENT_TYPES, Event
from ferrule.model.journal import CALL_KINDS, StoredEntry
from ferrule.model.lifecycle import TERMINAL, check_transition
from ferrule.model.result import Result
from ferrule.model.story import Story
from ferrule.runtime.functions import tool
from ferrule.testing import ScriptedApprover, memory_app
from tests.ledger.history.rows import SECRET

POLICY = """
[[rules]]
id = "reads"
tool = "look"
decision = "allow"

[[rules]]
id = "never"
tool = "destroy"
decision = "deny"

[[rules]]
id = "refunds"
tool = "refund"
decision = "ask"
"""


@tool(read_only=True)
def look(query: str) -> str:
    """Look something up."""
    if query == "boom":
        raise RuntimeError("out of order")
    return f"about {query}"


@tool
def destroy(name: str) -> None:
    """Destroy something."""


@tool(sensitive=["card"])
def refund(order: str, amount: int, card: str) -> dict[str, Any]:
    """Refund an order."""
    return {"order": order, "amount": amount}


async def rows_of_a_busy_day() -> list[StoredEntry]:
    """Every kind of ending a small app can have, as ledger rows."""
    async with memory_app(tools=[look, destroy, refund], policy=POLICY) as app:
        surface = app.surface(principal="alice")
        order = {"order": "o-17", "amount": 120, "card": SECRET}
        for name, arguments in (
            ("look", {"query": "keys"}), ("look", {"query": "boom"}), ("look", {"query": 7}), ("look", {"quer": "y"}),
            ("nothing", {}), ("destroy", {"name": "x"}), ("refund", {"order": "o-1", "amount": SECRET, "card": SECRET}),
        ):  # fmt: skip
            assert isinstance(await surface.call(name, arguments), Result)
        for verdict in (True, {**order, "amount": 90}, "not this customer"):
            await surface.call("refund", order)
            outcome = (await ScriptedApprover(app, verdict).work())[0]
            assert isinstance(outcome, Result)
        await surface.call("refund", order)
        await app.disable("refund" if app.catalog.versions("refund") else app.catalog.find_ids("refund")[0], by="owner")
        await app.store.flush()
        return await app.store.rows_after(0, 1_000)


ROWS = asyncio.run(rows_of_a_busy_day())
CALLS = list(dict.fromkeys(row.call for row in ROWS if row.kind in CALL_KINDS))


def events(level: str = "standard", call: str | None = None) -> list[Event]:
    rows = [row for row in ROWS if call in (None, row.call)]
    return [event for row in rows for event in expand_row(row, source="shop", level=level)]  # type: ignore[arg-type]


def told_of(call: str) -> Story:
    """The story of one of the day's calls."""
    news = [row for row in ROWS if row.call == call and row.kind == "news"]
    return Story([row for row in ROWS if row.call == call and row.kind != "news"], news=news)


def test_one_result_and_one_end_each() -> None:
    """AT-269, AT-270."""
    assert len(CALLS) == 11
    for call in CALLS:
        types = [event.event_type for event in events(call=call)]
        assert types[0] == "tool.invocation.planned"
        assert types[-2] == "tool.result.created" and types[-1] in TERMINAL_EVENT_TYPES
        assert sum(each in TERMINAL_EVENT_TYPES for each in types) == types.count("tool.result.created") == 1
        assert types.count("tool.invocation.started") <= 1
        assert types.count("tool.invocation.planned") == 1


def test_events_alone_rebuild_every_call() -> None:
    """AT-268, AT-273: legal transitions, the decisions and the status, from exported lines."""
    calls = replay_events(json.loads(json.dumps(event.to_record())) for event in events())
    assert list(calls) == CALLS
    for call, replayed in calls.items():
        told = told_of(call)
        for before, after, _ in replayed.transitions:
            check_transition(before, after)  # type: ignore[arg-type]
        assert [after for _, after, _ in replayed.transitions] == [move.state for move in told.moves]
        assert replayed.status == told.status and told.status in TERMINAL
        assert replayed.behaviors == [decision.ruling.behavior for decision in told.decisions]
        assert replayed.result_status == told.result_status


def test_decisions_of_answered_calls() -> None:
    """AT-131: the ask and its answer are two decisions; who answered is on record."""
    refunds = [told_of(call) for call in CALLS[7:]]
    assert [[decision.ruling.behavior for decision in told.decisions] for told in refunds] == [
        ["ask", "allow"],
        ["ask", "allow"],
        ["ask", "deny"],
        ["ask"],
    ]
    assert [told.decisions[-1].by for told in refunds[:3]] == ["approver"] * 3
    assert [difference.path for view in refunds[1].inputs for difference in view.differences] == ["amount"]
    assert refunds[1].mutations[-1].source_type == "permission_prompt"


def test_a_secret_is_in_no_event_and_no_story() -> None:
    """AT-84, AT-253, AT-271: at no level, in no text, in no JSON."""
    for level in ("standard", "full"):
        assert SECRET not in json.dumps([event.to_record() for event in events(level)])
    assert "o-17" not in json.dumps([event.to_record() for event in events()])
    for call in CALLS:
        told = told_of(call)
        assert SECRET not in json.dumps(told.to_record())
        assert SECRET not in "\n".join(story_lines(told, str))


def test_input_nested_without_end_has_events_a_story_and_a_record() -> None:
    """A model may send anything; whoever reads along afterwards is not held up by it."""

    async def story() -> None:
        async with memory_app(tools=[look]) as app:
            for depth in (90, 400, 900, 3_000, 50_000):
                sent = b'{"query": ' + b"[" * depth + b"]" * depth + b"}"
                result = await app.surface().call("look", sent)
                assert isinstance(result, Result)
                assert result.error is not None
                rows = await app.store.rows_of(result.invocation_id)
                told = [event.to_record() for row in rows for event in expand_row(row, source="x", level="full")]
                assert json.dumps(told)
                assert list(story_lines(Story(rows), str))
                assert make_invocation_record(Story(rows))["model_input"]

    asyncio.run(story())
