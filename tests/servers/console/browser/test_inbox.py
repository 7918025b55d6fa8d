"""The inbox in a real browser: a call stops, a person approves it there, and it finishes, live on the screen."""

from __future__ import annotations

import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any, NamedTuple
from urllib.request import Request, urlopen

import pytest
from playwright.sync_api import Browser, Page, expect

from ferrule.access.keys import Access
from ferrule.model.approval import APPROVE
from tests.servers.console.browser.browser import browsing, person
from tests.servers.local_server import ServerProcess, running_process

FUNCTIONS = '''
import asyncio

import ferrule


@ferrule.tool(destructive=True)
async def erase(customer_id: str) -> str:
    """Erase a customer."""
    await asyncio.sleep(1.2)
    return f"erased {customer_id}"


@ferrule.tool(destructive=False, approval_required=True)
def pay(amount: int) -> str:
    """Pay somebody."""
    return f"paid {amount}"
'''
POLICY = """
[[rules]]
id = "two-people"
decision = "ask"
tool = "erase"
people = 2
"""


class Room(NamedTuple):
    """A server, and a browser to look at it with."""

    folder: Path
    server: ServerProcess
    browser: Browser


@pytest.fixture(scope="module")
def room(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Room]:
    """One for all tests here: starting them takes longer than using them."""
    folder = tmp_path_factory.mktemp("shop")
    (folder / "ferrule.toml").write_text('[functions]\nmodules = ["functions.py"]\n')
    (folder / "functions.py").write_text(FUNCTIONS)
    (folder / "policy.toml").write_text(POLICY)
    with running_process(folder) as server, browsing() as browser:
        yield Room(folder, server, browser)


def ask(server: ServerProcess, token: str, method: str, path: str, body: Any = None) -> Any:
    data = None if body is None else json.dumps(body).encode()
    headers = {"Authorization": f"Bearer {token}", "Content-Type": "application/json", "Prefer": "wait=20"}
    with urlopen(Request(server.url + path, data, headers, method=method), timeout=30) as reply:
        return json.load(reply)


def called(server: ServerProcess, token: str, tool: str, **arguments: Any) -> str:
    """An agent's call that waits for a person."""
    headers = {"Authorization": f"Bearer {token}", "Content-Type": "application/json", "Prefer": "respond-async"}
    data = json.dumps({"tool": tool, "arguments": arguments}).encode()
    with urlopen(Request(f"{server.url}/v1/calls", data, headers, method="POST"), timeout=30) as reply:
        return str(json.load(reply)["invocation_id"])


def focused(page: Page) -> str:
    return str(page.evaluate("document.activeElement.id"))


def test_an_agents_call_stops_is_approved_in_the_browser_and_finishes(room: Room) -> None:
    folder, server, browser = room
    agent, owner = server.token(folder), server.token(folder, "owner.token")
    with person(browser, server.url, owner) as page:
        page.goto(f"{server.url}/console/inbox")
        expect(page.locator("#nothing-h")).to_have_text("Nothing waits for a person")
        page.wait_for_selector(".side [data-live-state]:text-is('live')")
        call = called(server, agent, "pay", amount=7)
        page.click(f"#queue a[href='/console/inbox/{call}']")  # it came by itself
        expect(page.locator("#item-h")).to_have_text("agents wants to run pay.")
        page.keyboard.press("a")
        assert focused(page) == "approve"
        assert page.locator("form#decide").is_visible()  # the key moved, and pressed nothing
        page.keyboard.press("Enter")
        expect(page.locator("#item-h")).to_have_text("pay: approved by you. It succeeded.")
        expect(page.locator("#item pre")).to_contain_text("paid 7")
        assert page.get_by_text("Open the invocation").get_attribute("href") == f"/console/invocations/{call}"
        assert ask(server, agent, "GET", f"/v1/calls/{call}")["state"] == "succeeded"

        call = called(server, agent, "pay", amount=7000)  # and now with another amount
        page.goto(f"{server.url}/console/inbox/{call}")
        page.click("text=Edit, then approve")
        page.wait_for_selector("#edited:focus")
        page.fill("#edited", '{"amount": "much"}')
        expect(page.locator("#edit-said")).to_contain_text("amount")
        page.fill("#edited", '{"amount": 70}')
        expect(page.locator("#edit-said .add")).to_contain_text("70")
        page.click("#approve")
        expect(page.locator("#item-h")).to_contain_text("approved by you, with changes")
        assert ask(server, agent, "GET", f"/v1/calls/{call}")["result"]["content"][0]["text"] == "paid 70"


def test_two_people_see_each_other_sign_and_keep_what_they_type(room: Room) -> None:
    folder, server, browser = room
    agent, access = server.token(folder), Access(folder)
    keys = [access.add(access.local_owner(), name, [APPROVE])[1] for name in ("amy", "ben")]
    call = called(server, agent, "erase", customer_id="c-1")
    with person(browser, server.url, keys[0]) as amy, person(browser, server.url, keys[1]) as ben:
        for page in (amy, ben):
            page.goto(f"{server.url}/console/inbox/{call}")
            page.wait_for_selector(".side [data-live-state]:text-is('live')")
        assert amy.locator("#approve").get_attribute("aria-disabled") == "true"
        amy.fill("#reason", "I look into it")
        ben.fill("#typed", "c-1")
        ben.fill("#reason", "ticket checked")
        ben.click("#approve")
        expect(amy.locator(".sign")).to_contain_text("“ticket checked”")  # live, under her hands
        assert (amy.input_value("#reason"), focused(amy)) == ("I look into it", "reason")
        expect(amy.locator("#approve")).to_have_attribute("aria-disabled", "true")
        amy.click("#approve", force=True)
        assert amy.url.endswith(call) and amy.locator("form#decide").is_visible()
        amy.fill("#typed", "c-1")
        expect(amy.locator("#approve")).to_have_attribute("aria-disabled", "false")
        amy.click("#approve")
        for page, names in ((amy, "ben and you"), (ben, "you and amy")):
            expect(page.locator("#item-h")).to_have_text(f"erase: approved by {names}. It succeeded.")
            expect(page.locator("#item pre")).to_contain_text("erased c-1")

        call = called(server, agent, "erase", customer_id="c-2")  # and one where somebody is faster
        for page in (amy, ben):
            page.goto(f"{server.url}/console/inbox/{call}")
        amy.wait_for_selector(".side [data-live-state]:text-is('live')")
        amy.fill("#reason", "half a thought")
        amy.fill("#typed", "c-")
        ben.click("text=Reject")
        ben.wait_for_selector("button:has-text('Reject erase')")  # the form for it has come
        ben.fill("#reason", "wrong customer")
        ben.click("button:has-text('Reject erase')")
        expect(amy.locator("#item-h")).to_have_text("erase: rejected by ben.")
        assert amy.locator("form#decide").count() == 0
        kept = [field.input_value() for field in amy.locator("[data-kept] textarea").all()]
        assert sorted(kept) == ["c-", "half a thought"]
