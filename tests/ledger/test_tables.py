"""The tables that follow from marks: open calls, keys, counters of runs, switches."""

from __future__ import annotations

from ferrule.ledger.tables import ALL_TOOLS, KeyRow, Tables
from ferrule.model.journal import Mark


def test_a_call_is_open_with_its_latest_row_until_a_mark_without_a_state() -> None:
    tables = Tables()
    tables.apply_mark("parked", "c1", 3, Mark(state="awaiting_approval", tool_id="demo.pay", principal="ada"))
    tables.apply_mark("started", "c1", 5, Mark(state="running", owner="here", tool_id="demo.pay", principal="ada"))
    found = tables.open_calls["c1"]
    assert (found.state, found.owner, found.principal, found.seq) == ("running", "here", "ada", 5)
    tables.apply_mark("ended", "c1", 6, Mark())
    assert tables.open_calls == {}
    tables.apply_mark("ended", "c2", 7, Mark())
    assert tables.open_calls == {}


def test_a_key_belongs_to_the_call_that_brought_it_also_after_its_end() -> None:
    tables = Tables()
    tables.apply_mark("started", "c1", 1, Mark(state="running", key=b"k", input_digest=b"d"))
    tables.apply_mark("ended", "c1", 2, Mark())
    assert tables.keys == {b"k": KeyRow("c1", b"d", 1)}


def test_a_run_counts_each_tool_and_all_of_them() -> None:
    tables = Tables()
    for seq, tool in enumerate(("demo.a", "demo.b", "demo.a")):
        tables.apply_mark("call", f"c{seq}", seq, Mark(counted_run="r1", tool_id=tool))
    assert [tables.count_calls("r1", tool) for tool in ("demo.a", "demo.b", "demo.c", ALL_TOOLS)] == [2, 1, 0, 3]
    assert tables.count_calls("r2", ALL_TOOLS) == 0


def test_a_tool_is_off_from_the_row_that_turned_it_off_until_it_is_on_again() -> None:
    tables = Tables()
    tables.apply_mark("switch", "", 4, Mark(tool_id="demo.pay", switch="off"))
    tables.apply_mark("switch", "", 5, Mark(tool_id="demo.add", switch="on"))
    assert tables.switches == {"demo.pay": 4}
    tables.apply_mark("call", "c1", 6, Mark(tool_id="demo.pay", switch="on"))
    assert tables.switches == {"demo.pay": 4}, "only a row of that kind turns a tool on"
    tables.apply_mark("switch", "", 7, Mark(tool_id="demo.pay", switch="on"))
    assert tables.switches == {}
