"""The demo from end to end, with real browsers: an agent asks, people answer, everybody sees it happen; the server is restarted
meanwhile, and ten thousand calls are paged through."""

from __future__ import annotations

import asyncio
import json
import re
import shutil
import socket
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import ExitStack, contextmanager
from pathlib import Path
from typing import Any

import pytest
from playwright.sync_api import Browser, Page

import ferrule
from ferrule.access.keys import Access
from ferrule.access.tokens import KeyLimits
from ferrule.model.approval import ADMIN, APPROVE, CALL
from tests import ROOT
from tests.servers.console.browser.browser import browsing, person
from tests.servers.console.browser.hostile import asked
from tests.servers.local_server import running_process

DEMO = ROOT / "demo"


class Shop:
    """The demo, served at an address that stays the same over restarts."""

    def __init__(self, folder: Path) -> None:
        shutil.copytree(DEMO, folder, ignore=shutil.ignore_patterns(".ferrule", "__pycache__", "ferrule.pub"))
        self.folder = folder
        with socket.socket() as free:
            free.bind(("127.0.0.1", 0))
            self.port = free.getsockname()[1]
        self.url = f"http://127.0.0.1:{self.port}"
        access = Access(folder)
        owner = access.local_owner()
        self.owner = (folder / ".ferrule/keys/owner.token").read_text().strip()
        _, self.sam = access.add(owner, "sam", [CALL], limits=KeyLimits(agent="shop-assistant"))
        _, self.lena = access.add(owner, "lena", [CALL], limits=KeyLimits(agent="support-bot"))
        _, self.maria = access.add(owner, "maria", [APPROVE, ADMIN], groups=["accounts"])
        _, self.tom = access.add(owner, "tom", [APPROVE, ADMIN], groups=["accounts"])
        self._running = ExitStack()

    def start(self) -> None:
        self._running.enter_context(running_process(self.folder, "--port", str(self.port)))

    def stop(self) -> None:
        self._running.close()

    def call(self, secret: str, tool: str, **arguments: Any) -> str:
        """Make a call that waits for somebody; gives its id."""
        body = {"tool": tool, "arguments": arguments}
        begun = asked(self.url, secret, "POST", "/calls", body, Prefer="respond-async")
        return str(begun["invocation_id"])

    def state(self, call: str) -> str:
        return str(asked(self.url, self.owner, "GET", f"/calls/{call}")["state"])


@pytest.fixture(scope="module")
def browser() -> Iterator[Browser]:
    with browsing() as made:
        yield made


@pytest.fixture(scope="module")
def shop(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Shop]:
    made = Shop(tmp_path_factory.mktemp("shop") / "demo")
    made.start()
    try:
        yield made
    finally:
        made.stop()


@contextmanager
def at(shop: Shop, browser: Browser, secret: str, address: str) -> Iterator[Page]:
    """Somebody who looks at a page."""
    with person(browser, shop.url, secret) as page:
        page.goto(shop.url + address)
        page.wait_for_selector(".side [data-live-state]:text-is('live')", state="attached")
        yield page


def approve(page: Page, call: str) -> None:
    page.wait_for_selector(f'#item[data-id="{call}"] #approve')
    typed = page.locator("#typed")
    if typed.count():
        typed.fill(str(typed.get_attribute("data-expect")))
    page.click("#approve")


