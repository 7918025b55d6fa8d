"""Reads a workspace's ledger for commands: opens it, finds calls, pages through them."""

from __future__ import annotations

import asyncio
import re
import time
from collections.abc import AsyncIterator
from contextlib import AbstractAsyncContextManager
from datetime import UTC, datetime

from ferrule.contracts.store import Store
from ferrule.errors import WorkspaceError
from ferrule.ledger.history.summary import read_brief
from ferrule.model.hints import nearest
from ferrule.model.journal import CALL_KINDS, StoredEntry
from ferrule.model.timestamps import LAST, MICROSECONDS

_PAGE = 500
_FAR = 50_000
"""How many rows back a shortened id is looked for."""
_NEAR = 20
"""Among how many of the calls that moved last the newest is looked for."""
_WHOLE_ID = re.compile("inv_[0-9a-f]{24}")
_NEW_SECONDS = 1.0
_CALLS = tuple(sorted(CALL_KINDS))


def open_ledger(path: str) -> AbstractAsyncContextManager[Store]:
    """Opens the ledger of the workspace around a path, without its catalog and policy."""
    from ferrule.app.ledger_file import open_store

    return open_store(path)


async def list_latest_rows(store: Store) -> AsyncIterator[StoredEntry]:
    """Yields the last row of each call, newest first, a page at a time."""
    seen: set[str] = set()
    before: int | None = None
    while rows := await store.rows_before(before, _PAGE, kinds=_CALLS):
        for row in rows:
            if row.call not in seen:
                seen.add(row.call)
                yield row
        before = rows[-1].seq


async def rows_of(store: Store, last: StoredEntry) -> list[StoredEntry]:
    """Returns all rows of the call that a row belongs to."""
    return [last] if last.kind == "call" else await store.rows_of(last.call)


async def find_call(store: Store, word: str) -> list[StoredEntry]:
    """Finds the rows of a call by its id, the beginning of one, or `last`. Raises WorkspaceError."""
    if word == "last":
        return await _find_newest(store)
    rows = await store.rows_of(word)
    if not rows and await store.news_of(word):
        raise WorkspaceError(
            f"of {word} there is only news: its process ended before more was written, or it was pruned"
        )
    return rows or await store.rows_of(await _find_id(store, word))


async def find_new_call(store: Store, word: str) -> list[StoredEntry]:
    """Finds a call that may just have begun: it is in the ledger after a quarter of a second, so this waits that long."""
    until = time.monotonic() + (_NEW_SECONDS if _WHOLE_ID.fullmatch(word) else 0.0)
    while not await store.rows_of(word) and time.monotonic() < until:
        await asyncio.sleep(0.05)
    return await find_call(store, word)


async def _find_newest(store: Store) -> list[StoredEntry]:
    """Returns the rows of the newest call. An older call may have a newer row, when it ends or is answered later."""
    found: list[list[StoredEntry]] = []
    async for row in list_latest_rows(store):
        found.append(await rows_of(store, row))
        if len(found) >= _NEAR:
            break
    if not found:
        raise WorkspaceError("no call was made here yet; 'ferrule call TOOL' makes one")
    return max(found, key=lambda rows: read_brief(rows).at)  # of several at one moment the first, which moved last


async def _find_id(store: Store, word: str) -> str:
    """Finds the only id that begins with a word."""
    known: list[str] = []
    async for row in list_latest_rows(store):
        known.append(row.call)
        if len(known) >= _FAR:
            break
    found = [call for call in known if call.startswith((word, f"inv_{word}"))]
    if len(found) == 1:
        return found[0]
    if found:
        some = ", ".join(found[:3])
        raise WorkspaceError(f"{len(found)} calls begin with {word!r} ({some}, …); give more of the id")
    hint = nearest(word, known[:1000]) or "'ferrule log' lists them"
    raise WorkspaceError(f"there is no call {word!r} here; {hint}")


def format_clock(at: int) -> str:
    """Formats a moment: `2026-01-31 12:00:00.123` (UTC)."""
    at = min(at, LAST)
    moment = datetime.fromtimestamp(at // MICROSECONDS, UTC)
    return f"{moment:%Y-%m-%d %H:%M:%S}.{at % MICROSECONDS // 1000:03d}"


def format_duration(milliseconds: float | None) -> str:
    """Formats a duration: `0.4 ms`, `12 s`, `3 min 5 s`, `2 h 4 min`."""
    if milliseconds is None:
        return "-"
    if milliseconds < 10:
        return f"{milliseconds:.3g} ms" if milliseconds >= 0.001 else "0 ms"
    if milliseconds < 1_000:
        return f"{milliseconds:.0f} ms"
    if milliseconds < 60_000:
        return f"{milliseconds / 1000:.3g} s"
    minutes, seconds = divmod(round(milliseconds / 1000), 60)
    if minutes < 60:
        return f"{minutes} min {seconds} s" if seconds else f"{minutes} min"
    hours, minutes = divmod(minutes, 60)
    return f"{hours} h {minutes} min" if minutes else f"{hours} h"
