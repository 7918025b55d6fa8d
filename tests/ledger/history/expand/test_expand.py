"""One row -> its events: order, ids, endings, and what never stands in them."""

from __future__ import annotations

import json
import re
from collections import Counter

import pytest
from hypothesis import given
from hypothesis import strategies as st

from ferrule.ledger.history.expand import expand_row
from ferrule.ledger.history.replay import replay_events
from ferrule.model.event import STANDARD_EVENT_TYPES, TERMINAL_EVENT_TYPES, Event
from ferrule.model.journal import Entry, Payload, StoredEntry, state_times
from ferrule.model.lifecycle import STARTS, TERMINAL, TRANSITIONS, State
from tests.ledger.history.rows import (
    ARGUMENTS,
    MASK,
    SCENARIOS,
    Ledger,
    Writer,
    as_json,
    crashed,
    encode_result,
    parked,
    success,
)


def events_in(ledger: Ledger, level: str = "standard") -> list[Event]:
    return [event for row in ledger.rows for event in expand_row(row, source="shop", level=level)]  # type: ignore[arg-type]


def types(ledger: Ledger) -> list[str]:
    return [event.event_type.removeprefix("tool.") for event in events_in(ledger)]


def test_required_fields_and_unique_ids(ledger: Ledger) -> None:
    """AT-265: events have the five required fields, and ids of their own."""
    records = [event.to_record() for event in events_in(ledger)]
    for record in records:
        assert all(record[name] for name in ("schema_version", "event_id", "event_type", "source", "time"))
        json.dumps(record)
    assert len({record["event_id"] for record in records}) == len(records)


def test_the_same_row_gives_the_same_events(ledger: Ledger) -> None:
    assert events_in(ledger) == events_in(ledger)


def test_call_bound_events_name_call_and_tool(ledger: Ledger) -> None:
    """AT-267: invocation_id and tool_id on every event of a call."""
    for event in events_in(ledger):
        assert (event.invocation_id, event.tool_id) == (ledger.rows[0].call, ledger.rows[0].tool)
        assert event.subject == event.invocation_id


def test_one_result_then_one_end(ledger: Ledger) -> None:
    """AT-269: exactly one terminal event and one result, the result first, both naming the same result."""
    found = events_in(ledger)
    ends = [event for event in found if event.event_type in TERMINAL_EVENT_TYPES]
    results = [event for event in found if event.event_type == "tool.result.created"]
    assert len(ends) == len(results) == 1
    assert found[-2:] == [results[0], ends[0]]
    assert results[0].data["result_id"] == ends[0].data["result_id"]


def test_order_follows_the_state_history(ledger: Ledger) -> None:
    """AT-268, AT-97: the transitions the events carry are the call's own, in order, and times never go back."""
    states = [state for row in ledger.rows for state, _ in state_times(row.segment())]
    found = events_in(ledger)
    assert [move["to"] for event in found for move in event.data.get("transitions", ())] == states
    for row in ledger.rows:
        times = [event.time for event in found if event.seq == row.seq]
        assert times == sorted(times)


def test_neither_level_nor_erasure_changes_which_events_there_are(ledger: Ledger) -> None:
    shape = [(event.event_id, event.event_type, event.time) for event in events_in(ledger)]
    assert [(event.event_id, event.event_type, event.time) for event in events_in(ledger, "full")] == shape
    ledger.rows = [
        StoredEntry(**{name: getattr(row, name) for name in row.__struct_fields__} | {"payload": None})
        for row in ledger.rows
    ]
    assert [(event.event_id, event.event_type, event.time) for event in events_in(ledger, "full")] == shape


def test_standard_level_has_no_arguments_and_no_results(ledger: Ledger) -> None:
    """AT-253, AML-107: by default neither arguments nor results, nor messages that may quote them."""
    text = json.dumps([event.to_record() for event in events_in(ledger)])
    for value in ("o-17", "rotate keys", "hits", "r-1", "r-2", MASK, "not this customer", "cents to euros"):
        assert value not in text


def test_level_none_has_no_events(ledger: Ledger) -> None:
    """AML-107: level none."""
    assert events_in(ledger, "none") == []


def test_full_level_adds_masked_arguments_and_results() -> None:
    """AML-107, AT-84: level full shows what the ledger has; sensitive members are masked there already."""
    ledger = Ledger()
    SCENARIOS["action"](ledger)
    data = {event.event_type: event.data for event in events_in(ledger, "full")}
    assert data["tool.invocation.planned"]["arguments"] == ARGUMENTS
    assert data["tool.invocation.started"]["arguments"]["card"] == MASK
    assert data["tool.result.created"]["structured_content"] == {"refund": "r-1"}


def test_every_standard_class_is_reached() -> None:
    """AT-266: the union over all scenarios has the 27 classes."""
    ledger = Ledger()
    for scenario in SCENARIOS.values():
        scenario(ledger)
    ledger.fact("catalog", digest="sha256:1", declared=["kb.search"], removed=["kb.old"])
    ledger.fact("surface", surface_id="srf_1", change="created")
    ledger.fact("surface", surface_id="srf_1", change="updated")
    ledger.fact("surface", surface_id="srf_1", change="discovered", tools=["kb.search"], search_id="s1")
    ledger.fact("surface", surface_id="srf_1", change="loaded", tools=["kb.search"], search_id="s1")
    assert set(STANDARD_EVENT_TYPES) <= {event.event_type for event in events_in(ledger)}


