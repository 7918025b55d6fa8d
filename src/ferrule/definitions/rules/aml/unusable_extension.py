"""What stands under our own key and cannot be used."""

from __future__ import annotations

from collections.abc import Iterator
from typing import ClassVar

from ferrule.contracts.rule import Subject
from ferrule.definitions.carried import FIELDS, misfits
from ferrule.model.diagnostic import Finding, Severity
from ferrule.model.hints import nearest
from ferrule.model.loss import EXTENSION
from ferrule.model.value import MISSING


class UnusableExtension:
    """`x-ferrule` holds fields of the canonical tool that AML has no words for, each of its own type.

    Why: a member that cannot be used is passed over, and what it was meant to say with it.
    Bad:  x-ferrule: {tool_kind: openapi}
    Good: x-ferrule: {tool_kind: openapi_operation}
    """

    code: ClassVar[str] = "AML-15"
    name: ClassVar[str] = "unknown-key"
    severity: ClassVar[Severity] = Severity.WARNING
    since: ClassVar[str] = "0.1"

    def check(self, subject: Subject) -> Iterator[Finding]:
        """A finding at each member that is passed over."""
        extension = subject.get(EXTENSION) if EXTENSION in subject.value else MISSING
        if not isinstance(extension, dict):
            return
        for member, message in misfits(extension):
            path = (EXTENSION, *member.split(".")) if member.startswith("facts.") else (EXTENSION, member)
            hint = nearest(member, FIELDS) if member not in FIELDS else None
            yield Finding(self.code, path, f"`{member}` {message}", Severity.WARNING, hint, on_key=True)
