"""Checks a whole ledger: its file, its rows, its signed head, the tables that follow from the rows, and the witness."""

from __future__ import annotations

import time
from collections.abc import Iterable

import msgspec
from cryptography.exceptions import InvalidSignature
from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PublicKey

from ferrule.contracts.ledger import TABLES, HeadRow, LedgerSource, RawRow, SourceDamaged
from ferrule.ledger.audit.findings import AuditVerdict, Findings
from ferrule.ledger.audit.histories import Anchor, from_facts
from ferrule.ledger.audit.tables import compare_table
from ferrule.ledger.audit.walk import Progress, Walk
from ferrule.ledger.audit.witness import Sighting, check_witness
from ferrule.ledger.chain import format_head

NO_WITNESS = (
    "no witness was given: a ledger that was put back whole, with its head, to an earlier state cannot be told from "
    "one that never went further"
)


def verify(
    source: LedgerSource,
    keys: Iterable[bytes],
    *,
    witness: Iterable[Sighting] | None = None,
    progress: Progress | None = None,
) -> AuditVerdict:
    """Verifies a ledger against the public keys that may have signed its head, and the witness if there is one."""
    began = time.perf_counter()
    findings = Findings()
    walk = Walk(findings)
    trusted = tuple(keys)
    try:
        _check_source(source, walk, findings, trusted, progress)
        notes = [NO_WITNESS] if witness is None else _check_witness(source, walk, findings, trusted, witness)
    except SourceDamaged as damage:
        findings.add("file", str(damage))
        notes = []
    finally:
        walk.close()
    return make_verdict(walk, findings, notes, time.perf_counter() - began)


def make_verdict(walk: Walk, findings: Findings, notes: list[str], seconds: float) -> AuditVerdict:
    """Makes the verdict of a pass."""
    if walk.anchor is not None:
        notes = [f"rows up to {walk.anchor.last} were removed by a recorded pruning", *notes]
    return AuditVerdict(
        ledger=walk.ledger,
        rows=walk.count,
        first_seq=walk.first,
        last_seq=walk.last,
        head_hash=walk.before.hex(),
        findings=tuple(findings.kept),
        finding_count=findings.count,
        notes=tuple(notes),
        seconds=seconds,
    )


def _check_source(
    source: LedgerSource, walk: Walk, findings: Findings, keys: tuple[bytes, ...], progress: Progress | None
) -> None:
    for message in source.defects():
        findings.add("schema", message)
    anchor = find_anchor(source, findings)
    if anchor is not None:
        walk.begin(anchor)
    walk.run(source.rows(), progress, source.count() if progress is not None else 0)
    walk.finish()
    for call, seq in source.rows_after_the_end():
        findings.add("history", "belongs to a call that had ended before", seq, call)
    check_head(source.heads(), walk, findings, keys)
    if source.has_tables:
        _check_tables(source, walk, findings)
    for message in source.damage():
        findings.add("file", message)


def find_anchor(source: LedgerSource, findings: Findings) -> Anchor | None:
    """Finds where a pruned ledger begins, as its latest `pruned` row says; None for one that begins at its first row.

    The row is believed for now: the pass reaches it later, and the signed head vouches for it like for any other.
    """
    first = next(iter(source.rows()), None)
    if first is None or first[0] == 1:
        return None
    row = source.last_pruned()
    if row is None:
        return None
    try:
        return from_facts(msgspec.msgpack.decode(RawRow._make(row).body))
    except (ValueError, TypeError):
        findings.add("pruning", "cannot be understood, so the start of the ledger is not backed", row[0])
        return None


def check_head(heads: list[HeadRow], walk: Walk, findings: Findings, keys: tuple[bytes, ...]) -> None:
    """Checks that the head is one row, signed by a trusted key, about exactly the last row."""
    if len(heads) != 1:
        findings.add("head", f"there are {len(heads)} heads instead of one")
        return
    head = heads[0]
    try:
        if not is_signed(head, keys):
            findings.add("head", "the head is not signed with the ledger's key: it was changed, or forged", head.seq)
    except (TypeError, ValueError, AttributeError, OverflowError) as error:
        findings.add("head", f"the head cannot be understood: {type(error).__name__}")
        return
    if (head.seq, head.hash) != (walk.last, walk.before):
        text = f"the head says row {head.seq} is the last; the rows end with {walk.last or 'none'}"
        same = "the head was signed over another last row than the one that is there"
        findings.add("head", text if head.seq != walk.last else same, head.seq)
    if walk.ledger and head.ledger != walk.ledger:
        findings.add("head", f"the head belongs to ledger {head.ledger!r}, the rows to {walk.ledger!r}")
    walk.ledger = head.ledger


def is_signed(head: HeadRow, keys: tuple[bytes, ...]) -> bool:
    """Returns True when one of the keys signed this head."""
    text = format_head(head.ledger, head.seq, head.hash, head.at)
    return is_signature(head.signature, text, keys)


def is_signature(signature: bytes, text: bytes, keys: Iterable[bytes]) -> bool:
    """Returns True when one of the public keys made this signature of this text."""
    for key in keys:
        try:
            Ed25519PublicKey.from_public_bytes(key).verify(signature, text)
        except InvalidSignature:
            continue
        return True
    return False


def _check_tables(source: LedgerSource, walk: Walk, findings: Findings) -> None:
    for name in TABLES:
        try:
            compare_table(name, walk.tables.rows(name), source.table(name), findings)
        except SourceDamaged as damage:
            findings.add("file", f"the table {name} cannot be read: {damage}")
        except TypeError:
            # Keys of other types cannot be put in order, so the entries cannot be paired.
            findings.add("table", f"{name} holds values of the wrong type")


def _check_witness(
    source: LedgerSource, walk: Walk, findings: Findings, keys: tuple[bytes, ...], witness: Iterable[Sighting]
) -> list[str]:
    def is_genuine(sighting: Sighting) -> bool:
        return is_signed(HeadRow(*sighting[:5]), keys)

    return check_witness(witness, walk, source.hash_at, is_genuine, findings)