@pytest.mark.parametrize(
    ("scenario", "event", "status"),
    [
        ("success", "succeeded", "succeeded"),
        ("unknown_tool", "failed", "failed"),
        ("schema_failure", "validation_failed", "schema_parse_failed"),
        ("validation_failure", "validation_failed", "validation_failed"),
        ("setup_missing", "validation_failed", "blocked"),
        ("denied", "failed", "denied"),
        ("blocked", "failed", "blocked"),
        ("disabled_while_parked", "failed", "blocked"),
        ("rejected", "failed", "denied"),
        ("expired", "timed_out", "timed_out"),
        ("canceled", "canceled", "canceled"),
    ],
)
def test_how_endings_are_told(scenario: str, event: str, status: str) -> None:
    """AT-270, section 18: early failures are evented too; denied and blocked are `failed` with their status."""
    ledger = Ledger()
    SCENARIOS[scenario](ledger)
    last = events_in(ledger)[-1]
    assert (last.event_type, last.data["status"]) == (f"tool.invocation.{event}", status)


def test_a_plain_call() -> None:
    ledger = Ledger()
    success(ledger)
    assert types(ledger) == [
        "invocation.planned", "invocation.selected", "invocation.arguments_ready", "permission.decided",
        "invocation.started", "result.created", "invocation.succeeded",
    ]  # fmt: skip
    assert events_in(ledger)[0].data["native_call_id"] == "toolu_1"
    assert events_in(ledger)[0].event_id == "evt_1_0"


def test_a_clock_that_stands_still_does_not_mix_the_order() -> None:
    """AT-268: with all times equal, places in the call's life decide."""
    ticking, still = Ledger(), Ledger()
    for ledger, tick in ((ticking, 1_000), (still, 0)):
        writer = Writer(ledger, "inv_1", tick=tick).enter("planned", "selected").mutate("runtime", "amount")
        writer.enter("arguments_ready", "pre_hooks_running").hook("pre_tool_use").mutate("hook", "amount", ref="h")
        writer.decide("ask").enter("awaiting_approval").mutate("permission_prompt", "amount", ref="bob")
        writer.decide("allow", by="bob").enter("approved", "queued", "running", "post_hooks_running")
        writer.hook("post_tool_use").enter("succeeded").row("call", status="succeeded")
    assert types(still) == types(ticking)


def test_a_clock_set_forward_moves_no_other_event() -> None:
    """Decisions carry the time of day; a jump of it is kept within the states around the decision."""
    ledger = Ledger()
    writer = Writer(ledger, "inv_1").enter("planned", "selected", "arguments_ready")
    writer.created_at += 3_600_000_000
    writer.decide("allow")
    writer.created_at -= 3_600_000_000
    writer.enter("running", "succeeded").row("call", status="succeeded")
    found = events_in(ledger)
    assert max(event.time for event in found) - found[0].time < 1_000


def test_the_first_state_may_be_left_out() -> None:
    """Every call has a `planned` event, also when its row begins with a later state."""
    ledger = Ledger()
    Writer(ledger, "inv_1").enter("arguments_ready", "running", "succeeded").row("call", status="succeeded")
    assert types(ledger)[0] == "invocation.planned"
    assert Counter(types(ledger))["invocation.planned"] == 1


def test_asking_again_is_a_new_request() -> None:
    """An approval that no longer fits is asked for again, without leaving the state."""
    ledger = Ledger()
    writer = parked(ledger).decide("ask")
    writer.row("parked", request=writer.request(), notes={"approval_void": "the definition changed"})
    assert types(ledger)[-2:] == ["permission.decided", "permission.requested"]
    assert events_in(ledger)[-1].data["asked_again_because"] == "the definition changed"


def test_a_crash_asks_what_became_of_the_call() -> None:
    ledger = Ledger()
    crashed(ledger)
    last = events_in(ledger)[-1]
    assert (last.event_type, last.data["purpose"]) == ("tool.invocation.needs_input", "outcome")


def test_decisions_keep_their_numbers_over_rows() -> None:
    """AT-131: the answer to an ask is a second decision with an id of its own."""
    ledger = Ledger()
    SCENARIOS["approved_edited"](ledger)
    decided = [event.data for event in events_in(ledger) if event.event_type == "tool.permission.decided"]
    assert [data["decision_id"] for data in decided] == ["dec_approved_edited.0", "dec_approved_edited.1"]
    assert [data["behavior"] for data in decided] == ["ask", "allow"]
    assert (decided[1]["decided_by"], decided[1]["user_modified"]) == ("bob", True)


def test_what_is_no_json_is_shown_as_text() -> None:
    ledger = Ledger()
    writer = Writer(ledger, "inv_1").enter("planned", "selected", "schema_parse_failed")
    writer.row("call", inputs=Payload(model_input=b'{"amount": '), status="failed")
    assert events_in(ledger, "full")[0].data["arguments"] == '{"amount": '


