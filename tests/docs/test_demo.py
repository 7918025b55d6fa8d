"""The demo workspace: nothing wrong with it, every tool answers, and `make run` tells its story as often as one likes."""

from __future__ import annotations

import asyncio
import json
import shutil
from pathlib import Path

import pytest
from scripts import demo

import ferrule
from ferrule.workspace.releases import build, load_catalog
from ferrule.workspace.workspace import Workspace
from tests import ROOT
from tests.cli import run

DEMO = ROOT / "demo"
SAMPLES: dict[str, dict[str, object]] = {
    "search_books": {"query": "austen"},
    "order_status": {"order_number": "BK-104233"},
    "refund_order": {"order_number": "BK-104233", "amount_eur": 12, "reason": "late"},
    "delete_account": {"email": "J.Ferrer@Example.org", "ticket": "T-5512"},
    "ask_librarian": {"question": "What should one read after Emma?"},
    "Delivery.GetQuote": {"weight_kg": 2.5, "country": "PT"},
    "Delivery.BookCourier": {"order_number": "BK-104301", "day": "2026-05-04"},
    "stock_levels": {"isbn": "9780000000019"},
    "restock_book": {"isbn": "9780000000019", "copies": 5, "supplier": "harbour"},
    "back-office.sales_report": {"from": "2026-05-04", "until": "2026-05-05"},
    "back-office.export_catalog": {"subject": "poetry"},
    "back-office.create_discount": {"percent": 10, "scope": "poetry"},
    "northlight.new_releases": {"subject": "poetry"},
    "northlight.reserve_copies": {"title": "Tides and Tables", "copies": 5},
    "bookshop.count_shelves": {"shelves": 2, "seconds": 0.02},
    "bookshop.print_labels": {"labels": 2, "seconds": 0.02},
}


@pytest.fixture
def copied(tmp_path: Path) -> Path:
    return Path(shutil.copytree(DEMO, tmp_path / "demo", ignore=shutil.ignore_patterns(".ferrule", "ferrule.pub")))


def test_demo_has_no_mistake_and_shows_all_four_dialects(copied: Path) -> None:
    workspace = Workspace.open(copied)
    report = workspace.check(now="2026-05-01")
    assert not report.diagnostics, "\n".join(f"{d.file}:{d.line} {d.rule} {d.message}" for d in report.diagnostics)
    assert report.summary.tools == 12
    build(workspace)
    shown = {tool.dialect for tool in load_catalog(workspace).tools}
    assert shown == {"aml", "adl", "oxp", "agent_tool"}


def test_policy_says_what_its_cases_expect(copied: Path) -> None:
    ran = run.ferrule("policy", "test", folder=copied)
    assert ran.code == 0, ran.out + ran.err
    assert "0 failed" in ran.out


def test_every_tool_answers_once_it_is_allowed(copied: Path) -> None:
    async def main() -> None:
        (copied / "policy.toml").write_text('mode = "trusted"\n', encoding="utf-8")
        async with ferrule.open(copied) as app:
            surface = app.surface(principal="lena")
            assert set(surface.surface.entries) == set(SAMPLES)
            for name, arguments in SAMPLES.items():
                outcome = await surface.call(name, arguments)
                assert outcome.is_pending is (name == "ask_librarian"), f"{name}: {outcome}"
                assert outcome.is_pending or not outcome.is_error, f"{name}: {outcome}"
            assert (
                await surface.call("order_status", {"order_number": "BK-104233"})
            ).is_error  # went with its customer

    asyncio.run(main())


def test_the_story_can_be_told_twice(
    copied: Path, monkeypatch: pytest.MonkeyPatch, capfd: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setenv("NO_COLOR", "1")
    for _ in range(2):
        assert demo.main(copied) == 0, capfd.readouterr().out
        told = capfd.readouterr().out
        for words in (
            "12 tools in 17 files: no problems",
            '"state": "delivered"',
            "waiting: ",
            "the call succeeded",
            '"left_eur":49.5',
            "denied: rule 'goodwill-has-an-end'",
            "nothing wrong in",
        ):
            assert words in told, told


def test_a_story_that_goes_astray_says_so(copied: Path, capfd: pytest.CaptureFixture[str]) -> None:
    (copied / "tools" / "order_status.tool.md").write_text("---\ntool_id: order_status\n---\n", encoding="utf-8")
    assert demo.main(copied) == 1
    assert "To start afresh: git checkout demo" in capfd.readouterr().out


def test_a_refund_the_owner_can_approve_is_left_waiting_whatever_else_waits(
    copied: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.delenv("FERRULE_TOKEN", raising=False)
    for_accounts = demo.refund("BK-104198", 620, "damaged")
    assert run.ferrule(*for_accounts, folder=copied).code == 3
    for _ in range(2):
        demo._leave_one_waiting(copied)
        waiting = json.loads(run.ferrule("pending", "--json", folder=copied).out)
        assert [call["input"]["amount_eur"] for call in waiting if call["why_not"] is None] == [60]
        assert len(waiting) == 2
