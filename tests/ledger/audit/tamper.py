"""Ways to tamper with a ledger's file for somebody who can write it, but holds neither the key nor the witness."""

from __future__ import annotations

import hashlib
import random
import sqlite3
from collections.abc import Callable
from contextlib import closing
from pathlib import Path
from typing import Any

from ferrule.contracts.ledger import TABLES, RawRow
from ferrule.ledger.chain import NO_PAYLOAD, compute_row_hash, format_head
from ferrule.ledger.stores.sqlite.schema import MIGRATIONS
from tests.ledger.audit.build import other_key

Tampering = Callable[[sqlite3.Connection, random.Random], str]
"""Changes a ledger; gives what it did."""

COLUMNS = ", ".join(RawRow._fields)
HEAD = ("ledger", "seq", "hash", "at", "signature")


def edit_journal(db: sqlite3.Connection, rng: random.Random) -> str:
    column = rng.choice(RawRow._fields)
    return _edit(db, rng, "journal", column)


def edit_table(db: sqlite3.Connection, rng: random.Random) -> str:
    table = rng.choice(list(TABLES))
    return _edit(db, rng, table, rng.choice(TABLES[table]))


def edit_head(db: sqlite3.Connection, rng: random.Random) -> str:
    return _edit(db, rng, "head", rng.choice(HEAD))


def _edit(db: sqlite3.Connection, rng: random.Random, table: str, column: str) -> str:
    """Give one value of one row another value."""
    key = _key(table)
    found = db.execute(f"SELECT {key}, {column} FROM {table}").fetchall()
    *where, old = rng.choice(found)
    new = _other(old, rng, is_blob=column in ("payload", "commitment"), is_number=column == "expires_at")
    condition = " AND ".join(f"{name} IS ?" for name in key.split(", "))
    db.execute(f"UPDATE OR REPLACE {table} SET {column} = ? WHERE {condition}", (new, *where))
    return f"{table}.{column} of {where}: {old!r} -> {new!r}"


def _range(db: sqlite3.Connection) -> tuple[int, int]:
    first, last = db.execute("SELECT min(seq), max(seq) FROM journal").fetchone()
    return first, last


def _key(table: str) -> str:
    return {"journal": "seq", "head": "id", "runs": "run, tool_id", "open_calls": "call"}.get(
        table, "key" if table == "idempotency" else "tool_id"
    )


def _other(old: Any, rng: random.Random, *, is_blob: bool, is_number: bool) -> Any:
    if isinstance(old, int):
        return max(0, old + rng.choice([-1, 1, 7, -1000])) if old else 1
    if isinstance(old, str):
        return rng.choice([old + "x", old[:-1] or "y", "forged"])
    if isinstance(old, bytes):
        place = rng.randrange(len(old)) if old else 0
        changed = old[:place] + bytes([old[place] ^ (1 << rng.randrange(8))]) + old[place + 1 :] if old else b"\x00"
        return rng.choice([changed, old + b"\x00", old[:-1]]) if old else changed
    return rng.randbytes(32) if is_blob else 5 if is_number else "forged"


def delete_rows(db: sqlite3.Connection, rng: random.Random) -> str:
    begin, last = _range(db)
    first = rng.randint(begin, last)
    end = min(last, first + rng.choice([0, 0, 1, 5]))
    db.execute("DELETE FROM journal WHERE seq BETWEEN ? AND ?", (first, end))
    return f"deleted rows {first} to {end}"


def delete_prefix(db: sqlite3.Connection, rng: random.Random) -> str:
    begin, last = _range(db)
    end = rng.randint(begin, last)
    db.execute("DELETE FROM journal WHERE seq <= ?", (end,))
    return f"deleted rows up to {end}"


def delete_entries(db: sqlite3.Connection, rng: random.Random) -> str:
    table = rng.choice([*TABLES, "head"])
    key = _key(table)
    where = rng.choice(db.execute(f"SELECT {key} FROM {table}").fetchall())
    db.execute(f"DELETE FROM {table} WHERE " + " AND ".join(f"{name} IS ?" for name in key.split(", ")), where)
    return f"deleted {where} from {table}"


