"""OXP-11: references and nested definitions in schemas."""

from __future__ import annotations

from collections.abc import Iterator
from typing import ClassVar

from ferrule.contracts.rule import Subject
from ferrule.definitions.rules.oxp.schemas import EXCLUDED, examined, schemas_of
from ferrule.model.diagnostic import Finding, Severity


class ExcludedKeyword:
    """Schemas have neither references nor nested definitions: no $ref, $defs, definitions, $id, $anchor, $dynamicRef.

    Why: clients hand the schema to models as it stands, and few of those follow references. The
    keyword `schemas` is out too. A property that merely has such a name is fine, and so is such a key inside enum, const,
    default and examples.
    Bad:  {"$ref": "#/$defs/city"}
    Good: {"type": "string", "description": "A city"}
    """

    code: ClassVar[str] = "OXP-11"
    name: ClassVar[str] = "excluded-keyword"
    severity: ClassVar[Severity] = Severity.ERROR
    since: ClassVar[str] = "0.1"

    def check(self, subject: Subject) -> Iterator[Finding]:
        for placed in schemas_of(subject):
            for position in examined(subject, placed):
                if EXCLUDED.isdisjoint(position.schema):
                    continue
                for key in position.schema:
                    if key in EXCLUDED:
                        message = f"`{key}` is not allowed in an OXP schema"
                        yield Finding(self.code, (*position.path, key), message, hint="write it out", on_key=True)
