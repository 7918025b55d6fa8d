"""The first page: what runs, how it does, who is waited for; and the pure functions that word it."""

from __future__ import annotations

import html
import json
import re
from pathlib import Path
from typing import Any

import pytest

import ferrule
from ferrule.access.keys import Access
from ferrule.access.tokens import KeyLimits
from ferrule.model.approval import APPROVE, CALL
from ferrule.servers.console.home import (
    chart_points,
    percent,
    spark,
    write_failures,
    write_needs,
    write_newer_calls,
    write_sentence,
    write_summary,
)
from tests.driven import driven
from tests.servers.console.browsing import Person, signed_in, text_of
from tests.servers.local_server import InProcessServer, running_server

HOSTILE = "<script>alert(1)</script>\"'><img src=x onerror=alert(2)>"


@ferrule.tool(read_only=True)
def look(word: str) -> str:
    """Look something up."""
    if word == "nothing":
        raise ferrule.ToolFailed("there is nothing")
    return word


@ferrule.tool(approval_required=True)
def pay(amount: int) -> str:
    """Pay somebody."""
    return f"paid {amount}"


TOOLS = (look, pay)


async def call(stand: InProcessServer, tool: str, **arguments: Any) -> str:
    headers = {"Authorization": f"Bearer {stand.read_token()}"}
    reply = await stand.ask("POST", "/v1/calls", {"tool": tool, "arguments": arguments}, headers)
    return str(reply.json()["invocation_id"])


def somebody(stand: InProcessServer, name: str, scopes: list[str], tenant: str | None = None) -> str:
    """A new key."""
    access = Access(stand.app.root)
    return access.add(access.local_owner(), name, scopes, (), KeyLimits(tenant=tenant))[1]


@driven
async def test_an_empty_workspace_teaches_and_shows_no_zero_for_what_nobody_knows(tmp_path: Path) -> None:
    async with running_server(tmp_path, tools=TOOLS, auth=True) as stand:
        page = text_of(await (await signed_in(stand)).see("/"))
        assert "No calls ended in the last hour. Nothing waits for a person." in page
        assert "No calls yet. Connect an agent, or try a tool here." in page
        assert "Errors – no calls yet" in page
        assert "Latency, 95th percentile – without waiting for people" in page
        assert "2 tools 0 agents" in page
        assert "localhost:8787" in page


@driven
async def test_calls_show_in_the_numbers_the_charts_and_the_list(tmp_path: Path) -> None:
    async with running_server(tmp_path, tools=TOOLS, auth=True) as stand:
        person = await signed_in(stand)
        ids = [await call(stand, "look", word=word) for word in ("one", "two", "nothing", HOSTILE)]
        reply = await person.see("/")
        page = text_of(reply)
        assert "25 % of 4 calls in the last hour failed." in page
        assert "1 failed, it was look" in page
        assert HOSTILE not in reply.body.decode()
        value = await person.value("/")
        assert [item["invocation_id"] for item in value["recent"]["items"]] == ids[::-1]
        assert sum(value["now"]["points"]["succeeded"]) == 3
        assert "Of 4 calls in the last hour 3 succeeded and 1 failed." in value["now"]["summary"]


@driven
async def test_the_charts_data_is_in_the_page_and_in_the_part_that_replaces_it(tmp_path: Path) -> None:
    async with running_server(tmp_path, tools=TOOLS, auth=True) as stand:
        person = await signed_in(stand)
        await call(stand, "look", word="one")
        for path in ("/", "/parts/home/now"):
            found = re.search(r'data-points="([^"]*)"', (await person.see(path)).body.decode())
            assert found is not None
            data = json.loads(html.unescape(found[1]))
            assert {len(values) for values in data.values()} == {60}
            assert sum(data["succeeded"]) == 1


@driven
async def test_what_waits_is_said_first_with_its_end_and_leads_to_the_inbox(tmp_path: Path) -> None:
    async with running_server(tmp_path, tools=TOOLS, auth=True) as stand:
        person = await signed_in(stand)
        parked = await call(stand, "pay", amount=3)
        page = await person.see("/")
        assert "1 call waits for a person. The first expires in" in text_of(page)
        assert f'href="/console/inbox/{parked}"' in page.body.decode()
        part = text_of(await person.see("/parts/home/waiting", hx_request="true"))
        assert "pay" in part
        assert "needs one person" in part
        agent = await signed_in(stand, stand.read_token())
        own = text_of(await agent.see("/"))
        assert "1 of your calls waits for a person." in own
        assert "Open the inbox" not in own


@driven
async def test_everybody_sees_as_much_as_they_may(tmp_path: Path) -> None:
    async with running_server(tmp_path, tools=TOOLS, auth=True) as stand:
        await call(stand, "look", word="one")
        for scopes in ([CALL], [APPROVE]):
            person = await signed_in(stand, somebody(stand, f"some {scopes[0]}", scopes))
            value = await person.value("/")
            assert (value["now"]["calls"], value["upstreams"], value["policy"]) == (0, None, None)
            page = await person.see("/")
            assert page.status == 200
            assert str(tmp_path) not in page.body.decode()
            assert ("Recent calls" in text_of(page)) == (scopes == [CALL])
        tenant = await signed_in(stand, somebody(stand, "boss", ["admin"], "acme"))
        assert (await tenant.value("/"))["now"]["covers"] == "tenant"


