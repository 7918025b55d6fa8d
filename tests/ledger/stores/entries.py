"""Entries for tests of the ledger, and the check that a ledger's rows are chained."""

from __future__ import annotations

import sqlite3
from collections.abc import Iterable
from pathlib import Path
from typing import Any

from ferrule.ledger.chain import NO_PAYLOAD, START, compute_commitment, compute_row_hash
from ferrule.model.journal import Entry, Kind, Mark, News, NewsBody, Payload

AT = 1_767_225_600_000_000


def make_entry(call: str, mark: Mark | None = None, *, kind: Kind = "call", at: int = AT, **other: Any) -> Entry:
    """A row about a call; the body says which."""
    fields = {"tool": "demo.add", "outcome": "succeeded", "body": {"call": call}, **other}
    return Entry(kind=kind, call=call, at=at, mark=mark, payload=Payload(b'{"a": 1}'), **fields)


def make_running(call: str, owner: str, **mark: Any) -> Entry:
    """An action that is about to run."""
    return make_entry(
        call, Mark(state="running", owner=owner, tool_id="demo.pay", **mark), kind="started", outcome="running"
    )


def make_ended(call: str, **mark: Any) -> Entry:
    """Its end."""
    return make_entry(call, Mark(tool_id="demo.pay", **mark), kind="ended")


def make_parked(call: str, **mark: Any) -> Entry:
    """A call that waits for a person."""
    fields: dict[str, Any] = {"state": "awaiting_approval", "tool_id": "demo.pay", "principal": "alice", **mark}
    return make_entry(call, Mark(**fields), kind="parked", outcome="awaiting_approval")


def make_switch(tool_id: str, to: str) -> Entry:
    """A tool is turned off or on."""
    return make_entry("", Mark(tool_id=tool_id, switch=to), kind="switch", outcome=to, tool=tool_id)


def make_news(call: str, outcome: News, *, at: int = AT, sequence: int = 0, **data: Any) -> Entry:
    """Something about a call that does not move it."""
    happened = [{"at": at, "event": f"tool.invocation.{outcome}", "data": data}]
    return Entry("news", call, at, "demo.pay", outcome, NewsBody(happened, sequence))


def check_file(path: Path) -> list[str]:
    """The calls of a ledger's rows in order, after checking numbers, chain, times and head. The file is only read."""
    connection = sqlite3.connect(f"{path.absolute().as_uri()}?mode=ro", uri=True)
    try:
        assert connection.execute("PRAGMA integrity_check").fetchall() == [("ok",)]
        question = "SELECT seq, kind, call, at, tool, outcome, body, payload, mark, hash FROM journal ORDER BY seq"
        calls, last = _check_rows(connection.execute(question))
        assert connection.execute("SELECT seq, hash, at FROM head").fetchone() == last
        return calls
    finally:
        connection.close()


def _check_rows(rows: Iterable[tuple[Any, ...]]) -> tuple[list[str], tuple[int, bytes, int]]:
    calls: list[str] = []
    last = (0, START, 0)
    for seq, kind, call, at, tool, outcome, body, payload, mark, row in rows:
        assert seq == last[0] + 1
        assert at >= last[2]
        seal = NO_PAYLOAD if payload is None else compute_commitment(payload)
        assert row == compute_row_hash(last[1], seq, kind, call, at, tool, outcome, body, seal, mark)
        last = (seq, row, at)
        calls.append(call)
    return calls, last
