"""Trying tools at the console, without a browser: forms, checks, runs, and what nobody may see."""

from __future__ import annotations

import asyncio
import json
import re
from pathlib import Path
from typing import Any
from urllib.parse import urlencode

import pytest

import ferrule
from ferrule.access.keys import Access
from ferrule.access.tokens import KeyLimits
from ferrule.contracts.executor import Context
from ferrule.model.approval import APPROVE, CALL
from ferrule.servers.console.catalog.trial_calls import describe_effect
from tests.driven import driven
from tests.servers.console.browsing import Person, signed_in, text_of
from tests.servers.local_server import InProcessServer, Reply, running_server

HOSTILE = "</textarea><script>alert(1)</script>'\"&"
gates: dict[str, asyncio.Event] = {}
paid: list[int] = []
POLICY = """
[[rules]]
id = "no-large-sums"
decision = "deny"
tool = "pay"
when = { amount = { above = 100 } }
reason = "too much"
[[rules]]
id = "hidden"
decision = "deny"
tool = "secret_tool"
"""


@ferrule.tool(read_only=True, open_world=False, concurrency_safe=True)
def add(a: int, b: int = 2) -> dict[str, int]:
    """Add two numbers."""
    return {"sum": a + b}


@ferrule.tool(read_only=True)
def books(like: str = "") -> list[dict[str, Any]]:
    """List books."""
    return [{"title": f"One {like}", "copies": 3}, {"title": HOSTILE, "copies": 4}]


@ferrule.tool(approval_required=True)
def pay(amount: int) -> str:
    """Pay somebody."""
    paid.append(amount)
    return f"paid {amount}"


@ferrule.tool(read_only=True)
async def steps(context: Context, gate: str) -> str:
    """Tell how far it is, and wait to be let go on."""
    context.progress("half", percent=50)
    await gates[gate].wait()
    return "done"


