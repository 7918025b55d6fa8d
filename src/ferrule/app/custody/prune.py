"""Removes the oldest rows of a ledger. A `pruned` row anchors what is left, so that it verifies from there on."""

from __future__ import annotations

from pathlib import Path
from typing import NamedTuple

from ferrule.app.custody.exports import export_rows
from ferrule.app.custody.paths import LedgerPaths, damage_told, now, signing_keys, tell_witness
from ferrule.errors import LedgerError
from ferrule.ledger.audit.anchor import to_facts
from ferrule.ledger.audit.findings import Findings
from ferrule.ledger.audit.pruning import plan
from ferrule.ledger.audit.verify import find_anchor
from ferrule.ledger.audit.walk import Progress, Walk
from ferrule.ledger.stores.sqlite.raw import SqliteSource
from ferrule.ledger.stores.sqlite.upkeep import Upkeep
from ferrule.model.journal import Entry
from ferrule.model.timestamps import iso


class Pruned(NamedTuple):
    """What a pruning removed."""

    rows: int
    last: int
    """The last row that was removed; 0 when nothing was."""
    held_by: int | None
    """The first row of a call that has not ended, where that kept more from being removed."""


def prune(
    paths: LedgerPaths,
    *,
    before: int,
    by: str,
    archive: Path | None = None,
    has_payloads: bool = False,
    progress: Progress | None = None,
) -> Pruned:
    """Remove the rows from before a moment, as far as no open call has rows there. Raises LedgerError.

    Rows that do not verify are never removed: that would hide what happened to them. With `archive` they are kept in a
    file that proves itself, with their payloads if wanted.
    """
    with Upkeep(paths.ledger, signing_keys(paths)) as upkeep:
        with upkeep.writing() as tail:
            last = min(upkeep.last_row_before(before), tail.seq - 1)
            held_by = upkeep.first_row_of_open_calls()
        is_held = held_by is not None and held_by <= last
        cut = held_by - 1 if is_held and held_by is not None else last
        walk = _walked(paths.ledger, cut, progress)
        try:
            if walk.count and archive is not None:
                export_rows(paths, archive, last=cut, has_payloads=has_payloads)
            if walk.count:
                _remove(upkeep, walk, before, by)
                tell_witness(paths)
        finally:
            walk.close()
        return Pruned(walk.count, cut if walk.count else 0, held_by if is_held else None)


def _walked(ledger: Path, cut: int, progress: Progress | None) -> Walk:
    """A pass over the rows to remove: they never change, so nobody has to wait for it. Raises LedgerError."""
    findings = Findings()
    walk = Walk(findings)
    with SqliteSource(ledger) as source, damage_told(ledger):
        anchor = find_anchor(source, findings)
        if anchor is not None:
            walk.begin(anchor)
        walk.run(source.rows(0, cut), progress, cut)
    if findings.count:
        walk.close()
        first = findings.kept[0]
        where = "" if first.seq is None else f"row {first.seq} "
        raise LedgerError(f"nothing was removed: {where}{first.message}; run 'ferrule audit verify' first")
    return walk


def _remove(upkeep: Upkeep, walk: Walk, before: int, by: str) -> None:
    with upkeep.writing():
        planned = plan(walk, upkeep.kept_keys(walk.last), upkeep.used)
        upkeep.remove_up_to(walk.last, planned.dropped_runs)
        facts = to_facts(planned.anchor, by=by, before=iso(before))
        upkeep.append(Entry("pruned", "", now(), "", "pruned", facts))
    upkeep.scrub(())