@driven
async def test_no_token_is_on_the_page_only_the_file_that_holds_it(tmp_path: Path) -> None:
    async with running_server(tmp_path, tools=TOOLS, auth=True) as stand:
        person = await signed_in(stand)
        page = (await person.see("/")).body.decode()
        assert stand.read_token() not in page
        assert stand.owner() not in page
        assert f"Put the content of {tmp_path}/.ferrule/keys/agent.token in place of TOKEN." in page
        for way in ("MCP over HTTP", "MCP over stdio", "Claude Code", "Cursor", "VS Code", "HTTP", "Python"):
            assert f">{way}</button>" in page
        shown = re.findall(r'id="way-([\w-]+)"[^>]*?(hidden)?>', (await person.see("/?client=curl")).body.decode())
        assert [name for name, hidden in shown if not hidden] == ["curl"]


async def recent(person: Person, top: str = "") -> str:
    return text_of(
        await person.see(f"/parts/home/recent?top={top}" if top else "/parts/home/recent", hx_request="true")
    )


@driven
async def test_newer_calls_wait_behind_a_button_and_rows_stay(tmp_path: Path) -> None:
    async with running_server(tmp_path, tools=TOOLS, auth=True) as stand:
        person = await signed_in(stand)
        await call(stand, "look", word="one")
        first = (await person.value("/"))["recent"]["top"]
        for word in ("two", "three"):
            await call(stand, "look", word=word)
        part = await recent(person, first)
        assert "2 newer calls" in part
        assert "one" in part
        assert "three" not in part
        assert "three" in await recent(person)
        assert "three" in await recent(person, "nonsense")


def test_newer_calls_are_counted_as_far_as_was_looked() -> None:
    assert [write_newer_calls(number) for number in (0, 1, 12, 60)] == [
        "",
        "1 newer call",
        "12 newer calls",
        "more than 59 newer calls",
    ]


@driven
async def test_the_definitions_are_checked_behind_the_page_or_when_asked(tmp_path: Path) -> None:
    async with running_server(tmp_path, tools=TOOLS, auth=True) as stand:
        person = await signed_in(stand)
        assert "checking …" in text_of(await person.see("/"))
        assert "0 files, 0 errors" in text_of(await person.see("/?check=1"))
        assert "clean 0 files" in text_of(await person.see("/parts/home/check", hx_request="true"))


@pytest.mark.parametrize(
    ("part", "whole", "said"),
    [
        (0, 0, "–"),
        (0, 10, "0"),
        (1, 3, "33.3"),
        (1, 1, "100"),
        (1, 10_000, "<0.1"),
        (9_999, 10_000, ">99.9"),
        (1, 4, "25"),
    ],
)
def test_a_share_is_never_rounded_to_none_or_all(part: int, whole: int, said: str) -> None:
    assert percent(part, whole) == said


def activity(**changes: Any) -> dict[str, Any]:
    minute = {"at": "2026-01-01T12:00:00.000000Z", "succeeded": 0, "failed": 0, "denied": 0, "canceled": 0,
              "p50_ms": None, "p95_ms": None, "p99_ms": None}  # fmt: skip
    whole = {**minute, "covers": "everybody", "calls": 0, "failing": [], "minutes": [minute] * 60}
    return {**whole, **changes}


def test_the_first_sentence_says_how_it_does() -> None:
    assert write_sentence(activity()) == "No calls ended in the last hour."
    assert write_sentence(activity(calls=1)) == "1 call ended in the last hour, and none failed."
    assert write_sentence(activity(calls=2600, failed=26)) == "1 % of 2,600 calls in the last hour failed."


def test_failures_name_the_tool_that_failed_most() -> None:
    assert write_failures(
        activity(calls=5, failed=3, failing=[{"tool": "pay", "calls": 2}, {"tool": "", "calls": 1}])
    ) == ("3 failed, 2 of them pay")
    assert (
        write_failures(activity(calls=5, failed=2, failing=[{"tool": "pay", "calls": 2}]))
        == "2 failed, all of them pay"
    )
    assert write_failures(activity(calls=5, failed=9, failing=[{"tool": "", "calls": 9}])) == "9 failed"
    assert write_failures(activity(calls=5)) == "none failed in the last hour"


def test_the_charts_are_told_in_words() -> None:
    minutes = [{**activity()["minutes"][0], "at": f"2026-01-01T12:{number:02}:00.000000Z"} for number in range(60)]
    minutes[12] = {**minutes[12], "failed": 5}
    told = write_summary(
        activity(calls=12, succeeded=6, failed=5, denied=1, p50_ms=19.2, p95_ms=142.0, p99_ms=1500.0, minutes=minutes)
    )
    assert told == (
        "Of 12 calls in the last hour 6 succeeded, 5 failed and 1 denied. Half took 19 ms or less, 95 of 100 142 ms or less,"
        " 99 of 100 1.5 s or less. Most failures came at 12:12 UTC: 5 in that minute."
    )


def test_small_charts_stay_in_their_box() -> None:
    drawn = spark([0, 5, 10])
    assert drawn["line"] == "M0.0 28.0L50.0 15.0L100.0 2.0"
    assert drawn["area"].startswith("M0 30L0.0 28.0") and drawn["area"].endswith("L100 30Z")
    assert spark([0, 0])["line"] == "M0.0 28.0L100.0 28.0"
    assert spark([]) == {"line": "", "area": ""}


def test_points_are_seconds_milliseconds_and_calls() -> None:
    drawn = chart_points(activity(minutes=[{**activity()["minutes"][0], "p95_ms": 4.5, "denied": 2}])["minutes"])
    assert (drawn["at"], drawn["p95"], drawn["p50"], drawn["denied"]) == ([1767268800], [4.5], [None], [2])


def test_what_a_waiting_call_needs_is_said_in_a_few_words() -> None:
    item = {"purpose": "approval", "approvals": [], "people": 1}
    assert write_needs(item) == "needs one person"
    assert write_needs({**item, "people": 2, "approvals": [{}]}) == "needs 1 of 2 people"
    assert write_needs({**item, "purpose": "input"}) == "needs an answer"
