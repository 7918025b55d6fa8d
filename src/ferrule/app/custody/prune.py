"""Removes the oldest rows of a ledger. A `pruned` row anchors the rest, so that it verifies from there on.

It plans which rows go, and which state of theirs stays for the next verification. The SQLite store's `upkeep` removes
them.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any, NamedTuple

from ferrule.app.custody.exports import export_rows
from ferrule.app.custody.paths import LedgerPaths, load_signing_keys, now, translate_damage, update_witness
from ferrule.errors import LedgerError
from ferrule.ledger.audit.findings import Findings
from ferrule.ledger.audit.histories import Anchor, to_facts
from ferrule.ledger.audit.verify import find_anchor
from ferrule.ledger.audit.walk import Progress, Walk
from ferrule.ledger.stores.sqlite.raw import SqliteSource
from ferrule.ledger.stores.sqlite.upkeep import Upkeep
from ferrule.model.journal import Entry
from ferrule.model.timestamps import iso


class PrunePlan(NamedTuple):
    """The anchor to record, and the counters to drop."""

    anchor: Anchor
    dropped_runs: list[tuple[str, str]]
    """Counters without a reference."""


def plan_pruning(walk: Walk, keys: Sequence[tuple[Any, ...]], used: Callable[[str, str], int]) -> PrunePlan:
    """Plans the removal of the rows of a walk. `keys`: those that stay; `used`: the present counter of a run."""
    before = walk.anchor
    kept, dropped = _split_runs(walk, used)
    anchor = Anchor(
        ledger=walk.ledger,
        last=walk.last,
        hash=walk.before,
        count=walk.count + (before.count if before is not None else 0),
        first_at=before.first_at if before is not None else walk.first_at,
        last_at=walk.at,
        switches=[(tool, seq) for tool, seq in walk.tables.rows("switches")],
        runs=kept,
        keys=[(key[0], key[1], key[2], key[3]) for key in keys],
        open=[tuple(call) for call in walk.tables.rows("open_calls")],
        histories=dict(walk.histories.open),
        restored=list(walk.restored),
    )
    return PrunePlan(anchor, dropped)


def _split_runs(
    walk: Walk, used: Callable[[str, str], int]
) -> tuple[list[tuple[str, str, int]], list[tuple[str, str]]]:
    """Separates counters that rose after the removed rows, which stay, from the others, which go with their calls."""
    kept, dropped = [], []
    for run, tool_id, count in walk.tables.rows("runs"):
        if used(run, tool_id) > count:
            kept.append((run, tool_id, count))
        else:
            dropped.append((run, tool_id))
    return kept, dropped


class PruneOutcome(NamedTuple):
    """The outcome of a pruning."""

    rows: int
    last: int
    """The last row that was removed; 0 when nothing was."""
    held_by: int | None
    """The first row of an open call, where that limited the removal."""


def prune(
    paths: LedgerPaths,
    *,
    before: int,
    by: str,
    archive: Path | None = None,
    has_payloads: bool = False,
    progress: Progress | None = None,
) -> PruneOutcome:
    """Removes the rows before a moment, up to the first row of an open call. Raises LedgerError.

    Rows that do not verify are never removed: that would hide what happened to them. With `archive` they are kept in a
    file that proves itself, with their payloads if wanted.
    """
    with Upkeep(paths.ledger, load_signing_keys(paths)) as upkeep:
        with upkeep.writing() as tail:
            last = min(upkeep.last_row_before(before), tail.seq - 1)
            held_by = upkeep.first_row_of_open_calls()
        is_held = held_by is not None and held_by <= last
        cut = held_by - 1 if is_held and held_by is not None else last
        walk = _walk_rows(paths.ledger, cut, progress)
        try:
            # The archive first: rows are removed only once they are safe in a file.
            if walk.count and archive is not None:
                export_rows(paths, archive, last=cut, has_payloads=has_payloads)
            if walk.count:
                _remove(upkeep, walk, before, by)
                update_witness(paths)
        finally:
            walk.close()
        return PruneOutcome(walk.count, cut if walk.count else 0, held_by if is_held else None)


def _walk_rows(ledger: Path, cut: int, progress: Progress | None) -> Walk:
    """Verifies the rows to remove, without a lock: they never change. Raises LedgerError."""
    findings = Findings()
    walk = Walk(findings)
    with SqliteSource(ledger) as source, translate_damage(ledger):
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
        # Under the lock: keys and counters may have changed since the rows were walked.
        planned = plan_pruning(walk, upkeep.list_kept_keys(walk.last), upkeep.count_calls)
        upkeep.remove_up_to(walk.last, planned.dropped_runs)
        facts = to_facts(planned.anchor, by=by, before=iso(before))
        upkeep.append(Entry("pruned", "", now(), "", "pruned", facts))
    upkeep.scrub(())
