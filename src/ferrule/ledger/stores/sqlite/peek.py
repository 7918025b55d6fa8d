"""A quick look into a ledger's file, for shell completion of ids. Creates, writes and waits for nothing."""

from __future__ import annotations

import sqlite3
from collections.abc import Sequence
from contextlib import closing
from pathlib import Path
from typing import NamedTuple

_BUSY_SECONDS = 0.1
_LAST = "\U0010ffff"
_BEGIN_SO = "call <> '' AND call >= ? AND call < ?"
_NEWEST = f"SELECT call, max(tool) FROM journal WHERE {_BEGIN_SO} GROUP BY call ORDER BY call DESC LIMIT ?"
"""Ids begin with the time, so the index of ids has the newest at its end."""
_OPEN = f"SELECT call, tool_id FROM open_calls WHERE {_BEGIN_SO} AND state IN (%s) ORDER BY call DESC LIMIT ?"


class NewestCall(NamedTuple):
    """A call and its tool."""

    call: str
    tool_id: str


def find_newest_calls(file: Path, beginning: str, most: int, states: Sequence[str] = ()) -> list[NewestCall]:
    """Finds the newest calls whose ids have this prefix, newest first; with `states` only those in one of them now.
    Empty without a readable ledger."""
    ending = f"{beginning}{_LAST}"
    query = _OPEN % ", ".join("?" * len(states)) if states else _NEWEST
    try:
        found = sqlite3.connect(
            f"{file.absolute().as_uri()}?mode={_choose_mode(file)}", timeout=_BUSY_SECONDS, uri=True
        )
        with closing(found) as database:
            database.execute("PRAGMA query_only = ON")
            return [NewestCall(*row) for row in database.execute(query, [beginning, ending, *states, most])]
    except (sqlite3.Error, OSError, UnicodeError):
        return []


def _choose_mode(file: Path) -> str:
    """Chooses the open mode. With a write-ahead log, a writer would merge it into the ledger on closing; without one,
    a reader would create one and leave it behind."""
    return "ro" if file.with_name(f"{file.name}-wal").exists() else "rw"
