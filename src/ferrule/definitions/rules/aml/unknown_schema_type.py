"""Schemas with a type that JSON does not have."""

from __future__ import annotations

from collections.abc import Iterator

from ferrule.contracts.expect import show
from ferrule.contracts.rule import Rule, Subject
from ferrule.definitions.rules.aml.interface import list_schemas
from ferrule.model.diagnostic import Finding, Severity
from ferrule.model.hints import nearest
from ferrule.model.value import JsonValue, Path

JSON_TYPES = frozenset({"object", "array", "string", "number", "integer", "boolean", "null"})
_HINTS = {
    "date": "write `type: string` and `format: date`",
    "file": "write an attachment object with `transfer`",
    "float": "write `number`",
    "any": "leave `type` out",
    "int": "write `integer`",
}
_LISTED = f"the types are {', '.join(sorted(JSON_TYPES))}"


class UnknownSchemaType(Rule):
    """A schema's `type` is object, array, string, number, integer, boolean or null, or a list of those.

    Why: validators refuse other words.
    Bad:  type: [string, null]      (an unquoted null is no word)
    Good: type: [string, "null"]
    """

    code = "AML-27"
    name = "unknown-schema-type"
    severity = Severity.ERROR

    def check(self, subject: Subject) -> Iterator[Finding]:
        """Yields a finding at each `type`, or item of it, that is no JSON type."""
        for path, schema, _ in list_schemas(subject):
            if "type" not in schema:
                continue
            word = schema["type"]
            if isinstance(word, str) and word in JSON_TYPES:
                continue
            if not isinstance(word, list):
                yield self._report((*path, "type"), word)
            elif not word:
                yield Finding(self.code, (*path, "type"), "`type` is an empty list", hint="name at least one type")
            else:
                for index, item in enumerate(word):
                    if not isinstance(item, str) or item not in JSON_TYPES:
                        yield self._report((*path, "type", index), item)

    def _report(self, path: Path, word: JsonValue) -> Finding:
        if word is None:
            return Finding(self.code, path, "an unquoted null is no type name", hint='quote it: "null"')
        hint = (_HINTS.get(word) or nearest(word, JSON_TYPES) if isinstance(word, str) else None) or _LISTED
        return Finding(self.code, path, f"{show(word)} is no JSON type", hint=hint)
