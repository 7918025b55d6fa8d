"""Payloads in memory: bounded like a disk, gone when their time or their process is over."""

from __future__ import annotations

import pytest

from ferrule.contracts.payloads import PayloadGone, PayloadOwner
from ferrule.ledger.payloads.memory import MemoryPayloads
from ferrule.testing import FakeClock
from tests.ledger.payloads.stored import OWNER
from tests.spec.running_app import run_async


def make_store(room: int | None = None) -> MemoryPayloads:
    return MemoryPayloads(FakeClock().now, room)


@run_async
async def test_more_than_there_is_room_for_is_refused_and_leaves_nothing() -> None:
    store = make_store(room=10)
    writer = store.begin(OWNER)
    writer.write(b"12345678")
    with pytest.raises(OSError, match="no room"):
        writer.write(b"345")
    with pytest.raises(OSError, match="given up"):
        writer.close()
    fits = store.begin(OWNER)
    fits.write(b"1234567890")
    assert await store.read(fits.close().uri) == b"1234567890"
    with pytest.raises(OSError, match="no room"):
        store.begin(OWNER).write(b"1")


@run_async
async def test_payloads_of_one_call_have_addresses_of_their_own_and_are_forgotten_together() -> None:
    store, other = make_store(), PayloadOwner("inv_other", "bob", "default")
    uris = [store.begin(OWNER).close().uri for _ in range(3)]
    elsewhere = store.begin(other).close().uri
    assert len({*uris, elsewhere}) == 4
    assert await store.remove(uris[1]) and not await store.remove(uris[1])
    assert store.begin(OWNER).close().uri == uris[1]
    assert await store.forget([OWNER.invocation_id]) == 3
    assert (await store.describe(elsewhere)).owner == other


@run_async
async def test_what_expired_is_told_as_that_until_it_is_swept() -> None:
    clock = FakeClock()
    store = MemoryPayloads(clock.now)
    uri = store.begin(OWNER, expires_at=clock.now() + 1_000_000).close().uri
    assert await store.sweep(clock.now()) == 0
    clock.advance(1)
    with pytest.raises(PayloadGone, match="expired"):
        await store.read(uri)
    assert await store.sweep(clock.now()) == 1
    with pytest.raises(PayloadGone, match="no payload"):
        await store.read(uri)


@run_async
async def test_what_belongs_to_a_session_ends_with_it() -> None:
    store = make_store()
    session, durable = (store.begin(OWNER, scope=scope).close().uri for scope in ("session", "durable"))
    await store.aclose()
    assert (await store.describe(durable)).scope == "durable"
    with pytest.raises(PayloadGone):
        await store.describe(session)


@run_async
async def test_ranges_and_streams_give_the_same_bytes() -> None:
    store, data = make_store(), bytes(range(256)) * 2000
    writer = store.begin(OWNER, name="../a.bin", media_type="no type")
    writer.write(data)
    kept = writer.close()
    assert (kept.name, kept.media_type, kept.size) == ("a.bin", "application/octet-stream", len(data))
    assert await store.read(kept.uri, 5, 7) == data[5:12]
    assert b"".join([piece async for piece in store.stream(kept.uri)]) == data
