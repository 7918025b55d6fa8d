"""What only the ledger in memory can do: crash, fail and be looked into, for other tests."""

from __future__ import annotations

import asyncio

import pytest
from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PrivateKey

from ferrule.errors import LedgerUnavailable
from ferrule.ledger.chain import format_head
from ferrule.ledger.stores.memory.store import MemoryStore
from tests.ledger.stores.entries import make_entry


def test_a_crash_loses_what_was_recorded_and_nothing_else() -> None:
    async def main() -> None:
        store = MemoryStore()
        await store.open()
        await store.commit(make_entry("a"))
        store.record(make_entry("b"))
        store.crash()
        with pytest.raises(LedgerUnavailable):
            store.record(make_entry("c"))
        after = store.sibling()
        await after.open()
        assert after.instance != store.instance
        assert [row.call for row in await after.rows_after(1)] == ["a"]

    asyncio.run(main())


def test_a_refusal_is_felt_by_every_write_and_can_end() -> None:
    async def main() -> None:
        store = MemoryStore()
        await store.open()
        store.record(make_entry("a"))
        store.refusal = "the disk is full"
        for attempt in (lambda: store.commit(make_entry("b")), store.flush, lambda: store.rows_of("a")):
            with pytest.raises(LedgerUnavailable, match="disk is full"):
                await attempt()
        with pytest.raises(LedgerUnavailable, match="disk is full"):
            store.record(make_entry("c"))
        store.refusal = ""
        await store.commit(make_entry("d"))
        assert [row.call for row in await store.rows_after(1)] == ["a", "d"]

    asyncio.run(main())


def test_closing_tells_how_many_rows_were_lost() -> None:
    async def main() -> None:
        store = MemoryStore()
        await store.open()
        store.record(make_entry("a"))
        store.refusal = "the disk is full"
        with pytest.raises(LedgerUnavailable, match="1 recorded"):
            await store.aclose()

    asyncio.run(main())


def test_the_head_is_signed() -> None:
    key = Ed25519PrivateKey.generate()
    head = MemoryStore(key).sign_head()
    assert head.seq == 1
    key.public_key().verify(head.signature, format_head(head.ledger, head.seq, head.row, head.at))
