"""`ferrule log` and `ferrule explain`, over a ledger in memory."""

from __future__ import annotations

import asyncio
import json
from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager
from pathlib import Path
from typing import NamedTuple

import pytest
from click.testing import CliRunner

from ferrule.cli import call_lookup, explain, log
from ferrule.cli.explain import considered
from ferrule.cli.show.story_text import story_lines
from ferrule.contracts.store import Store
from ferrule.errors import WorkspaceError
from ferrule.ledger.history.story import story_of
from ferrule.ledger.stores.memory.store import MemoryStore
from ferrule.model.journal import Payload
from ferrule.workspace.workspace import Workspace
from tests.cli.run import ferrule
from tests.ledger.history.rows import NOON, SCENARIOS, Ledger, Writer, crashed, parked, result_of


class Told(NamedTuple):
    code: int
    out: str


Run = Callable[..., Told]


@pytest.fixture
def ledger() -> Ledger:
    return Ledger()


@pytest.fixture
def run(ledger: Ledger, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Run:
    """Runs a command on a ledger that has the rows written to `ledger` so far."""

    @asynccontextmanager
    async def open_store(path: str) -> AsyncIterator[Store]:
        store = MemoryStore()
        await store.open()
        for entry in ledger.entries:
            await store.commit(entry)
        yield store
        await store.aclose()

    monkeypatch.setattr(call_lookup, "_open_store", open_store)

    def go(command: str, *arguments: str) -> Told:
        module = {"log": log, "explain": explain}[command]
        ran = CliRunner().invoke(module.command, [*arguments, "--workspace", str(tmp_path)], standalone_mode=False)
        if ran.exception is not None:
            raise ran.exception
        return Told(ran.return_value, ran.output)

    return go


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


def test_nothing_yet(run: Run) -> None:
    assert run("log").out == "no calls found\n"
    assert run("log", "--json").out == ""
    with pytest.raises(WorkspaceError, match="no call was made here yet"):
        run("explain", "last")


def test_following_shows_what_comes(ledger: Ledger, capsys: pytest.CaptureFixture[str]) -> None:
    """From any process: rows that another store writes are shown, waiting calls too, and each end once."""

    async def main() -> None:
        mine = MemoryStore()
        other = mine.sibling()
        await mine.open()
        await other.open()
        SCENARIOS["success"](ledger)
        before = (await other.commit(ledger.entries[0])).seq
        following = asyncio.create_task(log._follow(mine, before, log.Wanted(), log._Printer(True, None)))
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


def test_the_story_of_a_call(ledger: Ledger, run: Run) -> None:
    """AT-143: surface, inputs, decision, approver, phases, states, result and rows on one page."""
    SCENARIOS["approved_edited"](ledger)
    page = run("explain", "inv_approved_edited").out
    for words in (
        "orders.refund-order@1.2.0", "alice through support-agent", "surface           srf_1",
        "amount: 120 -> 90", "by bob (permission prompt): 90 is enough", "rule refunds from policy_settings",
        "who may answer    group:finance", "approved          2026-01-01 12:10:00.000 by bob over token:owner",
        "emit_terminal", "awaiting_approval", '{"refund": "r-2"}', "row 4",
    ):  # fmt: skip
        assert words in page, words
    assert max(map(len, page.splitlines())) <= 100


@pytest.mark.parametrize("scenario", SCENARIOS)
def test_every_story_fits_the_page(ledger: Ledger, run: Run, scenario: str) -> None:
    call = SCENARIOS[scenario](ledger)
    page = run("explain", call).out
    assert page.startswith(call)
    assert max(map(len, page.splitlines())) <= 100


def test_a_story_that_goes_on_says_what_it_waits_for(ledger: Ledger, run: Run) -> None:
    parked(ledger)
    page = run("explain", "last").out
    assert "ferrule approve inv_parked" in page
    assert "  execute                   not told yet\n" in page and "did not run" not in page, "nobody knows that yet"
    crashed(ledger)
    assert "nobody knows whether the tool acted" in run("explain", "last").out


def _with_news(ledger: Ledger) -> None:
    """A call that was canceled, with everything that can be told about one."""
    second = 1_000_000
    records = [{"sequence": number, "status": "running", "percent": number * 10} for number in range(1, 6)]
    records[4] |= {"message": "almost\x1b[2J there", "current_step": "5", "total_steps": 9, "bytes_read": 77}
    ledger.news("inv_canceled", "progress", *records)
    ledger.news("inv_canceled", "progress", {"sequence": 6, "status": "running"})
    asked = {"by": "ada", "reason": "took too long", "abort_reason": "user_interruption"}
    ledger.news("inv_canceled", "cancel_requested", asked, at=NOON + second)
    ledger.news("inv_canceled", "cancel_acknowledged", {}, at=NOON + second)
    SCENARIOS["canceled"](ledger)
    late = Payload(result=result_of({"refund": "r-9"}))
    ledger.news("inv_canceled", "late_result", {"status": "succeeded"}, at=NOON + 9 * second, payload=late)


def test_the_story_of_a_call_tells_its_news(ledger: Ledger, run: Run) -> None:
    """AT-177, AT-207: progress, who wanted it stopped and what came of that, and what came too late."""
    _with_news(ledger)
    page = run("explain", "inv_canceled").out
    for words in (
        "told              6 times, the last 3:", "number 4", "running, 40%", "step 5 of 9, bytes read 77: almost",
        "requested         2026-01-01 12:00:01.000 by ada, user interruption: took too long",
        "acknowledged      2026-01-01 12:00:01.000", "canceled", "late result",
        "came              2026-01-01 12:00:09.000, recorded and not delivered", '{"refund": "r-9"}',
        "cancel_requested", "and 2 rows of progress", "abort reason      user interruption",
    ):  # fmt: skip
        assert words in page, words
    assert "number 3" not in page
    assert "\x1b" not in page
    assert max(map(len, page.splitlines())) <= 100
    record = json.loads(run("explain", "inv_canceled", "--json").out)
    assert [one["sequence"] for one in record["progress"]] == [1, 2, 3, 4, 5, 6]
    assert record["cancellations"][0]["outcome"] == "canceled"
    assert record["late_results"][0]["structured_content"] == {"refund": "r-9"}


def test_a_story_tells_how_it_was_scheduled_tried_and_kept(ledger: Ledger, run: Run) -> None:
    """Each only where there is something to tell."""
    notes = {
        "scheduler": {
            "is_concurrency_safe": False, "is_read_only": True, "waited_ms": 1500,
            "resource_locks": [{"key": "order:o-17", "mode": "shared"}],
        },
        "batch": {"batch_id": "bat_1", "index": 2, "depends_on": ["inv_0"]},
        "attempts": [[1, 0, 2_000_000, "rate_limited", "throttled", 0.5, "http:429"]],
        "redactions": ["card", "api-key"],
        "abort_reason": "sibling_error",
        "persistence": {"strategy": "preview_and_persist", "original_size_bytes": 70000, "persisted_ref": {"uri": "p:1"}},
        "context_modifiers": [{"working_directory": "/srv"}],
    }  # fmt: skip
    writer = Writer(ledger, "inv_1").enter("planned", "selected", "arguments_ready", "running", "succeeded")
    writer.row("call", status="succeeded", notes=notes)
    page = run("explain", "last").out
    for words in (
        "facts             not concurrency safe, read only", "locks             order:o-17 (shared)", "waited            1.5 s",
        "batch             bat_1, number 2, after inv_0",
        "attempt 1         rate_limited (throttled) in 2 ms, http:429; the next came 500 ms later",
        "kept              preview and persist, 70,000 bytes in p:1", "taken out         card, api-key",
        'context           {"working_directory": "/srv"}', "abort reason      sibling error",
    ):  # fmt: skip
        assert words in page, words
    SCENARIOS["success"](ledger)
    plain = run("explain", "inv_success").out
    for heading in ("scheduling", "attempts", "progress", "cancel", "late result", "kept", "abort reason"):
        assert f"\n{heading}\n" not in plain and f"  {heading} " not in plain


@pytest.mark.parametrize("value", [7, "x", ["x", 7], {"x": None}, [[1]], {"facts": 3}, None])
def test_notes_of_any_shape_do_not_hide_a_story(ledger: Ledger, run: Run, value: object) -> None:
    names = ("scheduler", "batch", "attempts", "redactions", "abort_reason", "persistence", "context_modifiers")
    writer = Writer(ledger, "inv_1").enter("planned", "selected", "arguments_ready", "running", "succeeded")
    writer.row("call", status="succeeded", notes=dict.fromkeys(names, value))
    assert run("explain", "last").out.startswith("inv_1 ")


def test_the_last_call_is_the_one_that_was_begun_last(ledger: Ledger, run: Run) -> None:
    """Whoever cancels `last` means the call just made, not an older one that moved after it."""
    older = parked(ledger, "inv_older")
    newer = Writer(ledger, "inv_newer", created_at=NOON + 5_000_000)
    newer.enter("planned", "selected", "arguments_ready", "running").row("started")
    older.enter("canceled").row("ended", status="canceled")
    assert run("explain", "last").out.startswith("inv_newer ")
    assert run("log").out.splitlines()[-1].split()[2] == "inv_newer"


def test_the_log_is_not_confused_by_news(ledger: Ledger, run: Run) -> None:
    _with_news(ledger)
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


def test_an_id_may_be_shortened(ledger: Ledger, run: Run) -> None:
    for name in ("denied", "disabled_while_parked", "success"):
        SCENARIOS[name](ledger)
    assert run("explain", "inv_den").out.startswith("inv_denied ")
    assert run("explain", "suc").out.startswith("inv_success ")
    with pytest.raises(WorkspaceError, match="2 calls begin with 'inv_d'"):
        run("explain", "inv_d")
    with pytest.raises(WorkspaceError, match="did you mean 'inv_denied'"):
        run("explain", "inv_denyed")
    with pytest.raises(WorkspaceError, match="'ferrule log' lists them"):
        run("explain", "zzzz")


def test_json_and_events_of_a_call(ledger: Ledger, run: Run) -> None:
    SCENARIOS["success"](ledger)
    SCENARIOS["denied"](ledger)
    assert json.loads(run("explain", "last", "--json").out)["result"]["error"]["error_class"] == "permission_denied"
    events = [json.loads(line) for line in run("explain", "last", "--events", "--json").out.splitlines()]
    assert {event["invocation_id"] for event in events} == {"inv_denied"}
    assert "tool.permission.decided" in run("explain", "last", "--events").out


RULES = """
[[rules]]
id = "replies"
tool = "send-reply"
decision = "ask"

[[rules]]
id = "long-replies"
tool = "send-reply"
decision = "deny"
when = { text = { matches = "^never$" } }

[[rules]]
id = "others"
tool = "find-customer"
decision = "allow"
"""


def test_rules_that_matched_and_those_that_did_not(
    workspace: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """AT-143: which rules of the policy fit the call, and what the others missed."""
    monkeypatch.setenv("HOME", str(tmp_path))
    monkeypatch.delenv("XDG_CONFIG_HOME", raising=False)
    (workspace / "policy.toml").write_text(RULES)
    assert ferrule("build", folder=workspace).code == 0
    ledger = Ledger()
    writer = Writer(ledger, "inv_1", tool="send-reply", version="1.0.0").enter("planned", "selected", "arguments_ready")
    writer.decide("deny").enter("denied").row("call", status="denied", inputs={"text": "hello", "to": "[REDACTED]"})
    told = considered(story_of(ledger.rows), Workspace.open(workspace))
    assert [(rule.rule_ref, rule.behavior, rule.is_matched) for rule in told.rules] == [
        ("replies", "ask", True),
        ("long-replies", "deny", False),
        ("others", "allow", False),
    ]
    assert "`when" in told.rules[1].why and "`tool` does not fit" in told.rules[2].why
    assert "the policy has changed since" in told.remark and "masked" in told.remark
    page = "\n".join(story_lines(story_of(ledger.rows, rules=lambda story: told), str))
    assert "matched           replies (ask, policy_settings): every matcher fits" in page


def test_rules_that_cannot_be_told_say_why(workspace: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("HOME", str(tmp_path))
    ledger = Ledger()
    SCENARIOS["denied"](ledger)
    told = story_of(ledger.rows)
    assert "not in the sealed catalog" in considered(told, Workspace.open(workspace)).remark
    (workspace / "policy.toml").write_text("[[rules]]\n")
    assert "cannot be told" in considered(told, Workspace.open(workspace)).remark
    SCENARIOS["unknown_tool"](ledger)
    assert considered(story_of(ledger.rows[1:]), Workspace.open(workspace)).remark == ""


def test_control_characters_do_not_reach_the_terminal(ledger: Ledger, run: Run) -> None:
    writer = Writer(ledger, "inv_1", tool="unknown:\x1b[2J", principal="al\x07ice").enter("planned", "failed")
    writer.row("call", status="failed", error=writer.error("unknown_tool", "no tool \x1b[2J"), inputs={"x": "\x1b[31m"})
    for out in (run("explain", "inv_1").out, run("log").out, run("log", "--events").out):
        assert "\x1b" not in out and "\x07" not in out


def test_durations_for_people() -> None:
    told = [call_lookup.lasted(value) for value in (None, 0.0004, 0.0123, 9.5, 250, 12_345, 65_000, 60_000, 7_440_000)]
    assert told == ["-", "0 ms", "0.0123 ms", "9.5 ms", "250 ms", "12.3 s", "1 min 5 s", "1 min", "2 h 4 min"]
