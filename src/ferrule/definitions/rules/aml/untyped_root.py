"""Interfaces that are no objects."""

from __future__ import annotations

from collections.abc import Iterator
from typing import ClassVar

from ferrule.contracts.rule import Subject
from ferrule.definitions.rules.aml.interface import SIDES
from ferrule.model.diagnostic import Finding, Severity


class UntypedRoot:
    """`interface.input` and `interface.output` have `type: object` at their root.

    Why: arguments and results travel as JSON objects.
    Bad:  output: {type: array, items: {type: string}}
    Good: output: {type: object, properties: {names: {type: array, items: {type: string}}}}
    """

    code: ClassVar[str] = "AML-25"
    name: ClassVar[str] = "untyped-interface-root"
    severity: ClassVar[Severity] = Severity.ERROR
    since: ClassVar[str] = "0.1"

    def check(self, subject: Subject) -> Iterator[Finding]:
        """A finding at the root's `type`, or at the side when it has none."""
        for side in SIDES:
            schema = subject.get("interface", side)
            if not isinstance(schema, dict) or schema.get("type") == "object":
                continue
            path = ("interface", side, "type")
            if "type" not in schema:
                yield Finding(self.code, path, f"`interface.{side}` has no `type: object`", hint="add it at the root")
            elif not subject.has_error_below(path):
                message = f"the root of `interface.{side}` must have `type: object`, that word alone"
                yield Finding(self.code, path, message, hint="make any other value a property of an object")
