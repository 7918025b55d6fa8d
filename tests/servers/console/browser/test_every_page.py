"""Every page of the console, with a real browser, in a workspace whose every word attacks its reader: nothing runs, nothing is
planted, everybody can read it, with and without scripts, at any width, in light and dark."""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import NamedTuple

import pytest
from playwright.sync_api import Browser, Dialog, Page, ViewportSize

from ferrule.servers.console.pages import PAGES
from tests.servers.console.browser import axe, hostile
from tests.servers.console.browser.browser import browsing, person
from tests.servers.console.browser.walking import Markup, Seen, chosen, walked
from tests.servers.local_server import ServerProcess, running_process

_WATCH = """
window.violations = [];
addEventListener('securitypolicyviolation', event =>
  violations.push(`${event.violatedDirective} ${event.blockedURI} ${event.sample}`));
"""
_PLANTED = """() => [...document.querySelectorAll('*')].filter(one => one.hasAttribute('data-planted') ||
  [...one.attributes].some(each => each.name.startsWith('on')) ||
  /^\\s*(javascript|data|vbscript):/i.test(one.getAttribute('href') || '')
).map(one => one.outerHTML.slice(0, 200))"""
_WORDS = "() => document.querySelector('main').innerText"
_SIDEWAYS = """() => [...document.querySelectorAll('main *')].filter(one => one.getBoundingClientRect().right > innerWidth + 1)
  .map(one => one.tagName + '.' + one.className).slice(0, 5)"""
_NARROW = (
    "color-contrast",
    "scrollable-region-focusable",
    "target-size",
    "nested-interactive",
    "label",
    "link-name",
    "region",
)
"""What may be another on a phone."""
_PARTS_ONLY = re.compile(r"/parts/|/trying/|/payloads/|/export")
"""What no link leads to: parts that scripts fetch, runs of the page that tries a tool, what is stored of large results."""


class Walked(NamedTuple):
    """A workspace that was walked through."""

    server: ServerProcess
    token: str
    seen: list[Seen]
    browser: Browser

    def pages(self) -> list[Seen]:
        return chosen(self.seen)


@pytest.fixture(scope="module")
def everything(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Walked]:
    folder = tmp_path_factory.mktemp("hostile")
    hostile.workspace(folder)
    with running_process(folder) as server, browsing() as browser:
        token = hostile.life(folder, server.url)
        hostile.spoiled(folder)
        yield Walked(server, token, walked(server.url, token), browser)


def settled(page: Page, address: str) -> None:
    """Go there, and wait until everything that fetches itself has."""
    page.goto(address)
    page.wait_for_selector(".side [data-live-state]:text-is('live')", state="attached")
    page.wait_for_function("() => !document.querySelector('.htmx-request')")


def test_links_lead_to_every_page(everything: Walked) -> None:
    """What only a script or nobody leads to is not found by people either."""
    broken = [(one.address, one.status) for one in everything.seen if one.status >= 500]
    assert not broken
    reached = {one.route for one in everything.seen if one.status == 200}
    unreached = {page.path for page in PAGES if page.method == "GET"} - reached
    assert not {path for path in unreached if not _PARTS_ONLY.search(path)}
    assert len(everything.pages()) >= 9


def test_nothing_of_a_definition_a_call_or_a_result_becomes_markup(everything: Walked) -> None:
    """As the server writes it, parts and pages alike."""
    wrong = {one.address: found for one in everything.seen if (found := Markup(one.text).wrong) and "html" in one.kind}
    assert not wrong
    for one in everything.seen:
        assert hostile.PRODUCT not in one.text, one.address
    assert any("data-planted" in one.text for one in everything.seen)  # as text


def test_nothing_runs_in_a_browser(everything: Walked) -> None:
    with person(everything.browser, everything.server.url, everything.token) as page:
        dialogs: list[str] = []

        def closed(dialog: Dialog) -> None:
            dialogs.append(dialog.message)
            dialog.dismiss()

        page.on("dialog", closed)
        page.add_init_script(_WATCH)
        for one in chosen(everything.seen, of_each=2):
            settled(page, everything.server.url + one.address)
            assert page.evaluate(_PLANTED) == [], one.address
            assert page.evaluate("() => violations") == [], one.address
        assert not dialogs


