"""Destroys personal payloads. The record of the call stays, and says that its payload was erased.

Finds the rows by their call, or by the principal whose data they hold. `ferrule audit erase` stands above it, the SQLite
store's `upkeep` below.
"""

from __future__ import annotations

from collections.abc import Iterable
from pathlib import Path
from typing import Any, NamedTuple

import msgspec

from ferrule.app.custody.paths import LedgerPaths, load_signing_keys, now, translate_damage, update_witness
from ferrule.contracts.ledger import RawRow
from ferrule.errors import LedgerError
from ferrule.ledger.audit.walk import UNREADABLE
from ferrule.ledger.chain import LAST_CALL_KIND, NEWS
from ferrule.ledger.stores.sqlite.raw import SqliteSource
from ferrule.ledger.stores.sqlite.upkeep import Upkeep
from ferrule.model.journal import Entry, Header


class _Top(msgspec.Struct, gc=False, array_like=True):
    header: Header


_decode_top = msgspec.msgpack.Decoder(_Top).decode
_decode_facts = msgspec.msgpack.Decoder(dict[str, Any]).decode


def is_row_of(row: RawRow, principal: str) -> bool:
    """True when a row was written on behalf of a principal. News rows name none: ask about another row of the call."""
    if row.kind > LAST_CALL_KIND:
        return _decode_facts(row.body).get("principal") == principal
    return _decode_top(row.body).header.principal == principal


_ROWS_PER_RECORD = 5_000
"""An `erased` row names at most so many rows."""


class Erasure(NamedTuple):
    """The outcome of an erasure."""

    rows: int
    calls: tuple[str, ...]
    still_open: tuple[str, ...]
    """Calls that have not ended, and were left alone."""
    is_gone: bool = True
    """False while bytes remain in the log, because another process reads an older state of the file."""
    was_rewritten: bool = False
    """True when the file was rewritten to remove a second copy."""


def erase_call(paths: LedgerPaths, call: str, *, reason: str, by: str) -> Erasure:
    """Destroys the payloads of one call. Raises LedgerError for an unknown call, or one that has not ended."""
    with Upkeep(paths.ledger, load_signing_keys(paths)) as upkeep:
        with upkeep.writing():
            rows = upkeep.rows_of(call)
            if not rows:
                raise LedgerError(f"there is no call {call!r} in {paths.ledger}")
            state = upkeep.open_calls().get(call)
            if state is not None:
                raise LedgerError(f"{call} has not ended (it is {state}); answer or cancel it first, then erase it")
            erased, salts = _destroy(upkeep, rows, reason, by)
        return _finish_erasure(paths, upkeep, erased, salts)


def erase_principal(paths: LedgerPaths, principal: str, *, before: int | None, reason: str, by: str) -> Erasure:
    """Destroys the payloads of everything done on behalf of a principal, up to a moment. Leaves open calls, and lists them."""
    with Upkeep(paths.ledger, load_signing_keys(paths)) as upkeep:
        found, last = _find_rows(paths.ledger, principal)
        with upkeep.writing():
            # The long search ran without a lock; rows written since then are read under it.
            found += [row for row in upkeep.rows_after(last) if row.kind == NEWS or _is_row_of(row, principal)]
            found = [row for row in found if row.kind != NEWS or _has_call(upkeep, row.call, principal)]
            if before is not None:
                found = [row for row in found if row.at < before]
            open_calls = upkeep.open_calls()
            closed = [row for row in found if row.call not in open_calls]
            left = tuple(dict.fromkeys(row.call for row in found if row.call in open_calls))
            erased, salts = _destroy(upkeep, closed, reason, by)
        return _finish_erasure(paths, upkeep, erased._replace(still_open=left), salts)


def _find_rows(ledger: Path, principal: str) -> tuple[list[RawRow], int]:
    """Returns the rows of a principal and all news rows, without content, and the last row read. Others may write meanwhile."""
    found, last = [], 0
    with SqliteSource(ledger) as source, translate_damage(ledger):
        for values in source.rows():
            row = RawRow._make(values)
            last = row.seq
            if row.payload is not None and (row.kind == NEWS or _is_row_of(row, principal)):
                found.append(row._replace(body=b"", payload=b"", mark=b"", hash=b""))
    return found, last


def _is_row_of(row: RawRow, principal: str) -> bool:
    try:
        return is_row_of(row, principal)
    except UNREADABLE:
        text = f"row {row.seq} cannot be understood, so nobody knows whose it is; run 'ferrule audit verify' first"
        raise LedgerError(text) from None


def _has_call(upkeep: Upkeep, call: str, principal: str) -> bool:
    """True when a call is a principal's, by its rows other than news."""
    return any(_is_row_of(row, principal) for row in upkeep.rows_of(call) if row.kind <= LAST_CALL_KIND)


def _destroy(upkeep: Upkeep, rows: Iterable[RawRow], reason: str, by: str) -> tuple[Erasure, list[bytes]]:
    wanted = [row for row in rows if row.payload is not None]
    salts = upkeep.destroy_payloads(row.seq for row in wanted)
    for start in range(0, len(wanted), _ROWS_PER_RECORD):
        some = wanted[start : start + _ROWS_PER_RECORD]
        facts = {"rows": [row.seq for row in some], "calls": _list_calls(some), "reason": reason, "by": by}
        upkeep.append(Entry("erased", "", now(), "", "erased", facts))
    return Erasure(len(wanted), _list_calls(wanted), ()), salts


def _list_calls(rows: Iterable[RawRow]) -> tuple[str, ...]:
    return tuple(dict.fromkeys(row.call for row in rows if row.call))


def _finish_erasure(paths: LedgerPaths, upkeep: Upkeep, erased: Erasure, salts: list[bytes]) -> Erasure:
    is_gone, was_rewritten = upkeep.scrub(salts)
    update_witness(paths)
    return erased._replace(is_gone=is_gone, was_rewritten=was_rewritten)
