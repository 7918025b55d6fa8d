"""The catalog with a real browser: typing, keys, filters, the page of a tool, the switch, and narrow screens."""

from __future__ import annotations

from pathlib import Path

from playwright.sync_api import Page

from tests.servers.api.catalog.catalog_samples import write
from tests.servers.console.browser.browser import browsing, person
from tests.servers.local_server import running_process

BAD = "<img src=x onerror=window.harmed=1><script>window.harmed=1</script>"


def rows(page: Page) -> list[str]:
    return [link.inner_text() for link in page.locator("[data-rows] a.main").all()]


def test_somebody_looks_through_the_catalog(tmp_path: Path) -> None:
    (tmp_path / "ferrule.toml").write_text('namespace = "shop"\n')
    write(tmp_path, "refund-order", description=f"Pays an order back. {BAD}")
    write(tmp_path, "find-order", description="Looks an order up.", type="retrieval", owner="desk")
    write(tmp_path, "send-parcel", description="Sends a parcel.", owner="desk")
    with running_process(tmp_path) as server, browsing() as browser:
        broken = tmp_path / "tools" / "send-parcel.tool.md"
        broken.write_text(broken.read_text().replace("  owner: desk", f"  owner: desk\n  colour: {BAD}"))
        token = server.token(tmp_path, "owner.token")
        with person(browser, server.url, token) as page:
            page.goto(f"{server.url}/console/catalog")
            assert rows(page) == ["find-order", "refund-order", "send-parcel"]

            page.keyboard.press("/")
            page.keyboard.type("parcel", delay=20)
            page.wait_for_url("**/catalog?q=parcel")
            page.wait_for_selector("#catalog-sentence:text-is('1 of 3 tools matches.')")
            assert rows(page) == ["send-parcel"]
            assert page.evaluate("document.activeElement.id") == "q", "typing goes on where it was"
            page.fill("#q", "")
            page.wait_for_selector("[data-rows] tr:nth-child(3)")

            page.select_option("#by-owner", "desk")
            page.wait_for_url("**/catalog?owner=desk")
            page.wait_for_selector("[data-rows] tr:nth-child(3)", state="detached")
            page.click(".chip:has-text('Reads')")
            page.wait_for_url("**/catalog?owner=desk&effect=reads")
            assert rows(page) == ["find-order"]
            page.click(".chip:has-text('Clear filters')")
            page.wait_for_selector("[data-rows] tr:nth-child(3)")

            page.keyboard.press("j")
            page.keyboard.press("j")
            page.keyboard.press("Enter")
            page.wait_for_url("**/catalog/refund-order")
            assert BAD in page.inner_text(".prose")
            assert page.locator(".tree .nm").first.inner_text().startswith("order")
            page.click("text=Turn off")
            page.fill("#reason", "a fire")
            page.click("button:has-text('Turn off refund-order')")
            page.wait_for_selector(".head .st-deny:has-text('turned off')")

            page.goto(f"{server.url}/console/catalog?view=diagnostics")
            assert "colour" in page.locator(".src .mk-warn u").all_inner_texts()
            for width in (900, 400):
                page.set_viewport_size({"width": width, "height": 800})
                for path in ("catalog", "catalog?view=diagnostics", "catalog/send-parcel"):
                    page.goto(f"{server.url}/console/{path}")
                    wide = page.evaluate("document.documentElement.scrollWidth - document.documentElement.clientWidth")
                    assert wide <= 0, (path, width)
                    assert page.evaluate("window.harmed") is None
        without = {"java_script_enabled": False}
        with person(browser, server.url, token, **without) as page:
            page.goto(f"{server.url}/console/catalog")
            page.fill("#q", "parcel")
            page.press("#q", "Enter")
            page.wait_for_url("**/catalog?q=parcel*")
            assert rows(page) == ["send-parcel"]
