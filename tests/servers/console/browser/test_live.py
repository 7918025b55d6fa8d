"""Pages that are looked at while calls are made: changes are shown, nothing jumps, and a server that was away is found again."""

from __future__ import annotations

import socket
from collections.abc import Iterator
from pathlib import Path
from typing import NamedTuple

import pytest
from playwright.sync_api import Browser, Page

from tests.servers.console.browser.browser import browsing, person
from tests.servers.console.browser.hostile import asked
from tests.servers.local_server import ServerProcess, running_process

_FUNCTIONS = '''
import ferrule


@ferrule.tool(read_only=True, open_world=False, concurrency_safe=True)
def add(a: int, b: int) -> int:
    """Adds two numbers."""
    return a + b


@ferrule.tool(destructive=True)
def wipe(a: int) -> int:
    """Wipes a number."""
    return a
'''
_WATCH = """
window.shifts = []; window.long = []; window.swaps = 0;
new PerformanceObserver(list => list.getEntries().forEach(one => {
  if (!one.hadRecentInput) window.shifts.push([one.startTime, one.value, one.sources.map(each =>
    each.node ? (each.node.outerHTML || each.node.textContent).slice(0, 120) : '').join(' | ')]);
})).observe({ type: 'layout-shift', buffered: true });
new PerformanceObserver(list => window.long.push(...list.getEntries().map(one => one.duration))).observe({ type: 'longtask' });
document.addEventListener('htmx:afterSwap', () => { window.swaps += 1; });
"""
_SLOW = """
document.addEventListener('htmx:beforeRequest', () => {
  const until = performance.now() + 120;
  while (performance.now() < until) { /* a machine that has other things to do */ }
});
"""


class Watched(NamedTuple):
    server: ServerProcess
    browser: Browser
    owner: str
    agent: str

    def call(self, tool: str, many: int = 1) -> None:
        calls = [{"tool": tool, "arguments": {"a": 1, **({"b": 2} if tool == "add" else {})}} for _ in range(many)]
        asked(self.server.url, self.agent, "POST", "/batches", {"calls": calls}, Prefer="respond-async")


def workspace(folder: Path) -> None:
    (folder / "functions.py").write_text(_FUNCTIONS)
    (folder / "ferrule.toml").write_text('namespace = "live"\n[functions]\nmodules = ["functions.py"]\n')


@pytest.fixture(scope="module")
def watched(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Watched]:
    folder = tmp_path_factory.mktemp("live")
    workspace(folder)
    with running_process(folder) as server, browsing() as browser:
        made = Watched(server, browser, server.token(folder, "owner.token"), server.token(folder))
        made.call("add", 30)
        yield made


def begun(page: Page, address: str) -> None:
    page.goto(address)
    page.wait_for_selector(".side [data-live-state]:text-is('live')", state="attached")
    page.wait_for_function("() => !document.querySelector('.htmx-request')")
    page.evaluate("() => { window.shifts.length = 0; window.swaps = 0; }")


@pytest.mark.parametrize("address", ["/console/", "/console/invocations", "/console/inbox"])
def test_nothing_jumps_while_calls_are_made(watched: Watched, address: str) -> None:
    with person(watched.browser, watched.server.url, watched.owner) as page:
        page.add_init_script(_WATCH)
        begun(page, watched.server.url + address)
        for _ in range(5):
            watched.call("add", 20)
            watched.call("wipe")
            page.wait_for_timeout(250)  # as people would: not all at once
        page.wait_for_function("() => window.swaps >= 2")
        page.wait_for_function("() => !document.querySelector('.htmx-request')")
        shifts = page.evaluate("() => window.shifts")
        assert sum(value for _, value, _ in shifts) < 0.01, shifts


def test_the_list_of_calls_gets_no_rows_by_itself(watched: Watched) -> None:
    with person(watched.browser, watched.server.url, watched.owner) as page:
        page.add_init_script(_WATCH)
        begun(page, f"{watched.server.url}/console/invocations")
        before = page.locator("[data-rows] > *").count()
        watched.call("add", 7)
        page.wait_for_selector(".newer-slot a:has-text('newer')")
        assert page.locator("[data-rows] > *").count() == before
        page.click(".newer-slot a")
        page.wait_for_load_state("load")


def count_waiting(page: Page) -> int:
    return int("0" + "".join(filter(str.isdigit, page.locator("nav.nav .waiting-slot").inner_text())))


def wait_for_count(page: Page, count: int) -> None:
    page.wait_for_function(
        "count => parseInt(document.querySelector('nav.nav .waiting-slot').innerText.replace(/\\D/g, '')) === count",
        arg=count,
    )


def test_how_many_wait_is_shown_wherever_one_looks(watched: Watched) -> None:
    with person(watched.browser, watched.server.url, watched.owner) as page:
        page.add_init_script(_WATCH)
        begun(page, f"{watched.server.url}/console/audit")
        before = count_waiting(page)
        watched.call("wipe")
        wait_for_count(page, before + 1)


def test_news_that_follow_others_closely_reach_a_slow_browser(watched: Watched) -> None:
    with person(watched.browser, watched.server.url, watched.owner) as page:
        page.add_init_script(_WATCH + _SLOW)
        begun(page, f"{watched.server.url}/console/audit")
        before = count_waiting(page)
        for made in (1, 2, 3):  # the second and the third come within the second in which htmx takes no more news
            watched.call("wipe")
            wait_for_count(page, before + made)


def test_a_page_finds_its_server_again(watched: Watched, tmp_path: Path) -> None:
    workspace(tmp_path)
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        port = str(free.getsockname()[1])
    with running_process(tmp_path, "--port", port) as server:
        owner, url = server.token(tmp_path, "owner.token"), server.url
        context = watched.browser.new_context()
        page = context.new_page()
        page.add_init_script(_WATCH)
        page.goto(f"{url}/console/login")
        page.fill("#token", owner)
        page.click("button[type=submit]")
        begun(page, f"{url}/console/inbox")
    page.wait_for_selector(".side [data-live-state]:text-is('not connected')")
    assert page.locator("h1").inner_text() == "Inbox"  # what was there stays
    with running_process(tmp_path, "--port", port) as server:
        page.wait_for_selector(".side [data-live-state]:text-is('live')", timeout=30_000)
        page.evaluate("() => { window.swaps = 0; }")
        again = Watched(server, watched.browser, owner, server.token(tmp_path))
        again.call("wipe")
        page.wait_for_function("() => window.swaps > 0")
        context.close()
