"""Looking back at calls: in pages, bounded, and none twice."""

from __future__ import annotations

import pytest

import ferrule
from ferrule.app.app import App
from ferrule.app.views import past_calls
from ferrule.app.views.past_calls import Rows, list_calls
from ferrule.ledger.history.summary import read_brief
from ferrule.model.approval import APPROVE, Identity
from ferrule.testing import memory_app
from tests.driven import driven


@ferrule.tool(read_only=True)
def look() -> str:
    """Look."""
    return "seen"


@ferrule.tool(approval_required=True)
def act() -> str:
    """Act."""
    return "done"


def is_bobs(rows: Rows) -> bool:
    return read_brief(rows).principal == "bob"


async def all_pages(app: App, count: int) -> tuple[list[str], int]:
    found, before, pages = [], None, 0
    while True:
        page = await list_calls(app.store, is_bobs, before=before, count=count)
        found += [rows[0].call for rows in page.calls]
        before, pages = page.before, pages + 1
        if before is None:
            return found, pages


@driven
async def test_a_call_that_moves_while_somebody_pages_is_neither_repeated_nor_missed() -> None:
    async with memory_app(tools=[look, act]) as app:
        bob, eve = app.surface(principal="bob"), app.surface(principal="eve")
        first = (await bob.call("act")).invocation_id
        made = [first]
        for _ in range(5):
            made.append((await bob.call("look")).invocation_id)
            await eve.call("look")
        page = await list_calls(app.store, is_bobs, before=None, count=3)
        await app.inbox(Identity("amy", "amy", frozenset({APPROVE}))).approve(first)
        rest = await list_calls(app.store, is_bobs, before=page.before, count=50)
        assert [rows[0].call for rows in (*page.calls, *rest.calls)] == made[::-1]
        assert rest.before is None
        assert rest.calls[-1][-1].outcome == "succeeded"


@driven
async def test_a_page_looks_only_so_far(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(past_calls, "_ROWS", 10)
    monkeypatch.setattr(past_calls, "_MOST_ROWS", 20)
    async with memory_app(tools=[look, act]) as app:
        bob, eve = app.surface(principal="bob"), app.surface(principal="eve")
        made = (await bob.call("look")).invocation_id
        for _ in range(100):
            await eve.call("look")
        page = await list_calls(app.store, is_bobs, before=None, count=5)
        assert (page.calls, page.before is None) == ([], False)
        found, pages = await all_pages(app, 5)
        assert found == [made]
        assert pages >= 5