@ferrule.tool(read_only=True)
def report(size: int) -> str:
    """Write a report."""
    return "0123456789" * (size // 10)


@ferrule.tool(read_only=True)
def secret_tool() -> str:
    """Something agents may not know of."""
    return "hidden"


TOOLS = (add, books, pay, steps, report, secret_tool)
TOML = 'namespace = "shop"\n[results]\nmax_inline_chars = 1000\npreview_chars = 100\n'


def here(folder: Path, **more: Any) -> Any:
    gates.clear()
    paid.clear()
    (folder / "policy.toml").write_text(POLICY)
    return running_server(folder, tools=more.pop("tools", TOOLS), toml=TOML, auth=True, **more)


def key(stand: InProcessServer, name: str, scopes: list[str], tenant: str | None = None) -> str:
    access = Access(stand.app.root)
    return access.add(access.local_owner(), name, scopes, (), KeyLimits(tenant=tenant))[1]


async def run(person: Person, tool: str, arguments: str, **more: str) -> Reply:
    return await person.send(f"/try/{tool}", {"do": "run", "arguments": arguments, **more})


async def told(person: Person, tool: str, wish: str, arguments: str) -> Any:
    """The answer that the page's script gets."""
    reply = await person.send(f"/try/{tool}", {"do": wish, "arguments": arguments}, accept="application/json")
    return reply.json()


def run_in(reply: Reply) -> str:
    assert reply.status == 303, reply.body
    found = re.search(r"\?run=(inv_\w+)", reply.headers["location"])
    assert found is not None
    return found[1]


async def ended(person: Person, run_id: str) -> Any:
    await person.see(f"/trying/{run_id}/events")  # which end when it does
    tool = (await person.value("/try"))["tools"][0]["name"]
    shown = (await person.value(f"/try/{tool}?run={run_id}"))["runs"][0]
    assert not shown["is_pending"]
    return shown


@driven
async def test_somebody_chooses_from_their_own_tools(tmp_path: Path) -> None:
    async with here(tmp_path) as stand:
        person = await signed_in(stand)
        page = await person.see("/try")
        assert "You can call 5 tools here" in text_of(page)
        assert "secret_tool" not in page.body.decode()
        found = await person.see("/try?q=add+numbers", hx_request="true")
        assert 'href="/console/try/add"' in found.body.decode()
        assert "<html" not in found.body.decode()
        await run(person, "add", '{"a": 1}')
        assert (await person.value("/try"))["recent"] == ["add"]


@driven
async def test_whoever_may_not_call_is_told_what_it_takes(tmp_path: Path) -> None:
    async with here(tmp_path) as stand:
        person = await signed_in(stand, key(stand, "amy", [APPROVE]))
        for path in ("/try", "/try/add"):
            assert "Your credential may not call tools" in text_of(await person.see(path))
        assert (await run(person, "add", '{"a": 1}')).status == 403


@driven
async def test_a_page_has_the_form_the_json_and_what_the_policy_would_say(tmp_path: Path) -> None:
    async with here(tmp_path) as stand:
        person = await signed_in(stand)
        value = await person.value("/try/add")
        assert [field[0] for field in value["form"]["nodes"][0]["fields"]] == ["a", "b"]
        assert json.loads(value["written"]) == {"b": 2}
        assert [one["pointer"] for one in value["checked"]["errors"]] == ["/arguments/a"]
        page = (await person.see("/try/add")).body.decode()
        assert 'name="arguments"' in page and "style=" not in page and " onclick" not in page


@driven
async def test_an_unknown_tool_and_a_hidden_one_are_the_same_page(tmp_path: Path) -> None:
    async with here(tmp_path) as stand:
        person = await signed_in(stand, key(stand, "ada", [CALL]))
        hidden, unknown = await person.see("/try/secret_tool"), await person.see("/try/nothing_tool")
        assert hidden.status == unknown.status == 404
        assert text_of(hidden).replace("secret_tool", "nothing_tool") == text_of(unknown)


@driven
async def test_a_check_tells_the_servers_own_words_at_each_place_and_makes_no_call(tmp_path: Path) -> None:
    async with here(tmp_path) as stand:
        person = await signed_in(stand)
        state = await told(person, "add", "check", '{"a": "x"}')
        assert state["errors"] == [{"pointer": "/arguments/a", "detail": "'a' must be a whole number; it is 'x'"}]
        fits = await told(person, "pay", "check", '{"amount": 5}')
        assert (fits["is_accepted"], fits["decision"]["behavior"]) == (True, "ask")
        denied = await told(person, "pay", "check", '{"amount": 500}')
        assert (denied["decision"]["behavior"], denied["decision"]["rule"]) == ("deny", "no-large-sums")
        assert (await person.value("/try"))["recent"] == []


@driven
async def test_without_a_script_a_check_is_a_page_that_keeps_what_was_typed(tmp_path: Path) -> None:
    async with here(tmp_path) as stand:
        person = await signed_in(stand)
        typed = json.dumps({"a": HOSTILE})
        reply = await person.send("/try/add", {"do": "check", "arguments": typed})
        assert "must be a whole number" in text_of(reply)
        assert "<script>alert" not in reply.body.decode()
        broken = await person.send("/try/add", {"do": "run", "arguments": "{"})
        assert "This is not JSON" in text_of(broken)


@pytest.mark.parametrize("arguments", ['{}, "tool": "pay"', '{"a": 1}}', "", "[1", "\ufeff{}", "{} {}"])
@driven
async def test_what_is_not_one_json_value_is_not_sent(arguments: str, tmp_path: Path) -> None:
    async with here(tmp_path) as stand:
        person = await signed_in(stand)
        assert "not JSON" in (await told(person, "add", "run", arguments))["problem"]
        assert (await person.value("/try"))["recent"] == []


@driven
async def test_a_run_without_a_script_leads_to_its_result(tmp_path: Path) -> None:
    async with here(tmp_path) as stand:
        person = await signed_in(stand)
        first = run_in(await run(person, "books", "{}"))
        shown = await ended(person, first)
        assert (shown["kind"], shown["shape"]["table"]["count"]) == ("ok", 2)
        events = await person.see(f"/trying/{first}/record", hx_request="true")
        assert "tool.invocation" in text_of(events) or "tool_" in text_of(events), text_of(events)
        second = await run(person, "books", '{"like": "x"}', run=first)
        assert second.headers["location"].endswith(f"&run={first}")
        page = (await person.see(second.headers["location"].removeprefix("/console"))).body.decode()
        assert "Run 2" in page and "Run 1" in page
        assert "<script>alert" not in page and "&lt;script&gt;alert" in page
        assert "{\n  &#34;like&#34;: &#34;x&#34;\n}" in page  # its input is there again


@driven
async def test_a_form_that_is_sent_twice_is_one_call(tmp_path: Path) -> None:
    async with here(tmp_path) as stand:
        person = await signed_in(stand)
        runs = [run_in(await run(person, "add", '{"a": 1}', nonce=nonce)) for nonce in ("n1", "n1", "n2")]
        assert runs[0] == runs[1] != runs[2]
        together = await asyncio.gather(*(run(person, "add", '{"a": 9}', nonce="n3") for _ in range(3)))
        assert len({run_in(reply) for reply in together}) == 1


@driven
async def test_a_refused_call_has_its_panel(tmp_path: Path) -> None:
    async with here(tmp_path) as stand:
        person = await signed_in(stand)
        shown = await ended(person, run_in(await run(person, "pay", '{"amount": 500}')))
        assert (shown["kind"], shown["tone"]) == ("deny", "no")
        assert "too much" in shown["error"]["message"]


@driven
async def test_a_call_that_waits_leads_to_the_inbox_and_goes_on_when_somebody_agrees(tmp_path: Path) -> None:
    async with here(tmp_path) as stand:
        person = await signed_in(stand, key(stand, "ada", [CALL]))
        run_id = run_in(await run(person, "pay", '{"amount": 5}'))
        panel = await person.see(f"/trying/{run_id}", hx_request="true")
        assert f'href="/console/inbox/{run_id}"' in panel.body.decode()
        assert paid == []
        owner = {"Authorization": f"Bearer {stand.owner()}"}
        assert (await stand.ask("POST", f"/v1/approvals/{run_id}/approve", b"", owner)).status in (200, 202)
        assert (await ended(person, run_id))["kind"] == "ok"
        assert paid == [5]


@driven
async def test_progress_is_told_as_it_comes_and_taken_up_where_it_was_left(tmp_path: Path) -> None:
    async with here(tmp_path) as stand:
        gates["g"] = asyncio.Event()
        person = await signed_in(stand)
        run_id = run_in(await run(person, "steps", '{"gate": "g"}'))
        headers = {"Cookie": person.cookie, "Accept": "text/event-stream"}
        first = stand.open("GET", f"/console/trying/{run_id}/events", headers=headers)
        assert await first.wait_for_status() == 200
        event = await first.read_event()
        while event is not None and json.loads(event["data"]).get("message") != "half":
            event = await first.read_event()
        assert event is not None
        await first.leave()
        gates["g"].set()
        again = await person.see(f"/trying/{run_id}/events", last_event_id=event["id"])
        numbers = [int(one["id"]) for one in again.events() if one["event"] == "progress"]
        assert all(number > int(event["id"]) for number in numbers)
        assert again.events()[-1]["event"] == "result"
        assert (await person.see(f"/trying/{run_id}/events", last_event_id="end")).status == 204


@driven
async def test_a_run_is_cancelled(tmp_path: Path) -> None:
    async with here(tmp_path) as stand:
        gates["g"] = asyncio.Event()
        person = await signed_in(stand)
        run_id = run_in(await run(person, "steps", '{"gate": "g"}'))
        reply = await person.send(f"/trying/{run_id}/cancel", {"tool": "steps"})
        assert reply.headers["location"] == f"/console/try/steps?run={run_id}"
        assert (await ended(person, run_id))["word"] == "canceled"


@driven
async def test_what_is_stored_can_be_saved(tmp_path: Path) -> None:
    async with here(tmp_path) as stand:
        person = await signed_in(stand)
        run_id = run_in(await run(person, "report", '{"size": 5000}'))
        shown = await ended(person, run_id)
        assert shown["payloads"][0]["size"] >= 5000
        reply = await person.see(f"/trying/{run_id}/payloads/0")
        assert (reply.status, b"0123456789" in reply.body) == (200, True)
        assert reply.headers["content-disposition"].startswith("attachment")


@driven
async def test_calls_of_others_are_not_there(tmp_path: Path) -> None:
    async with here(tmp_path) as stand:
        owner = await signed_in(stand)
        run_id = run_in(await run(owner, "report", '{"size": 5000}'))
        await ended(owner, run_id)
        for other in (key(stand, "ada", [CALL]), key(stand, "bob", [CALL], "acme")):
            person = await signed_in(stand, other)
            page = await person.value(f"/try/add?run={run_id}")
            assert page["runs"] == [
                {"id": run_id, "number": 1, "is_gone": True, "message": f"there is no call {run_id!r} of yours"}
            ]
            for path in ("events", "payloads/0"):
                assert (await person.see(f"/trying/{run_id}/{path}")).status == 404
            assert (await person.send(f"/trying/{run_id}/cancel", {})).status == 404


@driven
async def test_words_of_others_are_text_wherever_they_stand(tmp_path: Path) -> None:
    def hostile(text: str) -> str:
        return HOSTILE

    hostile.__doc__ = HOSTILE
    async with here(tmp_path, tools=[ferrule.tool(read_only=True, title=HOSTILE)(hostile)]) as stand:
        person = await signed_in(stand)
        run_id = run_in(await run(person, "hostile", json.dumps({"text": HOSTILE})))
        await ended(person, run_id)
        assert "<script>alert" not in (await person.see(f"/trying/{run_id}/record")).body.decode()
        for path in ("/try", f"/try?q={HOSTILE}", f"/try/hostile?run={run_id}", f"/trying/{run_id}"):
            page = (await person.see(path)).body.decode()
            assert "<script>alert" not in page and "alert(1)" in page, path


@pytest.mark.parametrize("run_id", ["inv_1/payloads", "../tools", '"><script>', "inv_" + "x" * 500])
@driven
async def test_what_is_no_id_of_a_call_is_not_asked_for(run_id: str, tmp_path: Path) -> None:
    async with here(tmp_path) as stand:
        person = await signed_in(stand)
        query = urlencode({"run": run_id, "from": run_id})
        assert (await person.value(f"/try/add?{query}"))["runs"] == []


@driven
async def test_nothing_runs_without_the_token_of_the_page(tmp_path: Path) -> None:
    async with here(tmp_path) as stand:
        person = await signed_in(stand)
        form = {"do": "run", "arguments": '{"a": 1}'}
        assert (await person.send("/try/add", form, proof="wrong")).status == 403
        assert (await person.see("/try/add?do=run&arguments={}")).status == 200
        assert (await person.value("/try"))["recent"] == []


@driven
async def test_another_version_than_the_page_shows_is_not_called(tmp_path: Path) -> None:
    async with here(tmp_path) as stand:
        person = await signed_in(stand)
        digest = (await person.value("/try/add"))["tool"]["digest"]
        assert run_in(await run(person, "add", '{"a": 1}', digest=digest))
        assert (await run(person, "add", '{"a": 1}', digest="sha256:old", nonce="n")).status == 409


@driven
async def test_snippets_hold_the_input_and_no_secret(tmp_path: Path) -> None:
    async with here(tmp_path) as stand:
        person = await signed_in(stand)
        state = await told(person, "add", "check", '{"a": 1.10}')
        page = await person.see("/try/add")
        for text in (*state["snippets"].values(), page.body.decode()):
            assert stand.owner() not in text and stand.read_token() not in text
        assert '"a": 1.10' in state["snippets"]["curl"] and ".ferrule/keys/agent.token" in state["snippets"]["python"]


@driven
async def test_a_deferred_tool_is_loaded_first(tmp_path: Path) -> None:
    many = [_numbered(number) for number in range(6)]
    (tmp_path / "ferrule.toml").write_text("[surface]\ndefer_above = 3\n")
    async with here(tmp_path, tools=many) as stand:
        person = await signed_in(stand)
        tools = (await person.value("/try"))["tools"]
        name = next(tool["name"] for tool in tools if tool["standing"] == "deferred")
        assert "not loaded yet" in text_of(await person.see(f"/try/{name}"))
        assert (await person.send(f"/try/{name}", {"do": "load"})).status == 303
        assert "form" in await person.value(f"/try/{name}")
        assert (await ended(person, run_in(await run(person, name, '{"text": "x"}'))))["kind"] == "ok"


def _numbered(number: int) -> Any:
    def tool(text: str) -> str:
        return text

    tool.__name__ = f"tool_{number}"
    tool.__doc__ = f"Tool number {number}. "
    return ferrule.tool(read_only=True)(tool)


def test_what_a_tool_may_do_is_said_in_a_few_words() -> None:
    assert describe_effect({"is_read_only": True, "is_destructive": False}) == "reads only"
    assert describe_effect({"is_read_only": False, "is_destructive": False}) == "changes things"
    assert describe_effect({"is_read_only": False, "is_destructive": None}) == "may destroy something"
