"""The tables of the embedded ledger, and the migrations between their versions.

`journal` is the truth: append-only and chained. The other tables follow from its marks; `head` is the signed last
row. A payload is stored behind its salt. When it is erased, its commitment takes its place and an `erased` row tells
so.
"""

from __future__ import annotations

MIGRATIONS: tuple[tuple[str, ...], ...] = (
    (
        """
        CREATE TABLE journal (
            seq INTEGER PRIMARY KEY,
            kind INTEGER NOT NULL,
            call TEXT NOT NULL,
            at INTEGER NOT NULL,
            tool TEXT NOT NULL,
            outcome TEXT NOT NULL,
            body BLOB NOT NULL,
            payload BLOB,
            commitment BLOB,
            mark BLOB NOT NULL,
            hash BLOB NOT NULL
        ) STRICT
        """,
        "CREATE INDEX journal_call ON journal (call) WHERE call <> ''",
        """
        CREATE TABLE open_calls (
            call TEXT PRIMARY KEY,
            state TEXT NOT NULL,
            owner TEXT NOT NULL,
            tool_id TEXT NOT NULL,
            principal TEXT NOT NULL,
            agent TEXT,
            tenant TEXT NOT NULL,
            expires_at INTEGER,
            seq INTEGER NOT NULL
        ) STRICT, WITHOUT ROWID
        """,
        """
        CREATE TABLE idempotency (
            key BLOB PRIMARY KEY,
            call TEXT NOT NULL,
            input_digest BLOB NOT NULL,
            seq INTEGER NOT NULL
        ) STRICT, WITHOUT ROWID
        """,
        """
        CREATE TABLE runs (
            run TEXT NOT NULL,
            tool_id TEXT NOT NULL,
            used INTEGER NOT NULL,
            PRIMARY KEY (run, tool_id)
        ) STRICT, WITHOUT ROWID
        """,
        """
        CREATE TABLE switches (
            tool_id TEXT PRIMARY KEY,
            seq INTEGER NOT NULL
        ) STRICT, WITHOUT ROWID
        """,
        """
        CREATE TABLE head (
            id INTEGER PRIMARY KEY CHECK (id = 1),
            ledger TEXT NOT NULL,
            seq INTEGER NOT NULL,
            hash BLOB NOT NULL,
            at INTEGER NOT NULL,
            signature BLOB NOT NULL
        ) STRICT
        """,
    ),
    (
        # 13 is the kind `news`. A process asks again and again whether somebody wants a call of its own canceled.
        "CREATE INDEX journal_cancel_requests ON journal (seq) WHERE kind = 13 AND outcome = 'cancel_requested'",
    ),
    (
        # Every kind that is not about one call. They are few, and the last of a kind is asked for at every start.
        "CREATE INDEX journal_kinds ON journal (kind) WHERE kind IN (6, 7, 8, 9, 10, 11, 12)",
    ),
)
"""One tuple of statements per version; `PRAGMA user_version` counts how many were applied. Never edited, only added to."""