def swap_values(db: sqlite3.Connection, rng: random.Random) -> str:
    column = rng.choice(["payload", "hash", "body", "mark", "at", "outcome", "call"])
    while True:
        (one, a), (two, b) = rng.sample(db.execute(f"SELECT seq, {column} FROM journal").fetchall(), 2)
        if a != b:
            break
    db.execute(f"UPDATE journal SET {column} = ? WHERE seq = ?", (b, one))
    db.execute(f"UPDATE journal SET {column} = ? WHERE seq = ?", (a, two))
    return f"swapped {column} of rows {one} and {two}"


def swap_rows(db: sqlite3.Connection, rng: random.Random) -> str:
    one, two = (seq for (seq,) in rng.sample(db.execute("SELECT seq FROM journal").fetchall(), 2))
    for old, new in ((one, -1), (two, one), (-1, two)):
        db.execute("UPDATE journal SET seq = ? WHERE seq = ?", (new, old))
    return f"swapped rows {one} and {two}"


def insert_row(db: sqlite3.Connection, rng: random.Random) -> str:
    rows = db.execute(f"SELECT {COLUMNS} FROM journal ORDER BY seq").fetchall()
    copied = list(rng.choice(rows))
    copied[0] = rng.choice([rows[-1][0] + 1, 0, rows[-1][0] + 10, -5])
    if rng.random() < 0.5:
        copied[10] = _hash(RawRow._make(copied), rows[-1][10])
    db.execute(f"INSERT INTO journal ({COLUMNS}) VALUES (?,?,?,?,?,?,?,?,?,?,?)", copied)
    return f"inserted a row {copied[0]}"


def insert_between(db: sqlite3.Connection, rng: random.Random) -> str:
    place = rng.randint(*_range(db))
    copied = list(db.execute(f"SELECT {COLUMNS} FROM journal WHERE seq = ?", (place,)).fetchone())
    db.execute("UPDATE journal SET seq = -seq WHERE seq > ?", (place,))
    db.execute("UPDATE journal SET seq = 1 - seq WHERE seq < 0")
    copied[0] = place + 1
    db.execute(f"INSERT INTO journal ({COLUMNS}) VALUES (?,?,?,?,?,?,?,?,?,?,?)", copied)
    return f"inserted a copy of row {place} after it"


def insert_entry(db: sqlite3.Connection, rng: random.Random) -> str:
    table, values = rng.choice(
        [
            ("switches", (f"tool.{rng.randrange(99)}.x", 3)),
            ("runs", (f"run-{rng.randrange(99)}-x", "mail.send", 1)),
            ("idempotency", (rng.randbytes(8), "inv_000001", b"", 5)),
            (
                "open_calls",
                (f"inv_x{rng.randrange(99)}", "approved", "", "mail.send", "alice", None, "default", None, 7),
            ),
        ]
    )
    db.execute(f"INSERT INTO {table} VALUES ({', '.join('?' * len(values))})", values)
    return f"inserted {values} into {table}"


def truncate(db: sqlite3.Connection, rng: random.Random) -> str:
    begin, last = _range(db)
    kept = rng.randint(begin, last - 1)
    db.execute("DELETE FROM journal WHERE seq > ?", (kept,))
    if rng.random() < 0.6:
        db.execute("UPDATE head SET (seq, hash, at) = (SELECT seq, hash, at FROM journal WHERE seq = ?)", (kept,))
    return f"cut off after row {kept}"


def rehash(db: sqlite3.Connection, rng: random.Random) -> str:
    """Change a row and make every later hash fit; sign with a key of one's own, or keep the old signature."""
    begin, last = _range(db)
    place = rng.randint(begin + 1, last)
    db.execute("UPDATE journal SET outcome = outcome || '!' WHERE seq = ?", (place,))
    (before,) = db.execute("SELECT hash FROM journal WHERE seq = ?", (place - 1,)).fetchone()
    for values in db.execute(f"SELECT {COLUMNS} FROM journal WHERE seq >= ? ORDER BY seq", (place,)).fetchall():
        row = RawRow._make(values)
        before = _hash(row, before)
        db.execute("UPDATE journal SET hash = ? WHERE seq = ?", (before, row.seq))
    ledger, seq, at = db.execute("SELECT ledger, seq, at FROM head").fetchone()
    db.execute("UPDATE head SET hash = ?", (before,))
    if rng.random() < 0.7:
        db.execute("UPDATE head SET signature = ?", (other_key().sign(format_head(ledger, seq, before, at)),))
    return f"changed row {place} and hashed everything after it anew"


