"""Schemas that point elsewhere."""

from __future__ import annotations

from collections.abc import Iterator
from typing import ClassVar

from ferrule.contracts.rule import Subject
from ferrule.definitions.rules.aml.interface import REFUSED, keywords, schemas
from ferrule.model.diagnostic import Finding, Severity


class RefusedReference:
    """Interface schemas stand on their own: no `$ref`, `$id`, `definitions`, `$defs`, `$anchor`, `$recursiveRef` or
    `$dynamicRef`, and no alias that makes a schema contain itself.

    Why: a schema is handed to the model as it stands, and models do not follow references.
    Bad:  items: {$ref: "#/definitions/address"}
    Good: items: {type: string, format: email}
    """

    code: ClassVar[str] = "AML-26"
    name: ClassVar[str] = "refused-reference"
    severity: ClassVar[Severity] = Severity.ERROR
    since: ClassVar[str] = "0.1"

    def check(self, subject: Subject) -> Iterator[Finding]:
        """One finding per refused keyword."""
        if REFUSED.isdisjoint(keywords(subject)):
            return
        for path, schema, _ in schemas(subject):
            if REFUSED.isdisjoint(schema):
                continue
            for keyword in schema:
                if keyword in REFUSED:
                    hint = "write the schema out where it is used"
                    message = f"`{keyword}` is not part of AML's JSON Schema"
                    yield Finding(self.code, (*path, keyword), message, hint=hint, on_key=True)
