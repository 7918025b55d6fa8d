"""Policy, agents and audit with a real browser: a case is asked, a table is read by keys, and the ledger is checked."""

from __future__ import annotations

from pathlib import Path

from tests.servers.api.catalog.test_reach import manifest
from tests.servers.console.browser.browser import browsing, person
from tests.servers.local_server import running_process

HOSTILE = "<img src=x onerror=document.title='owned'>"
POLICY = f"""
[[rules]]
id = "no-weighing"
decision = "deny"
tool = "weigh"
reason = "{HOSTILE}"

[[rules]]
id = "small-parcels"
decision = "allow"
tool = "pack"
when = {{ kilos = {{ at_most = 5 }} }}
"""


def test_somebody_asks_the_policy_and_checks_the_ledger(tmp_path: Path) -> None:
    (tmp_path / "ferrule.toml").write_text("")
    (tmp_path / "policy.toml").write_text(POLICY)
    manifest(tmp_path, "packer", {"pack": HOSTILE, "weigh": "Weigh a parcel"})
    with running_process(tmp_path) as server, browsing() as browser:
        owner = server.token(tmp_path, "owner.token")
        with person(browser, server.url, owner) as page:
            page.goto(f"{server.url}/console/policy")
            assert page.locator("#rules tbody tr").count() == 2
            page.fill("#t-tool", "packer.pack")
            page.fill("#t-args", '{"kilos": 3}')
            page.get_by_role("button", name="Evaluate").click()
            page.wait_for_selector("#case >> text=every matcher fits")
            assert "/console/policy?tool=packer.pack" in page.url
            page.reload()
            assert page.input_value("#t-args") == '{"kilos": 3}'
            assert "small-parcels" in page.locator("#case").inner_text()
            page.fill("#t-args", "{")
            page.get_by_role("button", name="Evaluate").click()
            page.wait_for_selector("#case >> text=This is not JSON")

            page.goto(f"{server.url}/console/agents/packer")
            assert "1 depends on the call and 1 is denied" in page.locator("main .note").first.inner_text()
            page.keyboard.press("j")
            page.keyboard.press("j")
            assert page.evaluate("document.activeElement.textContent") == "packer.weigh"
            page.goto(f"{server.url}/console/agents?view=matrix")
            assert page.locator(".matrix tbody tr").count() == 2
            assert page.title().startswith("Agents and tools")

            page.goto(f"{server.url}/console/audit")
            assert "not checked" in page.locator(".side-foot").inner_text()
            page.click("text=Verify now")
            page.wait_for_selector("#audit >> text=The ledger is intact")
            page.reload()
            assert "intact" in page.locator(".side-foot").inner_text()
            with page.expect_download() as download:
                page.click("text=Download")
            assert download.value.suggested_filename == "ledger.jsonl"
