"""Findings are all counted, and the first of them kept."""

from __future__ import annotations

from ferrule.app.custody.paths import LedgerPaths
from ferrule.ledger.audit.findings import KEPT
from tests.ledger.audit.build import (
    Story,
)
from tests.ledger.audit.verdicts import verify_story


def test_very_many_findings_are_counted_and_not_all_kept(paths: LedgerPaths) -> None:
    story = Story()
    for _ in range(KEPT + 50):
        story.read()
        story.entries[-1].outcome = "failed"
    verdict = verify_story(paths, story)
    assert (verdict.finding_count, len(verdict.findings)) == (KEPT + 50, KEPT)
