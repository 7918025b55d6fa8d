"""Deprecated tools nobody can tell the age of."""

from __future__ import annotations

from collections.abc import Iterator
from typing import ClassVar

from ferrule.contracts.rule import Subject
from ferrule.model.diagnostic import Finding, Severity


class UndatedDeprecation:
    """A deprecated tool has `meta.last_updated`.

    Why: whoever still uses it needs to know since when.
    Bad:  status: deprecated, and no date
    Good: status: deprecated, meta: {last_updated: 2026-02-01, …}
    """

    code: ClassVar[str] = "AML-77"
    name: ClassVar[str] = "undated-deprecation"
    severity: ClassVar[Severity] = Severity.WARNING
    since: ClassVar[str] = "0.1"

    def check(self, subject: Subject) -> Iterator[Finding]:
        """A finding at `meta` when the date is missing."""
        if subject.get("status") != "deprecated":
            return
        meta = subject.get("meta")
        if isinstance(meta, dict) and "last_updated" not in meta:
            message = "a deprecated tool without `meta.last_updated`"
            yield Finding(self.code, ("meta", "last_updated"), message, Severity.WARNING, "add the date of deprecation")