def test_rows_of_no_call() -> None:
    """AT-188: finding and loading a tool, switches, policies and erasure have events."""
    ledger = Ledger()
    ledger.fact("opened")
    ledger.fact("catalog", digest="sha256:1", declared=["a", "b"], removed=["c"])
    ledger.fact("surface", surface_id="srf_1", change="discovered", tools=["a", "b"], search_id="s1")
    ledger.fact("surface", surface_id="srf_1", change="loaded", tools=["a"], search_id="s1")
    ledger.fact("policy", digest="sha256:2", refs=["p"], mode="default")
    ledger.fact("switch", tool_id="a", to="off", by="alice", reason="leak")
    ledger.fact("erased", calls=["inv_1", "inv_2"], rows=3, by="alice", reason="asked for")
    ledger.fact("pruned", rows=10)
    found = [(event.event_type, event.tool_id or event.subject) for event in events_in(ledger)]
    assert found == [
        ("tool.declared", "a"),
        ("tool.declared", "b"),
        ("tool.declared", "c"),
        ("tool.deferred.discovered", "a"),
        ("tool.deferred.discovered", "b"),
        ("tool.deferred.loaded", "a"),
        ("tool.surface.updated", "srf_1"),
        ("tool.policy.changed", "sha256:2"),
        ("tool.switched", "a"),
        ("tool.result.redacted", "inv_1"),
        ("tool.result.redacted", "inv_2"),
    ]


def test_unknown_kinds_of_events_are_passed_over() -> None:
    """AT-272: a consumer ignores what it does not know."""
    ledger = Ledger()
    success(ledger)
    records = [event.to_record() for event in events_in(ledger)]
    strange = {**records[0], "event_type": "tool.invocation.levitated", "data": {}}
    assert replay_events([records[0], strange, *records[1:]]) == replay_events(records)


@st.composite
def legal_paths(draw: st.DrawFn) -> tuple[list[State], list[int]]:
    """Any legal way through the states, and where it is cut into rows."""
    path: list[State] = [draw(st.sampled_from(sorted(STARTS)))]
    while path[-1] not in TERMINAL:
        choices = sorted(TRANSITIONS[path[-1]])
        if len(path) > 12:
            choices = [state for state in choices if state in TERMINAL] or choices
        path.append(draw(st.sampled_from(choices)))
    cuts = draw(st.lists(st.integers(1, max(1, len(path) - 1)), unique=True, max_size=3))
    return path, sorted(cut for cut in cuts if cut < len(path) and path[cut - 1] not in ("planned", "selected"))


@given(legal_paths(), st.sampled_from([0, 1_000]))
def test_any_legal_path(paths: tuple[list[State], list[int]], tick: int) -> None:
    """AT-268, AT-269: whatever legal way a call takes, cut into whatever rows: its order, unique ids, one end."""
    path, cuts = paths
    ledger = Ledger()
    writer = Writer(ledger, "inv_1", tick=tick)
    for number, state in enumerate(path):
        if number in cuts:
            writer.row("parked" if number == cuts[0] else "started")
        writer.enter(state)
    writer.row("ended" if cuts else "call", status="succeeded")
    found = events_in(ledger)
    told = [move["to"] for event in found for move in event.data.get("transitions", ())]
    assert told == (path if path[0] == "planned" else ["planned", *path])
    assert len({event.event_id for event in found}) == len(found)
    assert sum(event.event_type in TERMINAL_EVENT_TYPES for event in found) == 1
    assert sum(event.event_type == "tool.result.created" for event in found) == 1
    assert found[-1].event_type in TERMINAL_EVENT_TYPES
    assert sum(event.event_type == "tool.invocation.planned" for event in found) == 1


_NAMES = re.compile(r"tool(\.[a-z_]+)+")


def test_event_ids_follow_from_row_and_place() -> None:
    ledger = Ledger(first=41)
    entry = Entry(kind="policy", call="", at=1, tool="", outcome="", body={"digest": "d"})
    ledger.add(entry)
    assert [event.event_id for event in events_in(ledger)] == ["evt_41_0"]


def test_events_fit_the_published_schema(ledger: Ledger) -> None:
    """AT-265: types as the standard's schema has them."""
    for event in events_in(ledger, "full"):
        record = event.to_record()
        assert _NAMES.fullmatch(record["event_type"])
        assert all(isinstance(record[name], str) for name in ("subject", "invocation_id", "tool_id", "time", "source"))
        assert isinstance(record.get("data", {}), dict)


def test_results_keep_their_shape() -> None:
    ledger = Ledger()
    payload = Payload(model_input=as_json({}), result=encode_result([1, 2]))
    writer = Writer(ledger, "inv_1").enter("planned", "selected", "arguments_ready", "running", "succeeded")
    writer.row("call", inputs=payload, status="succeeded")
    assert events_in(ledger, "full")[-2].data["content"] == [{"type": "text", "text": "[1, 2]"}]
