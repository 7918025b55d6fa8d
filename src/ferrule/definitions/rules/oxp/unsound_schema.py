"""OXP-12: schemas that no validator accepts."""

from __future__ import annotations

from collections.abc import Iterator
from typing import ClassVar

from ferrule.contracts.expect import show
from ferrule.contracts.rule import Subject
from ferrule.definitions.rules.oxp.schemas import Placed, parameters_of, pruned, schemas_of
from ferrule.model.diagnostic import Finding, Severity
from ferrule.schema.validation.usability import call_defects


class UnsoundSchema:
    """`parameters` and `output_schema` are valid JSON Schemas, and the type of `parameters`, if given, is object.

    Why: a schema that does not compile cannot check a call. Without `$schema`, what draft 2020-12 or draft-07 accepts
    is accepted; one that names an unknown dialect is not.
    Bad:  {"type": "strng"}
    Good: {"type": "string"}
    """

    code: ClassVar[str] = "OXP-12"
    name: ClassVar[str] = "unsound-schema"
    severity: ClassVar[Severity] = Severity.ERROR
    since: ClassVar[str] = "0.1"

    def check(self, subject: Subject) -> Iterator[Finding]:
        excluded = frozenset(finding.path for finding in subject.findings if finding.rule == "OXP-11")
        parameters = parameters_of(subject)
        for placed in schemas_of(subject):
            yield from self._defects(placed, excluded)
        if parameters is not None:
            kind = parameters.schema.get("type", "object")
            if kind != "object":
                path = (*parameters.path, "type")
                yield Finding(self.code, path, f"the type of the parameters must be object, not {show(kind)}")

    def _defects(self, placed: Placed, excluded: frozenset[tuple[str | int, ...]]) -> Iterator[Finding]:
        schema = pruned(placed.schema, excluded, placed.path) if excluded else placed.schema
        for defect in call_defects(schema) if schema else ():
            yield Finding(self.code, placed.path + defect.path, defect.sentence(), hint=defect.hint)