def test_nobody_stumbles(everything: Walked) -> None:
    """axe finds nothing serious or critical, on a desk and on a phone, in light and dark; nothing scrolls sideways."""
    found: dict[str, list[str]] = {}
    with person(everything.browser, everything.server.url, everything.token, reduced_motion="reduce") as page:
        for one in everything.pages():
            page.emulate_media(color_scheme="light", reduced_motion="reduce")  # else colours are on their way
            settled(page, everything.server.url + one.address)
            found[f"{one.address}, desk"] = axe.findings(page)
            page.emulate_media(color_scheme="dark", reduced_motion="reduce")
            found[f"{one.address}, dark"] = axe.findings(page, "color-contrast")
            page.set_viewport_size({"width": 360, "height": 740})
            found[f"{one.address}, dark phone"] = axe.findings(page, *_NARROW)
            if page.evaluate("() => document.documentElement.scrollWidth") > 360:
                found[f"{one.address}, dark phone"].append(f"scrolls sideways: {page.evaluate(_SIDEWAYS)}")
            page.set_viewport_size({"width": 1440, "height": 900})
    wrong = [f"{where}: {what}" for where, all_of_it in found.items() for what in all_of_it]
    assert not wrong, "\n".join(wrong)


def test_everything_can_be_read_without_scripts(everything: Walked) -> None:
    url, token = everything.server.url, everything.token
    with (
        person(everything.browser, url, token) as scripted,
        person(everything.browser, url, token, java_script_enabled=False) as plain,
    ):
        for one in everything.pages():
            settled(scripted, url + one.address)
            plain.goto(url + one.address)
            assert plain.locator("h1").first.inner_text()
            wanted = _words(str(scripted.evaluate(_WORDS)))
            given = _words(plain.locator("main").inner_text())
            assert len(wanted & given) >= 0.8 * len(wanted), (one.address, sorted(wanted - given)[:30])


def test_a_phone_leads_everywhere(everything: Walked) -> None:
    """To what its bar has no room for, too: with a script by the jump dialog, without by links."""
    url, token = everything.server.url, everything.token
    narrow: ViewportSize = {"width": 390, "height": 844}
    with person(everything.browser, url, token) as page:
        page.set_viewport_size(narrow)
        settled(page, f"{url}/console/catalog")
        page.locator(".topbar [data-open]").click()
        page.locator("#jump a", has_text="Audit").click()
        page.wait_for_url("**/console/audit")
    with person(everything.browser, url, token, java_script_enabled=False) as page:
        page.set_viewport_size(narrow)
        for word in ("Policy", "Agents", "Audit"):
            page.goto(f"{url}/console/catalog")
            assert not page.locator(".topbar button:visible").count()
            page.locator(".elsewhere a", has_text=word).click()
            page.wait_for_url(f"**/console/{word.lower()}")
        page.locator(".elsewhere button").click()
        page.wait_for_url("**/console/login**")


def _words(text: str) -> set[str]:
    """Without numbers: times are local where a script runs, and durations go on."""
    return set(re.findall(r"[A-Za-z_]{3,}", text.lower()))


def test_the_keyboard_is_enough(everything: Walked) -> None:
    with person(everything.browser, everything.server.url, everything.token) as page:
        settled(page, f"{everything.server.url}/console/invocations")
        page.keyboard.press("Tab")
        assert page.evaluate("() => document.activeElement.className") == "skip"
        page.keyboard.press("Enter")
        assert page.evaluate("() => document.activeElement.id") == "main"
        page.keyboard.press("?")
        assert page.locator("#keys").get_attribute("open") is not None
        page.keyboard.press("Escape")
        page.keyboard.press("j")
        page.keyboard.press("j")
        rows = page.locator("[data-rows] > *")
        assert page.locator("[data-rows] > .cur").count() == 1
        assert "cur" in str(rows.nth(1).get_attribute("class"))
        page.keyboard.press("k")
        assert "cur" in str(rows.nth(0).get_attribute("class"))
        page.keyboard.press("Enter")
        page.wait_for_url("**/console/invocations/inv_*")
        page.keyboard.press("g")
        page.keyboard.press("i")
        page.wait_for_url("**/console/inbox**")
        page.keyboard.press("Control+k")
        page.keyboard.type("echo")
        page.wait_for_selector("#jump-found a")
        page.keyboard.press("Escape")
        order = page.evaluate(
            "() => [...document.querySelectorAll('[tabindex]')].filter(one => one.tabIndex > 0).length"
        )
        assert order == 0
