"""The first page in a real browser: charts that move without anything else moving."""

from __future__ import annotations

import json
import urllib.request
from collections.abc import Iterator
from pathlib import Path
from typing import Any, NamedTuple

import pytest
from playwright.sync_api import Browser, Page, expect

from tests.servers.console.browser.browser import browsing, person
from tests.servers.local_server import ServerProcess, running_process

FUNCTIONS = '''
import ferrule

@ferrule.tool(read_only=True)
def look(word: str) -> str:
    """Look something up."""
    return word
'''
PLACES = """() => [...document.querySelectorAll('.panel, .note, .plot, .legend')].map(
    box => { const at = box.getBoundingClientRect(); return [at.left, at.top + scrollY, at.width, at.height].map(Math.round) })"""
PAINTED = """box => {
    const canvas = box.querySelector('canvas'), seen = {};
    const points = canvas.getContext('2d').getImageData(0, 0, canvas.width, canvas.height).data;
    for (let at = 0; at < points.length; at += 4) if (points[at + 3] > 200) seen[points.slice(at, at + 3)] = 1;
    return Object.keys(seen) }"""


LIGHT, DARK = "58,149,98", "88,179,123"
"""The two of `--ok-fill`."""


class Here(NamedTuple):
    """A served workspace, and a browser."""

    folder: Path
    server: ServerProcess
    browser: Browser

    def call(self, word: str) -> None:
        body = json.dumps({"tool": "look", "arguments": {"word": word}}).encode()
        headers = {"Authorization": f"Bearer {self.server.token(self.folder)}", "Content-Type": "application/json"}
        with urllib.request.urlopen(urllib.request.Request(f"{self.server.url}/v1/calls", body, headers)) as reply:
            assert reply.status == 200

    @property
    def owner(self) -> str:
        return self.server.token(self.folder, "owner.token")


@pytest.fixture(scope="module")
def here(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Here]:
    """One for all tests of this file."""
    folder = tmp_path_factory.mktemp("home")
    (folder / "ferrule.toml").write_text('[functions]\nmodules = ["tools.py"]\n')
    (folder / "tools.py").write_text(FUNCTIONS)
    with running_process(folder) as server, browsing() as browser:
        yield Here(folder, server, browser)


def colours(page: Page) -> set[str]:
    found: Any = page.locator("[data-plot=calls]").evaluate(PAINTED)
    return set(found)


def test_numbers_and_charts_move_and_nothing_else_does(here: Here) -> None:
    here.call("first")
    with person(here.browser, here.server.url, here.owner, color_scheme="light") as page:
        page.wait_for_selector(".side [data-live-state]:text-is('live')")
        for there in ("#check .st", "[data-plot=latency] canvas", "[data-plot=calls] canvas"):
            page.wait_for_selector(there)
        page.wait_for_selector(".kpi:first-child .v:text-is('1')")
        before = page.evaluate(PLACES)
        here.call("second")
        here.call("third")
        page.wait_for_selector(".kpi:first-child .v:text-is('3')")
        page.wait_for_selector("#recent button:text-is('2 newer calls')")
        assert page.locator("#recent tbody tr").count() == 1, "rows are never put in by themselves"
        assert page.evaluate(PLACES) == before
        assert "Of 3 calls in the last hour 3 succeeded." in str(page.text_content("#charts-said"))
        page.click("#recent button:text-is('2 newer calls')")
        page.wait_for_selector("#recent tbody tr:nth-child(3)")
        assert LIGHT in colours(page)
        for _ in ("light", "dark"):
            page.click(".side [data-theme-toggle]")
        assert page.locator("html").get_attribute("data-theme") == "dark"
        assert {LIGHT, DARK} & colours(page) == {DARK}, "charts take the colours of the theme"
        page.click("role=tab[name='VS Code']")
        assert '"servers"' in page.locator("#way-vscode").inner_text()
        assert not page.locator("#way-mcp-http").is_visible()


def test_without_a_script_everything_can_be_read_on_a_phone(here: Here) -> None:
    here.call("one more")
    small = {"width": 400, "height": 800}
    with person(here.browser, here.server.url, here.owner, java_script_enabled=False, viewport=small) as page:
        assert "in the last hour" in page.locator("[data-plot=latency]").inner_text()
        page.click("noscript a:has-text('Python')")
        expect(page.locator("#way-python")).to_contain_text("fastmcp")
        page.click("noscript a:has-text('Check now')")
        expect(page.locator("#check")).to_contain_text("0 errors")
        assert all(
            at["x"] + at["width"] <= 400 for panel in page.locator(".panel").all() if (at := panel.bounding_box())
        )
