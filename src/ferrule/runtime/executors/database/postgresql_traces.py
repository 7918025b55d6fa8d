"""Whether a statement can leave something behind in its PostgreSQL session: a setting, a lock, a cursor.

Only code does that, and code stands behind names: functions, views, policies, operators. A statement that only reads, and
names nothing but tables and harmless functions of PostgreSQL, leaves its session as it was. What a name stands for is asked
of the server, and again after a while, because it may change.
"""

from __future__ import annotations

import asyncio
import re
from typing import Any

from ferrule.runtime.executors.database.statements import Statement

SECONDS = 10.0
"""How long an answer counts."""
_MOST = 1000
_LONGEST = 63
"""PostgreSQL cuts longer names off."""
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
"""No view, foreign table or row policy of one of these names, no function that is not PostgreSQL's own; and no operator,
cast or type anywhere that runs more than compiled code. From 16384 on, numbers are of objects that somebody made."""


class Traces:
    """What one database's statements leave behind, as far as is known."""

    def __init__(self) -> None:
        self._known: dict[Statement, tuple[float, bool]] = {}

    async def is_left_as_it_was(self, connection: Any, statement: Statement) -> bool:
        """True when a statement that has just run cannot have changed its session."""
        # Servers before 14 do not tell of this setting: there, and where it was changed, the session is put back.
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
    # A quoted name may be anything, and how letters beyond ASCII become small ones is the server's business.
    if not statement.is_plain or '"' in text or not text.isascii():
        return False
    words = {word for piece in statement.pieces for word in _WORD.findall(piece.lower())}
    if any(len(word) > _LONGEST for word in words):
        return False
    try:
        return bool(await connection.fetchval(_ASK, sorted(words)))
    except Exception:  # a server that has other catalogues: it is not known, then
        return False
