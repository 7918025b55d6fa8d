"""Signing in, with a real browser: the door, the frame, and the way out."""

from __future__ import annotations

from pathlib import Path

from tests.servers.console.browser.browser import browsing, person
from tests.servers.local_server import running_process


def test_somebody_signs_in_looks_and_leaves(tmp_path: Path) -> None:
    (tmp_path / "ferrule.toml").write_text("")
    with running_process(tmp_path) as server, browsing() as browser:
        owner = server.token(tmp_path, "owner.token")
        with person(browser, server.url, owner) as page:
            assert page.locator("h1").inner_text()
            page.wait_for_selector(".side [data-live-state]:text-is('live')")
            for address in [str(link.get_attribute("href")) for link in page.locator("nav.nav a").all()]:
                page.goto(server.url + address)
                assert page.locator("nav.nav a[aria-current=page]").get_attribute("href") == address
            page.click("text=Sign out")
            page.wait_for_url("**/console/login")
            page.goto(f"{server.url}/console/inbox?x=1")
            assert page.url.endswith("/console/login?next=/console/inbox%3Fx%3D1")
