"""A quick look into a ledger's file, for whoever completes an id while it is typed. Nothing is made, written or waited for."""

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
    """A call."""

    call: str
    tool_id: str


def find_newest_calls(file: Path, beginning: str, most: int, states: Sequence[str] = ()) -> list[NewestCall]:
    """Returns the newest calls whose ids begin so, the newest first; with `states` only those that are in one of them
    now. Empty when there is no ledger, or none that can be read."""
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
    """Returns where a write-ahead log is, whoever may write moves it into the ledger when they close it. Where none
    is, whoever may only read makes one and leaves it behind."""
    return "ro" if file.with_name(f"{file.name}-wal").exists() else "rw"
