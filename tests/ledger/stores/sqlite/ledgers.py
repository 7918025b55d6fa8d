"""Ledgers in files for tests: opened, filled, refused, and changed behind their back."""

from __future__ import annotations

import asyncio
import sqlite3
from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any

import pytest
from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PrivateKey

from ferrule.errors import LedgerError, LedgerUnavailable
from ferrule.ledger.stores.sqlite.store import SqliteStore
from tests.ledger.stores.entries import make_entry

KEY = Ed25519PrivateKey.generate()
WAIT = 20.0


@asynccontextmanager
async def open_store(path: Path, **settings: Any) -> AsyncIterator[SqliteStore]:
    """A ledger, open until the end of the block."""
    store = SqliteStore(path, settings.pop("key", KEY), **settings)
    await store.open()
    try:
        yield store
    finally:
        await store.aclose()


def run_bounded(story: Callable[[], Awaitable[None]]) -> None:
    """Tell a story within bounds."""

    async def bounded() -> None:
        await asyncio.wait_for(story(), WAIT)

    asyncio.run(bounded())


def make_ledger(path: Path, *calls: str) -> None:
    """A ledger with a row for each call."""

    async def story() -> None:
        async with open_store(path) as store:
            for call in calls:
                await store.commit(make_entry(call))

    run_bounded(story)


def check_refused(path: Path, message: str, **settings: Any) -> None:
    """Opening a ledger fails with this message."""

    async def story() -> None:
        with pytest.raises(LedgerError, match=message):
            async with open_store(path, **settings):
                pass

    run_bounded(story)


def change_file(path: Path, *statements: str) -> None:
    """Write to the file behind the ledger's back."""
    connection = sqlite3.connect(path, isolation_level=None)
    for statement in statements:
        connection.execute(statement)
    connection.close()


async def retry_until_written(store: SqliteStore, call: str) -> None:
    """Try until it works; the test's own time limit ends it otherwise."""
    while True:
        try:
            await store.commit(make_entry(call))
            return
        except LedgerUnavailable:
            await asyncio.sleep(0.02)
