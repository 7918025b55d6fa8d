"""Blocks of a tool file that are opened and left empty."""

from __future__ import annotations

from collections.abc import Iterator
from typing import ClassVar

from ferrule.contracts.rule import Subject
from ferrule.definitions.rules.aml.fields import MISSING_FIELDS
from ferrule.model.diagnostic import Finding, Severity
from ferrule.model.value import is_blank

_REQUIRED = {"meta": ("name", "description", "owner"), "interface": ("input", "output")}


class EmptyBlock:
    """A `meta` or `interface` left empty lacks each of its required fields.

    Bad:  an empty `meta:`
    Good: `meta:` with name, description and owner
    """

    code: ClassVar[str] = "AML-7"
    name: ClassVar[str] = "missing-field"
    severity: ClassVar[Severity] = Severity.ERROR
    since: ClassVar[str] = "0.1"

    def check(self, subject: Subject) -> Iterator[Finding]:
        """One finding per field, as when the block is not there at all."""
        for block, keys in _REQUIRED.items():
            if block in subject.value and is_blank(subject.value[block]):
                for key in keys:
                    field = f"{block}.{key}"
                    yield Finding(self.code, (block, key), f"`{field}` is missing", hint=MISSING_FIELDS[field])