def test_a_refund_stops_a_person_approves_it_and_it_finishes(shop: Shop, browser: Browser) -> None:
    """The agent's browser and the owner's, side by side; nobody loads a page again."""
    with (
        at(shop, browser, shop.owner, "/console/inbox") as owner,
        at(shop, browser, shop.sam, "/console/try/refund_order") as agent,
    ):
        agent.fill("#try-raw", json.dumps({"order_number": "BK-104233", "amount_eur": 40, "reason": "damaged"}))
        agent.click("#try-run")
        agent.wait_for_selector("[data-run] [data-waiting=yes]")
        call = str(agent.locator("[data-run]").first.get_attribute("data-run"))
        assert agent.request.get(f"{shop.url}/console/inbox/{call}").status == 403  # who calls does not approve
        owner.wait_for_function("() => /^1\\b/.test(document.querySelector('nav.nav .waiting-slot').innerText.trim())")
        owner.click(".queue-new:visible, .q")
        approve(owner, call)
        owner.wait_for_selector("#item .st-ok:has-text('succeeded')")
        assert shop.state(call) == "succeeded"
        agent.wait_for_selector("[data-run] .st-ok:has-text('succeeded')")
        agent.goto(f"{shop.url}/console/invocations/{call}")
        assert "succeeded" in agent.locator("main").inner_text()


def test_what_cannot_be_undone_takes_two_people_who_see_each_other(shop: Shop, browser: Browser) -> None:
    call = shop.call(shop.lena, "delete_account", email="reader7@example.org", ticket="T-5512")
    with (
        at(shop, browser, shop.maria, f"/console/inbox/{call}") as maria,
        at(shop, browser, shop.tom, f"/console/inbox/{call}") as tom,
    ):
        approve(maria, call)
        maria.wait_for_selector("#item >> text=maria")
        assert shop.state(call) == "awaiting_approval"
        tom.wait_for_selector("#item >> text=maria")  # without loading it again
        approve(tom, call)
        tom.wait_for_selector("#item .st-ok:has-text('succeeded')")
        maria.wait_for_selector("#item .st-ok:has-text('succeeded')")
        assert shop.state(call) == "succeeded"


def test_what_waits_outlives_the_server(shop: Shop, browser: Browser) -> None:
    call = shop.call(shop.sam, "refund_order", order_number="BK-104233", amount_eur=25, reason="late")
    context = browser.new_context()
    page = context.new_page()
    page.goto(f"{shop.url}/console/login?next=/console/inbox/{call}")
    page.fill("#token", shop.owner)
    page.click("button[type=submit]")
    page.wait_for_selector(".side [data-live-state]:text-is('live')")
    shop.stop()
    page.wait_for_selector(".side [data-live-state]:text-is('not connected')")
    shop.start()
    page.wait_for_selector(".side [data-live-state]:text-is('live')", timeout=30_000)
    approve(page, call)
    page.wait_for_selector("#item .st-ok:has-text('succeeded')")
    assert shop.state(call) == "succeeded"
    context.close()


def test_ten_thousand_calls_are_paged_through(browser: Browser, tmp_path: Path) -> None:
    @ferrule.tool(read_only=True, open_world=False, concurrency_safe=True, inline=True)
    def add(a: int, b: int) -> int:
        """Adds two numbers."""
        return a + b

    async def filled() -> None:
        async with ferrule.open(tmp_path, tools=[add]) as app:
            surface = app.surface(principal="ann")
            for begin in range(0, 10_000, 500):
                await asyncio.gather(*(surface.call("add", {"a": n, "b": 1}) for n in range(begin, begin + 500)))

    (tmp_path / "ferrule.toml").write_text("")
    with ThreadPoolExecutor(1) as aside:  # the browser has a loop of its own in this thread
        aside.submit(asyncio.run, filled()).result()
    with (
        running_process(tmp_path) as server,
        person(browser, server.url, server.token(tmp_path, "owner.token")) as page,
    ):
        page.goto(f"{server.url}/console/invocations?range=all")
        seen: list[str] = []
        for _ in range(6):
            links = page.locator("[data-rows] a[href*='/invocations/inv_']").evaluate_all(
                "all => all.map(one => one.href)"
            )
            rows = list(dict.fromkeys(re.findall(r"inv_\w+", " ".join(links))))
            assert len(rows) >= 20
            seen += rows
            page.click("main footer a:has-text('Older')")
            page.wait_for_load_state("load")
        assert len(seen) == len(set(seen))
        page.go_back()
        assert page.locator("[data-rows] > *").count() >= 20
