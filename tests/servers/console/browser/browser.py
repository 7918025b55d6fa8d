"""A real Chromium at a real server."""

from __future__ import annotations

import shutil
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

from playwright.sync_api import Browser, BrowserContext, Page, sync_playwright

from tests.services import missing

_ARGUMENTS = ("--no-sandbox", "--disable-gpu", "--disable-background-networking", "--disable-component-update",
              "--disable-sync", "--no-first-run", "--disable-quic")  # fmt: skip


def chromium() -> str:
    """Where the browser is; its tests are skipped where there is none."""
    found = shutil.which("chromium") or shutil.which("chromium-browser") or shutil.which("google-chrome")
    return found or missing("chromium", "it is not installed (Debian: apt-get install chromium)")


@contextmanager
def browsing() -> Iterator[Browser]:
    """A browser."""
    path = chromium()
    with sync_playwright() as playwright:
        browser = playwright.chromium.launch(executable_path=path, args=_ARGUMENTS)
        try:
            yield browser
        finally:
            browser.close()


@contextmanager
def person(browser: Browser, url: str, token: str, **options: Any) -> Iterator[Page]:
    """Somebody with a browser of their own, signed in. Whatever a script complains about fails the test."""
    context: BrowserContext = browser.new_context(**{"viewport": {"width": 1440, "height": 900}, **options})
    context.set_default_timeout(15_000)
    page = context.new_page()
    complaints: list[str] = []
    page.on("pageerror", lambda error: complaints.append(str(error)))
    page.on("console", lambda said: complaints.append(said.text) if said.type == "error" else None)
    page.goto(f"{url}/console/login")
    page.fill("#token", token)
    page.click("button[type=submit]")
    page.wait_for_url(lambda at: "/console/login" not in at)
    try:
        yield page
        assert not complaints, complaints
    finally:
        context.close()
