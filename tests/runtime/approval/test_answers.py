"""Tasks are handed on, reminded of, and expire; all of it stands in the ledger, sealed."""

from __future__ import annotations

import asyncio
import json
from collections.abc import Callable
from typing import Any

import msgspec
import pytest

from ferrule.app.app import App
from ferrule.errors import AccessError, InboxError
from ferrule.ledger.stores.memory.store import MemoryStore
from ferrule.model.journal import Entry, NewsBody
from ferrule.model.result import Result
from ferrule.runtime.approval.key import ApprovalKey
from ferrule.testing import FakeClock, memory_app
from tests.driven import driven
from tests.runtime.executors.human.human_tool import POLICY, SETTINGS, asked, definition, person
from tests.runtime.executors.rest.server import answer, serving

FILE = "tools/review-claim.tool.md"
GOOD = {"verdict": "pay"}
ASSIGNED = "  x-assignees: [ben]\n  x-remind-seconds: 60\n  x-expires-seconds: 600"


class Heard:
    """A notifier that remembers, and can be waited for."""

    name = "heard"

    def __init__(self) -> None:
        self.notices: list[dict[str, Any]] = []
        self.news = asyncio.Condition()

    async def notify(self, notice: dict[str, Any]) -> None:
        async with self.news:
            self.notices.append(notice)
            self.news.notify_all()

    async def aclose(self) -> None:
        """Nothing is open."""

    async def until(self, is_there: Callable[[list[dict[str, Any]]], bool]) -> None:
        async with self.news:
            await self.news.wait_for(lambda: is_there(self.notices))

    @property
    def kinds(self) -> list[str]:
        return [notice["type"] for notice in self.notices]


def _app(url: str, more: str = ASSIGNED, **options: Any) -> Any:
    made = {"policy": POLICY, "settings": SETTINGS, **options}
    return memory_app(definitions={FILE: definition(url, more)}, **made)


@driven
async def test_whoever_a_task_is_handed_on_to_may_answer_it_and_everybody_sees_by_whom() -> None:
    heard = Heard()
    async with serving(answer(201)) as server, _app(server.url, notifiers=[heard]) as app:
        call = await asked(app)
        await person(app, "ben").delegate(call, "cleo", reason="she knows the claim")
        seen = await person(app, "ben").get(call)
        assert [(each.by, each.to, each.reason) for each in seen.delegations] == [
            ("ben", "cleo", "she knows the claim")
        ]
        assert seen.assignees == ("ben", "cleo")
        await heard.until(lambda notices: len(notices) == 2)
        assert heard.kinds == ["task_waiting", "task_delegated"]
        assert heard.notices[1]["delegated"] == {"by": "ben", "to": "cleo", "reason": "she knows the claim"}
        answered = await person(app, "cleo").answer(call, GOOD)
        assert isinstance(answered.result, Result) and answered.result.structured_content == GOOD


@driven
async def test_only_who_may_answer_a_task_hands_it_on_and_only_while_it_waits() -> None:
    async with serving(answer(201)) as server, _app(server.url) as app:
        call = await asked(app)
        with pytest.raises(AccessError):
            await person(app, "eve").delegate(call, "eve")
        with pytest.raises(AccessError):
            await person(app, "eve").answer(call, GOOD)
        for nobody in ("", " ", "group:", "a\nb", "x" * 300):
            with pytest.raises(InboxError):
                await person(app, "ben").delegate(call, nobody)
        await person(app, "ben").delegate(call, "group:night-shift")
        await person(app, "dan", "night-shift").delegate(call, "eve")
        await person(app, "eve").answer(call, GOOD)
        with pytest.raises(InboxError):
            await person(app, "ben").delegate(call, "cleo")


@driven
async def test_nobody_is_asked_for_leave_to_ask() -> None:
    """AML-21: the run pauses until a human answers; in the usual mode that is all it waits for."""
    async with serving(answer(201)) as server, _app(server.url, policy="") as app:
        pending = await app.surface(channel="mcp:1").call("review-claim", {"claim": "c"})
        assert pending.state == "needs_input"
    rule = '[[rules]]\nid = "first"\ndecision = "ask"\ntool = "review-claim"\n'
    async with serving(answer(201)) as server, _app(server.url, policy=rule) as app:
        pending = await app.surface(channel="mcp:1").call("review-claim", {"claim": "c"})
        assert pending.state == "awaiting_approval"


@driven
async def test_an_approval_cannot_be_handed_on() -> None:
    async with serving(answer(201)) as server, _app(server.url, policy='mode = "ask_all"') as app:
        pending = await app.surface(channel="mcp:1").call("review-claim", {"claim": "c"})
        with pytest.raises(InboxError, match="policy"):
            await person(app, "ben").delegate(pending.invocation_id, "cleo")


