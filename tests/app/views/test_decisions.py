"""What people decided lately: found once, then followed, the newest first."""

from __future__ import annotations

import pytest

import ferrule
from ferrule.app.app import App
from ferrule.app.views import decisions
from ferrule.app.views.decisions import Decisions, Rows, decisions_of
from ferrule.ledger.history.summary import read_brief
from ferrule.model.approval import APPROVE, Identity
from ferrule.testing import memory_app
from tests.driven import driven

AMY = Identity("amy", "amy", frozenset({APPROVE}))


@ferrule.tool(approval_required=True)
def act() -> str:
    """Act."""
    return "done"


@ferrule.tool(read_only=True)
def look() -> str:
    """Look."""
    return "seen"


def anybodys(rows: Rows) -> bool:
    return True


async def approved(app: App, principal: str = "bob") -> str:
    call = (await app.surface(principal=principal).call("act")).invocation_id
    await app.inbox(AMY).approve(call)
    return call


async def found(looking: Decisions, count: int = 10) -> list[str]:
    return [one.rows[0].call for one in await looking.list_since(0, anybodys, count)]


@driven
async def test_only_calls_that_a_person_decided_are_there_the_newest_first() -> None:
    async with memory_app(tools=[act, look]) as app:
        first = await approved(app)
        await app.surface().call("look")
        await app.surface().call("act")
        second = await approved(app)
        looking = decisions_of(app.store)
        assert await found(looking) == [second, first]
        assert await found(looking, 1) == [second]
        assert decisions_of(app.store) is looking


@driven
async def test_a_later_look_finds_what_came_since(monkeypatch: pytest.MonkeyPatch) -> None:
    async with memory_app(tools=[act, look]) as app:
        looking = Decisions(app.store)
        assert await found(looking) == []
        first = await approved(app)
        assert await found(looking) == [first]
        monkeypatch.setattr(decisions, "_STEP", 1)
        monkeypatch.setattr(decisions, "_STEPS", 1)
        made = [await approved(app) for _ in range(3)]
        assert await found(looking) == [*made[::-1], first], "too much to follow is looked through again"


@driven
async def test_calls_of_others_and_of_earlier_are_left_out() -> None:
    async with memory_app(tools=[act]) as app:
        await approved(app, "eve")
        bobs = await approved(app, "bob")
        looking = Decisions(app.store)
        mine = await looking.list_since(0, lambda rows: read_brief(rows).principal == "bob", 10)
        assert [one.rows[0].call for one in mine] == [bobs]
        assert await looking.list_since((mine[0].fate.decided_at or 0) + 10**12, anybodys, 10) == []
