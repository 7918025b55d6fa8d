"""Formats the runtime does not enforce."""

from __future__ import annotations

from collections.abc import Iterator
from typing import ClassVar

from ferrule.contracts.expect import show
from ferrule.contracts.rule import Subject
from ferrule.definitions.rules.aml.interface import keywords, schemas
from ferrule.definitions.rules.aml.unremarkable import FORMATS
from ferrule.model.diagnostic import Finding, Severity
from ferrule.model.hints import nearest


class UnsupportedFormat:
    """`format` is one of those the runtime enforces: date, date-time, time, email, uri, uuid, ipv4, ipv6.

    Why: any other format is a remark that nobody checks.
    Bad:  format: hostname
    Good: format: uri
    """

    code: ClassVar[str] = "AML-30"
    name: ClassVar[str] = "unsupported-format"
    severity: ClassVar[Severity] = Severity.WARNING
    since: ClassVar[str] = "0.1"

    def check(self, subject: Subject) -> Iterator[Finding]:
        """A finding at each other format."""
        if "format" not in keywords(subject):
            return
        for path, schema, _ in schemas(subject):
            if "format" in schema:
                value = schema["format"]
                if isinstance(value, str) and value not in FORMATS:
                    message = f"the format {show(value)} is not enforced"
                    hint = nearest(value, FORMATS) or "say in `description` what is expected, or give a `pattern`"
                    yield Finding(self.code, (*path, "format"), message, Severity.WARNING, hint)