def _hash(row: RawRow, before: bytes) -> bytes:
    promise = row.commitment or (hashlib.sha256(row.payload).digest() if row.payload is not None else NO_PAYLOAD)
    return compute_row_hash(before, *row[:7], promise, row.mark)


def erase_secretly(db: sqlite3.Connection, rng: random.Random) -> str:
    found = db.execute("SELECT seq, payload FROM journal WHERE payload IS NOT NULL").fetchall()
    seq, payload = rng.choice(found)
    values = (hashlib.sha256(payload).digest(), seq)
    db.execute("UPDATE journal SET payload = NULL, commitment = ? WHERE seq = ?", values)
    return f"erased the payload of row {seq} without a record"


def change_schema(db: sqlite3.Connection, rng: random.Random) -> str:
    statement = rng.choice(
        [
            "DROP TABLE open_calls",
            "DROP TABLE idempotency",
            "DROP TABLE runs",
            "DROP TABLE switches",
            "DROP TABLE head",
            "DROP TABLE journal",
            "DROP INDEX journal_call",
            "CREATE TABLE notes (text TEXT)",
            "CREATE INDEX more ON journal (tool)",
            "CREATE VIEW shown AS SELECT * FROM journal",
            "CREATE TRIGGER quietly AFTER INSERT ON journal BEGIN DELETE FROM switches; END",
            "ALTER TABLE journal ADD COLUMN note TEXT",
            "ALTER TABLE switches RENAME COLUMN seq TO row",
            "ALTER TABLE runs RENAME TO walks",
            f"PRAGMA user_version = {rng.choice([1, *range(len(MIGRATIONS) + 1, 99)])}",
            "PRAGMA user_version = 0",
        ]
    )
    db.execute(statement)
    return statement


EDITS: tuple[tuple[int, Tampering], ...] = (
    (30, edit_journal),
    (18, edit_table),
    (6, edit_head),
    (7, delete_rows),
    (2, delete_prefix),
    (5, delete_entries),
    (7, swap_values),
    (4, swap_rows),
    (4, insert_row),
    (3, insert_between),
    (4, insert_entry),
    (6, truncate),
    (3, rehash),
    (3, erase_secretly),
    (5, change_schema),
)
"""How often each is tried, and how it is done."""


def tamper(path: Path, rng: random.Random) -> str:
    """Tamper with a ledger in a random way through SQL; gives what was done."""
    edits, weights = [edit for _, edit in EDITS], [weight for weight, _ in EDITS]
    with closing(sqlite3.connect(path, isolation_level=None)) as db:
        db.execute("PRAGMA synchronous = OFF")
        db.execute("PRAGMA journal_mode = MEMORY")
        while True:
            edit = rng.choices(edits, weights)[0]
            before = db.total_changes
            db.execute("BEGIN")
            try:
                done = f"{edit.__name__}: {edit(db, rng)}"
            except (sqlite3.IntegrityError, IndexError):  # the schema refuses it, or there is nothing to change
                db.execute("ROLLBACK")
                continue
            db.execute("COMMIT")
            assert db.total_changes > before or edit is change_schema, done
            return done


def logical_content(path: Path) -> object:
    """Everything a reader of the file can see: None where reading fails."""
    try:
        with closing(sqlite3.connect(f"{path.as_uri()}?mode=ro", uri=True)) as db:
            schema = db.execute("SELECT type, name, tbl_name, sql FROM sqlite_schema ORDER BY name").fetchall()
            tables = {name: db.execute(f"SELECT * FROM {name}").fetchall() for name in (*TABLES, "journal", "head")}
            return schema, tables, db.execute("PRAGMA user_version").fetchone()
    except sqlite3.Error:
        return None


def flip_visible_byte(path: Path, data: bytes, rng: random.Random, content: object) -> str:
    """Flip one bit of the file, somewhere where a reader sees it."""
    while True:
        place = rng.randrange(len(data))
        bit = 1 << rng.randrange(8)
        path.write_bytes(data[:place] + bytes([data[place] ^ bit]) + data[place + 1 :])
        if logical_content(path) != content:
            return f"flipped bit {bit} of byte {place}"
