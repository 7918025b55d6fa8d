"""The list of calls, and the page of one, as a person gets them."""

from __future__ import annotations

import asyncio
import time
from html.parser import HTMLParser
from pathlib import Path
from typing import Any

import ferrule
from ferrule.access.keys import Access
from ferrule.access.tokens import KeyLimits
from ferrule.contracts.executor import Context
from ferrule.model.approval import CALL
from ferrule.servers.console.calls.invocations import CallListFilters, sentence_of, strip_of
from tests.driven import driven
from tests.servers.console.browsing import Person, signed_in, text_of
from tests.servers.console.many_calls import busy_workspace
from tests.servers.local_server import InProcessServer, running_server

HOSTILE = """<script>alert(1)</script>'"><img src=x onerror=alert(1)>"""
gates: dict[str, asyncio.Event] = {}


@ferrule.tool(read_only=True, open_world=False, concurrency_safe=True)
def search(query: str) -> dict[str, Any]:
    """Search."""
    return {"found": [query], "count": 1}


@ferrule.tool(read_only=True)
def fail(why: str) -> str:
    """Fail."""
    raise ferrule.ToolFailed(why)


@ferrule.tool(approval_required=True)
def pay(amount: int, note: str = "") -> dict[str, int]:
    """Pay."""
    return {"paid": amount}


@ferrule.tool(read_only=True)
async def slow(context: Context, gate: str) -> str:
    """Take long."""
    context.progress("half way", percent=50)
    await gates[gate].wait()
    return "done"


