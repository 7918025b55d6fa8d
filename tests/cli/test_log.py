"""`ferrule log`, over a ledger in memory."""

from __future__ import annotations

import asyncio
import json

import pytest

from ferrule.cli import log
from ferrule.errors import WorkspaceError
from ferrule.ledger.stores.memory.store import MemoryStore
from tests.cli.ledger_runs import Run, write_news
from tests.ledger.history.rows import SCENARIOS, Ledger, Writer, parked


def test_one_line_per_call_the_newest_last(ledger: Ledger, run: Run) -> None:
    for number, name in enumerate(SCENARIOS):
        writer = Writer(ledger, f"inv_{number}", created_at=1_767_268_800_000_000 + number)
        writer.enter("planned", "selected", "arguments_ready").through("permission").decide("allow")
        writer.enter("running", "succeeded").row("call", status="succeeded")
        assert name
    lines = run("log", "-n", "5").out.splitlines()
    assert [line.split()[2] for line in lines] == [f"inv_{len(SCENARIOS) - 5 + number}" for number in range(5)]
    assert lines[0].startswith("2026-01-01 12:00:00.000  inv_")
    assert lines[0].split()[3:6] == ["orders.refund-order", "alice", "succeeded"]
    assert lines[0].endswith("allow")


def test_calls_of_several_rows_are_one_line(ledger: Ledger, run: Run) -> None:
    SCENARIOS["approved_edited"](ledger)
    SCENARIOS["rejected"](ledger)
    parked(ledger)
    lines = run("log").out.splitlines()
    assert len(lines) == 3
    assert "allow by bob" in lines[0] and "10 min" in lines[0]
    assert "approval_rejected" in lines[1]
    assert "awaiting_approval" in lines[2]


@pytest.mark.parametrize(
    ("options", "ids"),
    [
        (("--status", "denied"), ["inv_denied", "inv_rejected"]),
        (("--status", "awaiting_approval"), ["inv_parked"]),
        (("--tool", "kb.search"), ["inv_success"]),
        (("--tool", "search"), ["inv_success"]),
        (("--principal", "carol"), ["inv_carol"]),
        (("--principal", "nobody"), []),
    ],
)
def test_filters(ledger: Ledger, run: Run, options: tuple[str, ...], ids: list[str]) -> None:
    for name in ("success", "denied", "approved_edited", "rejected"):
        SCENARIOS[name](ledger)
    parked(ledger)
    writer = Writer(ledger, "inv_carol", principal="carol").enter("planned", "failed")
    writer.row("call", status="failed", error=writer.error("unknown_tool"))
    out = run("log", *options, "--json").out
    assert sorted(json.loads(line)["invocation_id"] for line in out.splitlines()) == sorted(ids)
    if not ids:
        assert run("log", *options).out == "no calls found\n"


def test_events_in_the_log(ledger: Ledger, run: Run) -> None:
    SCENARIOS["success"](ledger)
    ledger.fact("switch", tool_id="kb.search", to="off", by="alice", reason="")
    out = run("log", "--events", "-n", "3").out.splitlines()
    assert [line.split()[2] for line in out] == ["tool.result.created", "tool.invocation.succeeded", "tool.switched"]
    records = [json.loads(line) for line in run("log", "--events", "--json", "--tool", "kb.search").out.splitlines()]
    assert records[0]["event_id"] == "evt_2_0"  # row 1 is that the ledger was opened
    assert records[-1]["event_type"] == "tool.switched"
    only = run("log", "--events", "--json", "--principal", "alice").out.splitlines()
    assert len(only) == len(records) - 1


def test_following_shows_what_comes(ledger: Ledger, capsys: pytest.CaptureFixture[str]) -> None:
    """From any process: rows that another store writes are shown, waiting calls too, and each end once."""

    async def main() -> None:
        mine = MemoryStore()
        other = mine.sibling()
        await mine.open()
        await other.open()
        SCENARIOS["success"](ledger)
        before = (await other.commit(ledger.entries[0])).seq
        following = asyncio.create_task(log._follow(mine, before, log.LogFilter(), log._Printer(True, None)))
        SCENARIOS["approved_edited"](ledger)
        for entry in ledger.entries[1:]:
            await other.commit(entry)
        shown = ""
        async with asyncio.timeout(10):
            while shown.count("\n") < 2:
                await asyncio.sleep(0.01)
                shown += capsys.readouterr().out
        following.cancel()
        await asyncio.gather(following, return_exceptions=True)
        for store in (other, mine):
            await store.aclose()
        lines = [json.loads(line) for line in shown.splitlines()]
        assert [line["status"] for line in lines] == ["awaiting_approval", "succeeded"]

    asyncio.run(main())


def test_following_ends_with_ctrl_c(run: Run, monkeypatch: pytest.MonkeyPatch) -> None:
    async def interrupted(*_: object) -> None:
        raise KeyboardInterrupt

    monkeypatch.setattr(log, "_follow", interrupted)
    assert run("log", "--follow").code == 0


def test_the_log_is_not_confused_by_news(ledger: Ledger, run: Run) -> None:
    write_news(ledger)
    ledger.news("inv_crashed", "progress", {"sequence": 1})
    (line,) = run("log").out.splitlines()
    assert "inv_canceled" in line
    assert run("explain", "last").out.startswith("inv_canceled ")
    events = run("log", "--events", "-n", "100").out.splitlines()
    assert sum("tool.invocation.progress" in line for line in events) == 7
    assert any("cancel_requested" in line and "user_interruption" in line for line in events)
    of_alice = run("log", "--events", "-n", "100", "--principal", "alice").out
    assert "inv_crashed" not in of_alice and "late_result" in of_alice
    assert "late_result" not in run("log", "--events", "-n", "100", "--principal", "bob").out
    told = [json.loads(line) for line in run("explain", "inv_canceled", "--events", "--json").out.splitlines()]
    assert [one["seq"] for one in told] == sorted(one["seq"] for one in told)
    assert told[0]["data"]["percent"] == 10
    assert told[-1]["event_type"] == "tool.invocation.late_result"
    with pytest.raises(WorkspaceError, match="of inv_crashed there is only news"):
        run("explain", "inv_crashed")
