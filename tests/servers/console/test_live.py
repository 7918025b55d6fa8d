"""Pages that are told what is new: quickly, not too often, not too many, and not after their time."""

from __future__ import annotations

import asyncio
import gc
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any

import pytest

import ferrule
from ferrule.access.keys import AGENT_FILE, Access
from ferrule.errors import LedgerUnavailable
from ferrule.model.approval import APPROVE
from ferrule.model.serving import LimitSettings, ServeSettings
from ferrule.servers.console import live as module
from ferrule.servers.console.rendering import FOLDER
from tests.driven import driven
from tests.servers.console.browsing import Person, signed_in
from tests.servers.local_server import InProcessServer, Open, running_server

WAIT_SECONDS = 20.0


@ferrule.tool(read_only=True, concurrency_safe=True)
def add(a: int, b: int) -> int:
    """Adds two numbers.

    Args:
        a: One of them.
        b: The other.
    """
    return a + b


async def called(stand: InProcessServer) -> None:
    headers = {"Authorization": f"Bearer {stand.read_token(AGENT_FILE)}"}
    body = {"tool": "add", "arguments": {"a": 1, "b": 2}}
    assert (await stand.ask("POST", "/v1/calls", body, headers)).status == 200


async def listening(person: Person) -> Open:
    """An open page, told that it is."""
    opened = person.stand.open("GET", "/console/live", headers={"Cookie": person.cookie})
    assert await opened.wait_for_status() == 200
    assert await opened.read_event() == {"retry": "1000", "event": "beat", "data": "0"}
    return opened


async def heard(opened: Open, topic: str) -> None:
    async with asyncio.timeout(WAIT_SECONDS):
        while (event := await opened.read_event()) is not None:
            if event["event"] == topic:
                return
    raise AssertionError(f"the stream ended without {topic}")


async def ended(opened: Open) -> None:
    async with asyncio.timeout(WAIT_SECONDS):
        while await opened.read_event() is not None:
            pass


def live_of(stand: InProcessServer) -> module.LiveUpdates:
    (end,) = [one for one in stand.edge.ending if isinstance(getattr(one, "__self__", None), module.LiveUpdates)]
    live: module.LiveUpdates = end.__self__  # type: ignore[attr-defined]  # a bound method
    return live


@asynccontextmanager
async def looking(folder: Path, **limits: Any) -> AsyncIterator[Person]:
    settings = ServeSettings(auth=True, limits=LimitSettings(**limits))
    async with running_server(folder, tools=[add], settings=settings) as stand:
        yield await signed_in(stand)


@driven
async def test_a_page_is_told_of_calls(tmp_path: Path) -> None:
    async with looking(tmp_path) as person:
        opened = await listening(person)
        assert opened.headers["content-type"] == "text/event-stream"
        assert "content-security-policy" in opened.headers
        await called(person.stand)
        await heard(opened, "calls")
        await opened.leave()
        assert opened.task.done()


@driven
async def test_what_is_told_holds_nobodys_data(tmp_path: Path) -> None:
    async with looking(tmp_path) as person:
        opened = await listening(person)
        await called(person.stand)
        event = await opened.read_event()
        assert event is not None and set(event) == {"event", "data"} and event["data"] == "1"
        await opened.leave()


@driven
async def test_many_calls_are_few_words(tmp_path: Path) -> None:
    async with looking(tmp_path) as person:
        opened = await listening(person)
        for _ in range(100):
            await called(person.stand)
        await heard(opened, "calls")
        await asyncio.sleep(0)
        said = 1
        with pytest.raises(TimeoutError):
            async with asyncio.timeout(1.0):
                while await opened.read_event():
                    said += 1
        assert said < 20


@driven
async def test_a_revoked_key_ends_its_stream(tmp_path: Path) -> None:
    async with looking(tmp_path) as owner:
        access = Access(tmp_path)
        token, secret = access.add(access.local_owner(), "mara", [APPROVE])
        theirs, mine = await listening(await signed_in(owner.stand, secret)), await listening(owner)
        access.revoke(access.local_owner(), token.id)
        await ended(theirs)
        await called(owner.stand)
        await heard(mine, "calls")
        await mine.leave()


