"""AT-2 and AT-282: the version of the standard a record follows."""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import ClassVar

from ferrule.contracts.expect import show
from ferrule.contracts.rule import Subject
from ferrule.model.diagnostic import Finding, Severity
from ferrule.rules.agent_tool.records import records_of

CURRENT = "0.2.0"
_VERSION = re.compile(r"(0|[1-9][0-9]{0,5})\.(0|[1-9][0-9]{0,5})\.(0|[1-9][0-9]{0,5})")
_READABLE = (0, 1)
"""Records of 0.1.x stay readable and say nothing wrong (AT-280)."""


class OutdatedVersion:
    """Records say `schema_version: "0.2.0"`; those of 0.1.x stay readable.

    Why: readers decide by it what the fields mean.
    Bad:  "schema_version": "2"
    Good: "schema_version": "0.2.0"
    """

    code: ClassVar[str] = "AT-2"
    name: ClassVar[str] = "unknown-schema-version"
    severity: ClassVar[Severity] = Severity.WARNING
    since: ClassVar[str] = "0.1"

    def check(self, subject: Subject) -> Iterator[Finding]:
        """Every version that is neither the current one nor an old readable one."""
        for path, record in records_of(subject):
            written = record.get("schema_version")
            if written == CURRENT or not isinstance(written, str) or not written.strip():
                continue
            numbers = _numbers(written)
            where = (*path, "schema_version")
            if numbers > (0, 2, 0):
                message = f"version {written} is newer than {CURRENT}; it is read as far as it is understood"
                yield Finding(NewerVersion.code, where, message, Severity.WARNING)
            elif numbers[:2] != _READABLE:
                yield Finding(
                    self.code, where, f"`schema_version` should be {CURRENT}, not {show(written)}", self.severity
                )


class NewerVersion:
    """A record of a later version of the standard is read as far as it is understood.

    Why: its new fields may mean more than is checked here.
    Bad:  "schema_version": "0.9.0"
    Good: "schema_version": "0.2.0"
    """

    code: ClassVar[str] = "AT-282"
    name: ClassVar[str] = "newer-schema-version"
    severity: ClassVar[Severity] = Severity.WARNING
    since: ClassVar[str] = "0.1"


def _numbers(version: str) -> tuple[int, ...]:
    parts = _VERSION.fullmatch(version)
    return tuple(map(int, parts.groups())) if parts else ()
