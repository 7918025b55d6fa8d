"""Rows of the ledger are read back with all they imply: phases that had nothing to do, times of hooks, standing decisions."""

from __future__ import annotations

from typing import Any

import msgspec
import pytest

from ferrule.errors import LedgerDamaged
from ferrule.model.decision import Ruling
from ferrule.model.journal import (
    Header,
    HookRun,
    Kind,
    NewsBody,
    Payload,
    Segment,
    StoredEntry,
    audit_level_of,
    encode,
    header_of,
    phase_times,
    state_times,
)
from ferrule.model.lifecycle import PHASES, STATES

MILLISECOND = 1_000_000
ALLOW = Ruling("allow", "it only reads")


def header(**fields: Any) -> Header:
    """The header of a tool's calls."""
    names = "tool_id tool_name tool_digest namespace surface_id catalog_digest policy_digest principal channel tenant run_id"
    usual: dict[str, Any] = dict.fromkeys(names.split(), "x")
    return Header(**{**usual, "tool_version": None, "agent": None, **fields})


def segment(*phases: tuple[str, int], head: Header | None = None, **fields: Any) -> Segment:
    """A segment with the given phases, each with its end in milliseconds."""
    codes = [end * MILLISECOND << 4 | PHASES.index(name) for name, end in phases]
    return Segment(msgspec.Raw(encode(head or header())), 5_000, codes, [], **fields)


def row(body: Any, kind: Kind = "call", **fields: Any) -> StoredEntry:
    """A row as it was read."""
    usual: dict[str, Any] = {"payload": None, "is_erased": False, "outcome": "succeeded"}
    written = body if isinstance(body, bytes) else encode(body)
    return StoredEntry(
        seq=7, kind=kind, call="inv_1", at=1, tool="x", body=written, mark=b"", hash=b"", **{**usual, **fields}
    )


def test_phases_that_were_passed_over_end_with_the_one_before() -> None:
    read = row(segment(("validate_values", 2), ("execute", 9))).segment()
    times = {name: end // MILLISECOND for name, end in phase_times(read)}
    assert list(times) == list(PHASES[: PHASES.index("execute") + 1])
    assert times["check_schema_loaded"] <= times["validate_values"] == times["permission"] == times["schedule"] == 2
    assert times["execute"] == 9


def test_a_call_that_never_ran_has_the_phases_it_reached() -> None:
    read = row(segment(("validate_values", 2))).segment()
    assert [name for name, _ in phase_times(read)] == ["validate_values"]


def test_a_row_of_a_call_in_parts_has_its_own_phases_alone() -> None:
    read = row(segment(("schedule", 2), ("map_result", 9)), "ended").segment()
    assert [name for name, _ in phase_times(read)] == ["schedule", "map_result"]


def test_no_phase_ends_before_its_hooks() -> None:
    runs = (
        HookRun("h", "pre_tool_use", 0, 4 * MILLISECOND),
        HookRun("h", "permission_request", 0, 6 * MILLISECOND),
        HookRun("h", "post_tool_use", 0, 99 * MILLISECOND),
    )
    read = row(segment(("pre_hooks", 1), ("permission", 2), ("execute", 8), hooks=runs), "started").segment()
    assert [end // MILLISECOND for _, end in phase_times(read)] == [4, 6, 8]


def test_the_decision_that_holds_for_every_call_is_implied() -> None:
    read = row(segment(("permission", 3), head=header(ruling=ALLOW)), "started").segment()
    assert [(each.ruling, each.decided_at) for each in read.decisions] == [(ALLOW, 5_000 + 3_000)]
    assert row(segment(("permission", 3)), "started").segment().decisions == ()
    assert row(segment(("validate_values", 3), head=header(ruling=ALLOW)), "started").segment().decisions == ()


def test_states_are_told_with_the_time_they_were_entered() -> None:
    made = segment()
    made.states = [3 << 5 | STATES.index("running"), 8 << 5 | STATES.index("succeeded")]
    assert state_times(made) == [("running", 3), ("succeeded", 8)]


def test_a_header_is_read_alone_and_with_its_segment() -> None:
    entry = row(segment(head=header(tool_id="pay")))
    assert entry.header() == header_of(entry.segment()) == header(tool_id="pay")


def test_news_facts_and_payloads_are_read_back() -> None:
    news = row(NewsBody([{"event": "e"}], 4, "none"), "news")
    assert (news.news().sequence, audit_level_of(news)) == (4, "none")
    assert row({"change": "declared"}, "catalog").facts() == {"change": "declared"}
    assert row({}, "catalog").inputs() is None
    assert row({}, payload=encode(Payload(call_input=b"{}"))).inputs() == Payload(call_input=b"{}")


def test_the_audit_level_of_a_call_stands_in_its_header() -> None:
    assert audit_level_of(row(segment(head=header(audit_level="standard")))) == "standard"
    assert audit_level_of(row({}, "catalog")) == ""


@pytest.mark.parametrize("part", ["segment", "header", "facts", "news", "inputs"])
def test_a_row_that_cannot_be_read_is_damaged(part: str) -> None:
    entry = row(b"\xc1", payload=b"\xc1")
    with pytest.raises(LedgerDamaged, match="row 7 of the ledger is damaged"):
        getattr(entry, part)()


def test_a_run_of_a_hook_becomes_the_standards_record() -> None:
    run = HookRun(
        "guard", "pre_tool_use", 1_000_000, 2_000_000, ({"stop": "no"}, {"additional_context": {"type": "text"}})
    )
    record = run.to_record("inv_1", "pay", 10)
    assert record["started_at"] == "1970-01-01T00:00:00.001010Z" and record["ended_at"] == "1970-01-01T00:00:00.002010Z"
    assert record["stop"] == "no" and "permission_result" not in record
    assert record["additional_context"] == [{"type": "text"}]
