"""Calls and batches in a real browser: what is live, what is not put under somebody's hands, and what the keys do."""

from __future__ import annotations

import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any
from urllib.request import Request, urlopen

import pytest
from playwright.sync_api import Browser, expect

from ferrule.access.keys import OWNER_FILE
from tests.servers.console.browser.browser import browsing, person
from tests.servers.local_server import ServerProcess, running_process

FUNCTIONS = '''
import asyncio
import ferrule

@ferrule.tool(read_only=True, open_world=False, concurrency_safe=True)
def look(word: str) -> dict[str, str]:
    """Look."""
    return {"word": word}

@ferrule.tool(read_only=True, open_world=False, concurrency_safe=True)
async def slow(context: ferrule.Context, seconds: float) -> str:
    """Take long."""
    context.progress("half way", percent=50)
    await asyncio.sleep(seconds)
    return "done"
'''


@pytest.fixture(scope="module")
def browser() -> Iterator[Browser]:
    """One browser for this file."""
    with browsing() as opened:
        yield opened


@pytest.fixture(scope="module")
def workspace(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A workspace with two tools."""
    folder = tmp_path_factory.mktemp("shop")
    (folder / "ferrule.toml").write_text('[functions]\nmodules = ["functions.py"]\n')
    (folder / "functions.py").write_text(FUNCTIONS)
    return folder


@pytest.fixture(scope="module")
def server(workspace: Path) -> Iterator[ServerProcess]:
    """It, served."""
    with running_process(workspace) as found:
        yield found


def send(server: ServerProcess, folder: Path, path: str, body: Any, **headers: str) -> Any:
    """Ask the API as an agent."""
    said = {"Authorization": f"Bearer {server.token(folder)}", "Content-Type": "application/json", **headers}
    with urlopen(Request(f"{server.url}/v1{path}", json.dumps(body).encode(), said), timeout=20) as reply:
        return json.loads(reply.read())


def test_newer_calls_wait_behind_a_bar_and_rows_open_by_keys(
    browser: Browser, server: ServerProcess, workspace: Path
) -> None:
    send(server, workspace, "/calls", {"tool": "look", "arguments": {"word": "<img src=x onerror=alert(1)>"}})
    with person(browser, server.url, server.token(workspace, OWNER_FILE)) as page:
        page.goto(f"{server.url}/console/invocations")
        rows = page.locator("tbody[data-rows] tr")
        expect(rows).to_have_count(1)
        top = page.locator("tbody[data-rows]").bounding_box()
        for _ in range(3):
            send(server, workspace, "/calls", {"tool": "look", "arguments": {"word": "more"}})
        expect(page.locator(".newer-slot")).to_contain_text("3 newer calls")
        expect(rows).to_have_count(1)
        assert page.locator("tbody[data-rows]").bounding_box() == top, "nothing moved"
        page.click(".newer-slot a")
        expect(rows).to_have_count(4)
        page.keyboard.press("j")
        page.keyboard.press("Enter")
        expect(page.locator("h2", has_text="Thirteen phases")).to_be_visible()
        page.get_by_role("tab", name="Events").click()
        expect(page.locator("#r3")).to_contain_text("tool.invocation.succeeded")
        expect(page.locator("#r1")).to_be_hidden()


def test_a_running_call_and_its_batch_are_live(browser: Browser, server: ServerProcess, workspace: Path) -> None:
    calls = [{"tool": "look", "arguments": {"word": "x"}}, {"tool": "slow", "arguments": {"seconds": 60}}]
    made = send(server, workspace, "/batches", {"calls": calls}, Prefer="respond-async")
    with person(browser, server.url, server.token(workspace, OWNER_FILE)) as page:
        page.goto(f"{server.url}/console/batches/{made['batch_id']}")
        expect(page.locator(".gantt li")).to_have_count(2)
        expect(page.locator(".gantt line.now")).to_have_count(2)
        page.goto(f"{server.url}/console/invocations/{made['calls'][1]['invocation_id']}")
        expect(page.locator("#story")).to_contain_text("slow", timeout=10_000)
        expect(page.locator(".tl .st-run")).to_have_count(1)
        page.click("text=Cancel this call")
        expect(page.locator("#story .stands")).to_contain_text("canceled")
        expect(page.locator(".tl .st-run")).to_have_count(0)
