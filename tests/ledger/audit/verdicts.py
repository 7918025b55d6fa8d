"""Verdicts over ledgers that the store wrote."""

from __future__ import annotations

from ferrule.app.custody.check import verify_ledger
from ferrule.app.custody.paths import LedgerPaths
from ferrule.ledger.audit.findings import AuditFinding, AuditVerdict
from tests.ledger.audit.build import (
    Story,
    list_public_keys,
    write_story,
)


def verify_story(paths: LedgerPaths, story: Story) -> AuditVerdict:
    """The verdict over a story that the store wrote."""
    write_story(paths, story)
    return verify_ledger(paths.ledger, list_public_keys(paths), witness=paths.witness)


def find_only(verdict: AuditVerdict) -> AuditFinding:
    """The one finding there is."""
    assert verdict.finding_count == 1, verdict.findings
    return verdict.findings[0]