@driven
async def test_a_delegation_that_was_written_past_us_gives_nobody_anything() -> None:
    async with serving(answer(201)) as server, _app(server.url) as app:
        call = await asked(app)
        await person(app, "ben").delegate(call, "cleo")
        genuine = (await app.store.news_of(call))[-1]
        data = {**genuine.news().happened[0]["data"], "to": "eve"}
        body = NewsBody([{"at": genuine.at, "event": "tool.invocation.delegated", "data": data}])
        await app.store.commit(Entry("news", call, genuine.at, genuine.tool, "delegated", body))
        with pytest.raises(AccessError):
            await person(app, "eve").answer(call, GOOD)
        assert (await person(app, "cleo").answer(call, GOOD)).result is not None


@driven
async def test_a_task_whose_assignees_were_changed_in_the_ledger_cannot_be_answered() -> None:
    store, key = MemoryStore(), ApprovalKey.generate()
    async with serving(answer(201)) as server:
        async with _app(server.url, store=store, key=key) as app:
            call = await asked(app)
        _rewrite(store, call, b"ben", b"eve")
        async with _app(server.url, store=store, key=key) as app:
            with pytest.raises(InboxError, match="changed"):
                await person(app, "eve").answer(call, GOOD)


def _rewrite(store: MemoryStore, call: str, before: bytes, after: bytes) -> None:
    for rows in (store.ledger.rows, store.ledger._calls[call]):
        for number, row in enumerate(rows):
            if row.call == call and row.kind == "parked":
                rows[number] = msgspec.structs.replace(row, body=row.body.replace(before, after))


@driven
async def test_an_answer_that_was_changed_in_the_ledger_is_not_what_the_tool_gets() -> None:
    store, key = MemoryStore(), ApprovalKey.generate()
    async with serving(answer(201)) as server:
        async with _app(server.url, store=store, key=key) as app:
            call = await asked(app)
            await person(app, "ben").answer(call, GOOD, resume=False)
        for rows in (store.ledger.rows, store.ledger._calls[call]):
            for number, row in enumerate(rows):
                if row.kind == "answered" and row.payload is not None:
                    changed = row.payload.replace(b'"pay"', b'"no!"')
                    assert changed != row.payload
                    rows[number] = msgspec.structs.replace(row, payload=changed)
        async with _app(server.url, store=store, key=key) as app:
            ended = await app.calls.resume(call)
            assert isinstance(ended, Result) and ended.error is not None
            assert ended.error.error_code == "record_changed"


async def _sweep(app: App, heard: Heard, count: int) -> None:
    """Let the app look after its ledger until so many notices are there."""
    await heard.until(lambda notices: len(notices) >= count)


@driven
async def test_people_are_reminded_once_in_an_interval_over_restarts_and_processes() -> None:
    clock, key, heard = FakeClock(), ApprovalKey.generate(), Heard()
    store = MemoryStore(clock=clock.now)
    options: dict[str, Any] = {"store": store, "key": key, "clock": clock, "notifiers": [heard], "tends": True}
    async with serving(answer(201)) as server:
        async with _app(server.url, **options) as app:
            call = await asked(app)
            await _sweep(app, heard, 1)
            clock.advance(61)
            await _sweep(app, heard, 2)
            for _ in range(3):
                await app.remind(await app.store.open_calls("needs_input"))
        async with _app(server.url, **options) as one, _app(server.url, **options) as other:
            for app in (one, other):
                await app.remind(await app.store.open_calls("needs_input"))
            assert heard.kinds == ["task_waiting", "reminder"]
            clock.advance(200)
            waiting = await one.store.open_calls("needs_input")
            await asyncio.gather(*(app.remind(waiting) for app in (one, other)))
            await _sweep(one, heard, 3)
            assert heard.kinds == ["task_waiting", "reminder", "reminder"]
            assert len({notice["id"] for notice in heard.notices}) == 3
            assert heard.notices[1]["answer_with"] == f"ferrule answer {call} ANSWER"


@driven
async def test_a_task_with_no_reminders_is_told_once() -> None:
    heard, clock = Heard(), FakeClock()
    more = "  x-remind-seconds: 0\n  x-expires-seconds: 6000"
    async with serving(answer(201)) as server, _app(server.url, more, notifiers=[heard], clock=clock) as app:
        await asked(app)
        clock.advance(5000)
        await app.remind(await app.store.open_calls("needs_input"))
        await heard.until(lambda notices: len(notices) == 1)
        assert heard.kinds == ["task_waiting"]


@driven
async def test_a_task_that_nobody_answers_expires_and_so_does_its_token() -> None:
    clock = FakeClock()
    async with serving(answer(201)) as server, _app(server.url, clock=clock) as app:
        call = await asked(app)
        token = json.loads(server.seen[0].body)["callback"]["token"]
        clock.advance(601)
        assert await app.answer_callback(token, GOOD) == "refused"
        with pytest.raises(InboxError, match="expired"):
            await person(app, "ben").answer(call, GOOD)
        await app.calls.sweep()
        ended = await app.result(call)
        assert isinstance(ended, Result) and ended.status == "timed_out"