@ferrule.tool(read_only=True)
def report(size: int) -> str:
    """Write much."""
    return "0123456789" * (size // 10)


TOOLS = (search, fail, pay, slow, report)
TOML = "[results]\nmax_inline_chars = 1000\npreview_chars = 100\n"


async def called(stand: InProcessServer, tool: str, principal: str = "ada", **arguments: Any) -> str:
    return str((await stand.app.surface(principal=principal).call(tool, arguments)).invocation_id)


async def decided(person: Person, call: str, verb: str, **body: Any) -> None:
    headers = {"Authorization": f"Bearer {person.stand.owner()}"}
    reply = await person.stand.ask("POST", f"/v1/approvals/{call}/{verb}", body or b"", headers)
    assert reply.status == 200, reply


@driven
async def test_the_list_opens_with_a_sentence_and_shows_the_newest_first(tmp_path: Path) -> None:
    async with running_server(tmp_path, tools=TOOLS, auth=True) as stand:
        person = await signed_in(stand)
        first = await called(stand, "search", query="le guin")
        await called(stand, "fail", why="no paper")
        waiting = await called(stand, "pay", amount=3)
        page = await person.see("/invocations")
        text = text_of(page)
        assert "2 calls ended in the last 24 hours, 1 failed or timed out. 1 waits for a person." in text
        body = page.body.decode()
        assert body.index(waiting) < body.index(first)
        assert '{"query": "le guin"}' in text
        value = await person.value("/invocations")
        assert [row["tool"] for row in value["rows"]] == ["pay", "fail", "search"]
        assert {chip["standing"]: chip["count"] for chip in value["chips"]}["waiting"] == 1


@driven
async def test_every_filter_is_in_the_address(tmp_path: Path) -> None:
    async with running_server(tmp_path, tools=TOOLS, auth=True) as stand:
        person = await signed_in(stand)
        await called(stand, "search", query="le guin")
        await called(stand, "search", "bob", query="dune")
        await called(stand, "fail", why="no paper")
        await called(stand, "pay", amount=3)

        async def tools(query: str) -> list[str]:
            return [row["tool"] for row in (await person.value(f"/invocations?{query}"))["rows"]]

        assert await tools("state=failed") == ["fail"]
        assert await tools("state=waiting&range=hour") == ["pay"]
        assert await tools("tool=search") == ["search", "search"]
        assert await tools("for=bob") == ["search"]
        assert await tools("q=DUNE") == ["search"]
        assert await tools("q=nothing+like+it") == []
        assert await tools("since=2999-01-01T00:00:00Z") == []
        assert len(await tools("state=nonsense&range=nonsense&color=red")) == 4
        page = await person.see("/invocations?state=failed&tool=fail&q=paper")
        assert 'aria-current="true"' in page.body.decode()
        assert 'value="paper"' in page.body.decode()
        empty = await person.see("/invocations?q=nothing")
        assert "No call matches" in text_of(empty)
        assert (await person.see("/invocations?since=yesterday")).status == 400


@driven
async def test_newer_calls_are_counted_and_not_put_in(tmp_path: Path) -> None:
    async with running_server(tmp_path, tools=TOOLS, auth=True) as stand:
        person = await signed_in(stand)
        await called(stand, "search", query="first")
        address = (await person.value("/invocations"))["newer"].removeprefix("/console")
        assert "No newer calls" in text_of(await person.see(address, hx_request="true"))
        for _ in range(3):
            await called(stand, "search", query="more")
        await called(stand, "fail", why="x")
        assert "4 newer calls" in text_of(await person.see(address, hx_request="true"))
        assert "1 newer call" in text_of(await person.see(f"{address}&state=failed", hx_request="true"))
        fresh = (await person.value("/invocations"))["newer"].removeprefix("/console")
        assert "No newer calls" in text_of(await person.see(fresh, hx_request="true"))


@driven
async def test_a_page_of_calls_leads_to_the_next(tmp_path: Path) -> None:
    ids = await busy_workspace(tmp_path, 120)
    async with running_server(tmp_path, tools=TOOLS, auth=True) as stand:
        person = await signed_in(stand)
        found, address = [], "/invocations?range=all"
        while address:
            page = await person.value(address)
            found += [row["id"] for row in page["rows"]]
            address = page["older"].removeprefix("/console")
        assert found == ids[::-1]
        assert "50 calls" in text_of(await person.see("/invocations"))


@driven
async def test_the_story_of_a_call_that_a_person_changed(tmp_path: Path) -> None:
    async with running_server(tmp_path, tools=TOOLS, auth=True) as stand:
        person = await signed_in(stand)
        call = await called(stand, "pay", amount=84, note="fee")
        waits = await person.see(f"/invocations/{call}")
        assert "ada called pay; its definition requires approval; it waits for approval." in text_of(waits)
        assert "hx-get" in waits.body.decode().partition('id="story"')[2][:200]
        await decided(person, call, "approve", reason="less is enough", input={"amount": 72, "note": "fee"})
        await stand.app.result(call, wait=10)
        page = await person.see(f"/invocations/{call}")
        text, value = text_of(page), await person.value(f"/invocations/{call}")
        assert "approved it and changed amount; it succeeded." in text
        assert "less is enough" in text
        phases = {row["phase"]: row for row in value["timeline"]["phases"]}
        assert len(phases) == 13
        assert phases["permission"]["kind"] == "wait" and phases["permission"]["is_open"]
        assert any(bar["is_hatched"] and bar["class"] == "g-wait" for bar in phases["permission"]["bars"])
        cells = next(row for row in value["inputs"]["rows"] if row["field"] == "amount")["cells"]
        assert [cell["text"] for cell in cells] == ["84", "84", "84", "72"]
        assert (cells[3]["is_person"], cells[1]["is_same"]) == (True, True)
        assert value["decision"]["edits"][0]["after"] == 72
        assert (value["chain"]["word"], value["chain"]["is_intact"]) == ("intact", True)
        assert f"/console/try/pay?from={call}" in page.body.decode()
        assert 'id="story">' in page.body.decode(), "a call that has ended is not asked for again"
        part = await person.see(f"/invocations/{call}", hx_request="true")
        assert "<html" not in part.body.decode() and "Thirteen phases" in part.body.decode()


@driven
async def test_the_story_of_calls_that_ended_otherwise(tmp_path: Path) -> None:
    async with running_server(tmp_path, tools=TOOLS, auth=True) as stand:
        person = await signed_in(stand)
        failed = await called(stand, "fail", why="no more paper")
        unfit = await called(stand, "search", query=[1])
        unknown = await called(stand, "nothing_like_it")
        rejected = await called(stand, "pay", amount=1)
        await decided(person, rejected, "reject", reason="asked twice")
        told = {name: await person.value(f"/invocations/{call}") for name, call in
                (("failed", failed), ("unfit", unfit), ("unknown", unknown), ("rejected", rejected))}  # fmt: skip
        assert "it failed: no more paper" in told["failed"]["sentence"]["lead"]
        assert told["rejected"]["stands"] == {"kind": "deny", "word": "rejected"}
        assert "rejected it" in told["rejected"]["sentence"]["lead"]
        for name, phase, kind in (("failed", "execute", "bad"), ("unfit", "parse_schema", "bad"),
                                  ("unknown", "resolve_tool", "bad"), ("rejected", "permission", "deny")):  # fmt: skip
            rows = {row["phase"]: row for row in told[name]["timeline"]["phases"]}
            assert (rows[phase]["kind"], rows[phase]["is_open"]) == (kind, True), name
        assert {row["phase"]: row["kind"] for row in told["unfit"]["timeline"]["phases"]}["execute"] == "skip"
        for call in (failed, unfit, unknown, rejected):
            assert (await person.see(f"/invocations/{call}")).status == 200
        assert (await person.see("/invocations/inv_00000000000000000000dead")).status == 404


@driven
async def test_a_running_call_is_live_and_can_be_canceled(tmp_path: Path) -> None:
    async with running_server(tmp_path, tools=TOOLS, auth=True) as stand:
        person = await signed_in(stand)
        gates["one"] = asyncio.Event()
        run = await stand.app.surface(principal="ada").begin("slow", {"gate": "one"})
        call = run.invocation_ids[0]
        soon = await person.see(f"/invocations/{call}")
        assert soon.status == 200
        while not await stand.app.store.rows_of(call):
            await asyncio.sleep(0.02)
        value = await person.value(f"/invocations/{call}")
        rows = {row["phase"]: row for row in value["timeline"]["phases"]}
        assert (rows["execute"]["kind"], rows["map_result"]["kind"]) == ("run", "queue")
        assert value["quiet_seconds"] is not None and value["is_cancelable"]
        page = (await person.see(f"/invocations/{call}")).body.decode()
        assert "data-quiet" in page and "Cancel this call" in page
        listed = await person.see(f"/invocations/{call}/row", hx_request="true")
        assert "running" in text_of(listed) and "hx-get" in listed.body.decode()
        done = await person.send(f"/invocations/{call}/cancel", {})
        assert (done.status, done.headers["location"]) == (303, f"/console/invocations/{call}")
        await run.wait()
        assert (await person.value(f"/invocations/{call}"))["stands"]["word"] == "canceled"
        assert (await person.send(f"/invocations/{call}/cancel", {}, proof="wrong")).status == 403


@driven
async def test_stored_results_are_saved_and_never_shown(tmp_path: Path) -> None:
    async with running_server(tmp_path, tools=TOOLS, auth=True, toml=TOML) as stand:
        person = await signed_in(stand)
        call = await called(stand, "report", size=5000)
        value = await person.value(f"/invocations/{call}")
        assert len(value["stored"]) == 1
        page = await person.see(f"/invocations/{call}")
        assert f"/console/invocations/{call}/payloads/0" in page.body.decode()
        saved = await person.see(f"/invocations/{call}/payloads/0")
        assert saved.status == 200 and b"0123456789" * 500 in saved.body
        assert saved.headers["content-disposition"].startswith("attachment")
        assert (await person.see(f"/invocations/{call}/payloads/7")).status == 404


class _Tags(HTMLParser):
    def __init__(self) -> None:
        super().__init__()
        self.found: list[tuple[str, dict[str, str | None]]] = []

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.found.append((tag, dict(attrs)))


def assert_tame(body: str) -> None:
    """Fails when words became marks: a script of theirs, an image, a handler, a style."""
    tags = _Tags()
    tags.feed(body)
    for tag, attributes in tags.found:
        assert tag not in ("img", "iframe", "style")
        assert tag != "script" or (attributes.get("src") or "").startswith("/console/static/")
        assert not [name for name in attributes if name.startswith("on") or name == "style"]


@driven
async def test_hostile_words_are_only_words(tmp_path: Path) -> None:
    async with running_server(tmp_path, tools=TOOLS, auth=True) as stand:
        person = await signed_in(stand)
        good = await called(stand, "search", HOSTILE[:60], query=HOSTILE)
        bad = await called(stand, "fail", why=HOSTILE)
        odd = str((await stand.app.surface(principal="ada").call(HOSTILE, {HOSTILE: HOSTILE})).invocation_id)
        asked = await called(stand, "pay", amount=1, note=HOSTILE)
        await decided(person, asked, "reject", reason=HOSTILE)
        paths = ["/invocations", "/invocations?q=%3Cscript%3Ealert(1)%3C%2Fscript%3E&tool=%22%3E%3Cimg", "/batches"]
        for path in [*paths, *(f"/invocations/{call}" for call in (good, bad, odd, asked))]:
            for more in ({}, {"hx_request": "true"}):
                reply = await person.see(path, **more)
                body = reply.body.decode()
                assert reply.status == 200, path
                assert_tame(body)


@driven
async def test_a_caller_sees_its_own_calls_alone(tmp_path: Path) -> None:
    async with running_server(tmp_path, tools=TOOLS, auth=True) as stand:
        access = Access(tmp_path)
        bob = access.add(access.local_owner(), "bob", [CALL], (), KeyLimits())[1]
        person = await signed_in(stand, bob)
        theirs = await called(stand, "search", query="le guin")
        mine = await called(stand, "search", "bob", query="dune")
        page = await person.value("/invocations")
        assert [row["id"] for row in page["rows"]] == [mine]
        assert {chip["standing"]: chip["count"] for chip in page["chips"]}["succeeded"] == 1
        assert (await person.see(f"/invocations/{mine}")).status == 200
        for tail in ("", "/row", "/payloads/0"):
            assert (await person.see(f"/invocations/{theirs}{tail}")).status == 404
        assert (await person.send(f"/invocations/{theirs}/cancel", {})).status == 404


@driven
async def test_many_calls_cost_little_to_look_at(tmp_path: Path) -> None:
    """Bounds far above what it takes, so that only another order of growth breaks them."""
    ids = await busy_workspace(tmp_path, 20_000)
    async with running_server(tmp_path, tools=TOOLS, auth=True) as stand:
        person = await signed_in(stand)
        paths = ("/invocations", "/invocations?state=failed", "/invocations?state=canceled&range=all",
                 "/invocations?tool=refund_order", f"/invocations/{ids[100]}", "/batches")  # fmt: skip
        for path in paths:
            await person.see(path)
            seconds = []
            for _ in range(3):  # work that is too much is so every time; the garbage of other tests is not
                began = time.process_time()
                reply = await person.see(path)
                seconds.append(time.process_time() - began)
                assert reply.status == 200
            assert min(seconds) < 0.5, path
        page = await person.value("/invocations?state=failed&tool=get_book")
        assert page["rows"] and {row["tool"] for row in page["rows"]} == {"get_book"}


def test_filters_leave_out_what_was_not_said() -> None:
    assert CallListFilters({}).address() == "/console/invocations"
    assert (
        CallListFilters({"state": "failed", "q": " x ", "color": "red"}).address()
        == "/console/invocations?q=x&state=failed"
    )
    assert CallListFilters({"state": "failed"}).address(state="") == "/console/invocations"
    chosen = CallListFilters({"since": "2026-01-01T00:00:00Z", "until": "2026-01-02T00:00:00Z"})
    assert (chosen.range, chosen.span) == ("", "the chosen time")
    assert CallListFilters({"since": "2026-01-01T00:00:00Z", "range": "week"}).range == "week"
    assert CallListFilters({"state": "waiting"}).listing(10**15)["since"] is None


def test_a_count_that_is_not_whole_says_so() -> None:
    tally = {"ended": {"succeeded": 9, "refused": 2}, "open": {"unknown": 1}, "is_complete": False}
    told = sentence_of(tally, "the last hour")
    assert told.startswith("More than 11 calls ended in the last hour, 2 were denied.")
    assert told.endswith("1 has an unknown outcome.")


def test_the_strip_draws_what_was_counted() -> None:
    tally = {
        "since": "2026-01-01T00:00:00Z",
        "until": "2026-01-01T01:00:00Z",
        "seconds": 600.0,
        "stretches": [
            {"at": "2026-01-01T00:10:00Z", "ended": {"succeeded": 8, "failed": 2}},
            {"at": "2026-01-01T00:50:00Z", "ended": {"succeeded": 5}},
            {"at": "2026-01-01T05:00:00Z", "ended": {"succeeded": 5}},
        ],
    }
    strip = strip_of(tally)
    first, second = strip["bars"]
    assert (first["x"], second["x"]) == (16.667, 83.333)
    assert [piece["class"] for piece in first["pieces"]] == ["f-ok", "f-bad"]
    assert sum(piece["height"] for piece in first["pieces"]) == strip["height"]
    assert second["pieces"][0]["height"] == strip["height"] / 2
    assert first["until"].startswith("2026-01-01T00:20:00")
    assert "at most 10 in one bar" in strip["says"] and "Most failures: 2" in strip["says"]
