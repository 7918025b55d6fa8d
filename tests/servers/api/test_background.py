"""Work behind requests: it goes on without its request, streams are counted, and they end with their client or the server."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator
from typing import Any

import pytest

from ferrule.model.approval import CALL, Identity
from ferrule.servers.api.background import Background
from ferrule.servers.auth.callers import Caller, Refused
from tests.driven import driven

ANN = Caller(Identity("ann", "here", frozenset({CALL})))
BOB = Caller(Identity("bob", "here", frozenset({CALL})))


class FakeRequest:
    """A fake request: the client stays until `left` is set."""

    def __init__(self) -> None:
        self.left = asyncio.Event()

    async def wait_until_gone(self) -> None:
        await self.left.wait()


async def endless() -> AsyncIterator[bytes]:
    yield b"first"
    await asyncio.Event().wait()


async def short() -> AsyncIterator[bytes]:
    yield b"one"
    yield b"two"


@driven
async def test_a_stream_gives_its_parts_and_makes_room_when_it_ends() -> None:
    behind, client = Background(1), FakeRequest()
    for _ in range(2):
        stream: Any = behind.stream(ANN, client, short())  # type: ignore[arg-type]
        assert [part async for part in stream] == [b"one", b"two"]


@driven
async def test_one_principal_holds_so_many_streams_and_another_has_its_own() -> None:
    behind, client = Background(1), FakeRequest()
    stream: Any = behind.stream(ANN, client, endless())  # type: ignore[arg-type]
    assert await anext(stream) == b"first"
    with pytest.raises(Refused) as refused:
        behind.require_stream_slot(ANN)
    assert (refused.value.status, refused.value.code, refused.value.retry_after) == (429, "too_many_streams", 5)
    behind.require_stream_slot(BOB)
    await stream.aclose()
    behind.require_stream_slot(ANN)


@driven
@pytest.mark.parametrize("is_client", [True, False], ids=["the client leaves", "the server ends"])
async def test_a_stream_ends_when_its_client_leaves_or_the_server_ends(is_client: bool) -> None:
    behind, client = Background(1), FakeRequest()
    stream: Any = behind.stream(ANN, client, endless())  # type: ignore[arg-type]
    assert await anext(stream) == b"first"
    if is_client:
        client.left.set()
    else:
        await behind.aclose()
    assert [part async for part in stream] == []
    behind.require_stream_slot(ANN)


@driven
async def test_work_goes_on_whoever_waits_and_the_same_work_is_done_by_one_at_a_time() -> None:
    behind = Background(1)

    async def work() -> int:
        async with behind.lock_for("count"):
            return 7

    async with behind.lock_for("count"):
        task = behind.start(work())
        await asyncio.sleep(0)
        assert not task.done()
        async with behind.lock_for("other"):
            pass
    assert await task == 7
