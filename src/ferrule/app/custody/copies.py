"""Backup and restore of a ledger."""

from __future__ import annotations

from datetime import UTC, datetime
from pathlib import Path
from typing import NamedTuple

from ferrule.app.custody.check import read_sightings, verify_ledger
from ferrule.app.custody.paths import LedgerPaths, load_public_keys, load_signing_keys, now, update_witness
from ferrule.contracts.ledger import HeadRow, SourceDamaged
from ferrule.errors import LedgerError, LedgerUnavailable
from ferrule.ledger.audit.findings import AuditVerdict
from ferrule.ledger.audit.walk import Progress
from ferrule.ledger.stores.sqlite import copies
from ferrule.ledger.stores.sqlite.raw import SqliteSource
from ferrule.ledger.stores.sqlite.upkeep import Upkeep
from ferrule.model.journal import Entry


class LostRows(NamedTuple):
    """The rows that a restore gives up."""

    first: int
    """The first row number that the backup does not share with the ledger."""
    last: int | None
    """The last one; None when unknown."""

    @property
    def rows(self) -> int | None:
        """The number of rows; None when unknown."""
        return None if self.last is None else max(0, self.last - self.first + 1)


class RestoreOutcome(NamedTuple):
    """The outcome of a restore."""

    verdict: AuditVerdict
    """Of the backup."""
    lost: LostRows | None
    """None when the ledger equalled the backup, and nothing was done."""
    aside: Path | None
    """The replaced ledger."""
    approved: tuple[str, ...] = ()
    """Calls that are approved in the restored ledger: they run when a server starts, though they may have run before."""


def back_up(paths: LedgerPaths, target: Path, *, progress: Progress | None = None) -> AuditVerdict:
    """Copies the ledger as it is at this moment, while others go on writing, and verifies the copy.

    A copy that does not verify is removed again. Raises LedgerError.
    """
    keys = load_public_keys(paths)
    if target.exists():
        raise LedgerError(f"{target} exists already; a backup never overwrites anything")
    copy = copies.copy_ledger(paths.ledger, target)
    try:
        verdict = verify_ledger(copy, keys, progress=progress)
        if verdict.is_clean:
            copies.put_in_place(copy, target)
    finally:
        copies.remove(copy)
    return verdict


def restore(
    paths: LedgerPaths, backup: Path, *, may_lose: bool = False, progress: Progress | None = None
) -> RestoreOutcome:
    """Replaces the ledger by a backup, with a row that says so. Changes nothing if the backup does not verify.

    Raises LedgerError when the ledger has rows that the backup lacks (unless `may_lose`), or a process has it open.
    """
    verdict = verify_ledger(backup, load_public_keys(paths), progress=progress)
    if not verdict.is_clean:
        return RestoreOutcome(verdict, None, None)
    _check_unused(paths)
    lost = _find_lost_rows(paths, verdict)
    if lost is None:
        return RestoreOutcome(verdict, None, None)
    if lost.rows != 0 and not may_lose:
        raise LedgerError(_describe_refusal(paths, backup, verdict, lost))
    aside = _replace(paths, backup, verdict, lost)
    update_witness(paths)
    return RestoreOutcome(verdict, lost, aside, _list_approved(paths) if lost.rows != 0 else ())


def _check_unused(paths: LedgerPaths) -> None:
    users = copies.list_users(paths.ledger.absolute().parent / "instances")
    if users:
        numbers = ", ".join(name.partition("-")[0] for name in users)
        raise LedgerUnavailable(f"the ledger {paths.ledger} is open in process {numbers}; stop it, then restore")


def _describe_refusal(paths: LedgerPaths, backup: Path, verdict: AuditVerdict, lost: LostRows) -> str:
    if lost.rows is None:
        what = f"{paths.ledger} cannot be read, so nobody knows what would be lost"
    else:
        what = f"{lost.rows:,} rows ({lost.first} to {lost.last}) that were written are not in it"
    return f"{backup} ends with row {verdict.last_seq}; {what}. To give them up, use --force-older: it is recorded"


def _find_lost_rows(paths: LedgerPaths, verdict: AuditVerdict) -> LostRows | None:
    """Finds the rows that would be given up; None when the ledger equals the backup."""
    seen = _last_witnessed_row(paths, verdict)
    if not paths.ledger.exists():
        # Without the ledger, only the witness knows how far it went.
        return LostRows(verdict.last_seq + 1, max(seen, verdict.last_seq))
    try:
        with SqliteSource(paths.ledger) as source:
            head = source.heads()[0]
            common = _last_common_row(source, head, verdict)
    except (LedgerError, SourceDamaged, IndexError):
        return LostRows(verdict.last_seq + 1, None)
    if common is None:
        return None
    return LostRows(common + 1, max(seen, head.seq))


def _last_common_row(source: SqliteSource, head: HeadRow, verdict: AuditVerdict) -> int | None:
    """Returns the last row that both have; None when they are equal, 0 when they diverged."""
    if head.ledger != verdict.ledger:
        return 0
    if (head.seq, head.hash.hex()) == (verdict.last_seq, verdict.head_hash):
        # The same rows in a damaged file are still worth restoring.
        return verdict.last_seq if any(source.defects()) or any(source.damage()) else None
    found = source.hash_at(verdict.last_seq)
    return verdict.last_seq if found is not None and found.hex() == verdict.head_hash else 0


def _last_witnessed_row(paths: LedgerPaths, verdict: AuditVerdict) -> int:
    if paths.witness is None or not paths.witness.exists():
        return 0
    with read_sightings(paths.witness) as seen:
        return max((one.seq for one in seen or () if one.ledger == verdict.ledger), default=0)


def _replace(paths: LedgerPaths, backup: Path, verdict: AuditVerdict, lost: LostRows) -> Path | None:
    copy = copies.copy_ledger(backup, paths.ledger)
    try:
        _record_restore(copy, paths, backup, lost)
        copies.drop_log(copy)
        # The old ledger stays, under another name: it is the only trace of the lost rows.
        aside = _set_aside(paths, lost)
        # Again: a process may have opened the ledger while the copy was made.
        _check_unused(paths)
        copies.put_in_place(copy, paths.ledger)
    finally:
        copies.remove(copy)
    return aside


def _list_approved(paths: LedgerPaths) -> tuple[str, ...]:
    with SqliteSource(paths.ledger) as source:
        return tuple(call[0] for call in source.table("open_calls") if call[1] == "approved")


def _record_restore(copy: Path, paths: LedgerPaths, backup: Path, lost: LostRows) -> None:
    with Upkeep(copy, load_signing_keys(paths)) as upkeep, upkeep.writing():
        facts = {
            "ledger": upkeep.ledger,
            "restored_from": backup.name,
            "lost_rows": lost.rows,
            "lost_first": lost.first,
            "lost_last": lost.last,
        }
        upkeep.append(Entry("opened", "", now(), "", "restored", facts))


def _set_aside(paths: LedgerPaths, lost: LostRows) -> Path | None:
    if not paths.ledger.exists():
        return None
    # A log left beside the new file would be replayed into it.
    copies.drop_log(paths.ledger)
    stamp = datetime.now(UTC).strftime("%Y%m%dT%H%M%S%f")
    aside = paths.ledger.with_name(f"{paths.ledger.name}.replaced-{stamp}")
    copies.set_aside(paths.ledger, aside)
    return aside
