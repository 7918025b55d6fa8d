"""Finds out whether a statement can leave state in its PostgreSQL session: a setting, a lock, a cursor.

Only code does that, and code is reached through names: functions, views, policies, operators. A statement that only reads,
and names nothing but tables and harmless functions of PostgreSQL, leaves its session unchanged. The server is asked what a
name refers to, and again after a while, because it may change. `postgresql.py` uses this to skip a reset.
"""

from __future__ import annotations

import asyncio
import re
from typing import Any

from ferrule.runtime.executors.database.statements import Statement

SECONDS = 10.0
"""How long an answer is cached."""
_MOST = 1000
_LONGEST = 63
"""PostgreSQL truncates longer names."""
_WORD = re.compile(r"[a-z_][a-z0-9_$]*")
_ASK = """
SELECT NOT EXISTS (
    SELECT FROM pg_catalog.pg_class
    WHERE relname = ANY ($1::name[]) AND (relkind NOT IN ('r', 'p', 'm', 'i', 'I', 'S', 't', 'c') OR relrowsecurity)
) AND NOT EXISTS (
    SELECT FROM pg_catalog.pg_proc WHERE proname = ANY ($1::name[]) AND oid >= 16384
) AND NOT EXISTS (
    SELECT FROM pg_catalog.pg_proc f JOIN pg_catalog.pg_language l ON l.oid = f.prolang
    WHERE f.oid >= 16384 AND l.lanname NOT IN ('internal', 'c') AND f.oid IN (
        SELECT oprcode FROM pg_catalog.pg_operator WHERE oid >= 16384
        UNION ALL SELECT castfunc FROM pg_catalog.pg_cast WHERE oid >= 16384
        UNION ALL SELECT typoutput FROM pg_catalog.pg_type WHERE oid >= 16384
    )
)
"""
"""True when no view, foreign table, row policy or user-defined function has one of these names, and no operator, cast or
type anywhere runs more than compiled code. Object ids from 16384 on belong to objects that users created."""


class SessionTraces:
    """What is known about the state that one database's statements leave in their sessions."""

    def __init__(self) -> None:
        self._known: dict[Statement, tuple[float, bool]] = {}

    async def is_session_unchanged(self, connection: Any, statement: Statement) -> bool:
        """Returns True when a statement that has just run cannot have changed its session."""
        # Servers before 14 do not report this setting: there, and where it was changed, the session is reset.
        if connection.get_settings().default_transaction_read_only != "on":
            return False
        now = asyncio.get_running_loop().time()
        known = self._known.get(statement)
        if known is None or known[0] <= now:
            if len(self._known) >= _MOST:
                self._known.clear()
            known = self._known[statement] = now + SECONDS, await _names_only_tables(connection, statement)
        return known[1]


async def _names_only_tables(connection: Any, statement: Statement) -> bool:
    text = " ".join(statement.pieces)
    # A quoted name may be anything, and only the server knows how it folds letters beyond ASCII to lower case.
    if not statement.is_plain or '"' in text or not text.isascii():
        return False
    words = {word for piece in statement.pieces for word in _WORD.findall(piece.lower())}
    if any(len(word) > _LONGEST for word in words):
        return False
    try:
        return bool(await connection.fetchval(_ASK, sorted(words)))
    except Exception:  # a compatible server with other system catalogs: assume the session was changed
        return False