@driven
async def test_one_person_holds_only_so_many_open(tmp_path: Path) -> None:
    async with looking(tmp_path, streams=3) as person:
        held = [await listening(person) for _ in range(3)]
        refused = await person.see("/live")
        assert refused.status == 429 and int(refused.headers["retry-after"]) > 0
        agent = await listening(await signed_in(person.stand, person.stand.read_token(AGENT_FILE)))
        await held.pop().leave()
        held.append(await listening(person))
        for opened in (*held, agent):
            await opened.leave()


@driven
async def test_stopping_ends_every_stream_at_once(tmp_path: Path) -> None:
    async with looking(tmp_path) as person:
        held = [await listening(person) for _ in range(20)]
        async with asyncio.timeout(2.0):
            await person.stand.edge.end_streams()
            for opened in held:
                await ended(opened)
                await opened.task


@driven
async def test_a_thousand_visits_leave_nothing_behind(tmp_path: Path) -> None:
    async with looking(tmp_path) as person:
        await (await listening(person)).leave()
        live = live_of(person.stand)
        gc.collect()
        before = len(asyncio.all_tasks())
        for _ in range(50):
            for opened in [await listening(person) for _ in range(20)]:
                await opened.leave()
        assert not live._listeners
        async with asyncio.timeout(WAIT_SECONDS):
            while len(asyncio.all_tasks()) > before:
                await asyncio.sleep(0.05)


@driven
async def test_who_never_reads_costs_a_few_words(tmp_path: Path) -> None:
    async with looking(tmp_path) as person:
        opened = await listening(person)
        live = live_of(person.stand)
        (listener,) = live._listeners
        for _ in range(10_000):
            listener.notify(module.EVERYTHING)
        assert len(listener._topics) == len(module.EVERYTHING)
        await opened.leave()


@driven
async def test_a_ledger_that_was_lost_is_followed_again(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    monkeypatch.setattr(module, "_LOST_SECONDS", 0.02)
    monkeypatch.setattr(module, "_BEAT_SECONDS", 0.1)
    async with looking(tmp_path) as person:
        opened = await listening(person)
        await called(person.stand)
        await heard(opened, "calls")
        store = person.stand.app.store
        real = type(store).wait_after

        async def broken(seq: int, timeout: float) -> bool:
            raise LedgerUnavailable("the disk is gone")

        monkeypatch.setattr(store, "wait_after", broken, raising=False)
        monkeypatch.setattr(store, "rows_before", broken, raising=False)
        async with asyncio.timeout(WAIT_SECONDS):  # nothing says that all is well
            while b": no news" not in (await opened.read_part() or b""):
                pass
        assert caplog.text.count("cannot follow the ledger") == 1
        newcomer = await listening(person)
        monkeypatch.setattr(store, "wait_after", real.__get__(store))
        monkeypatch.setattr(store, "rows_before", type(store).rows_before.__get__(store))
        await heard(opened, "policy")  # whatever it was: everything may be new
        await heard(newcomer, "calls")
        await called(person.stand)
        await heard(opened, "calls")
        for one in (opened, newcomer):
            await one.leave()


@driven
async def test_what_came_while_a_page_was_opened_is_told(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    async with looking(tmp_path) as person:
        first = await listening(person)
        real = module.LiveUpdates._find_newest

        async def late(self: module.LiveUpdates) -> int:
            """Somebody calls between the look at the ledger and the begin of the stream."""
            since = await real(self)
            await called(person.stand)
            await heard(first, "calls")
            return since

        monkeypatch.setattr(module.LiveUpdates, "_find_newest", late)
        second = await listening(person)
        await heard(second, "calls")
        for one in (first, second):
            await one.leave()


def test_the_script_listens_to_every_topic() -> None:
    script = (FOLDER / "console.js").read_text()
    for topic in module.EVERYTHING:
        assert f"'{topic}'" in script
