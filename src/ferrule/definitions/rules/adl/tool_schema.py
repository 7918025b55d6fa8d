"""The input schema of a user-defined tool: sound, and usable by function-calling APIs."""

from __future__ import annotations

from collections.abc import Iterator

from ferrule.contracts.rule import Rule, Subject
from ferrule.definitions.rules.adl.tool_items import list_user_tools
from ferrule.model.diagnostic import Finding, Severity
from ferrule.model.value import JsonObject, Path
from ferrule.schema.validation.soundness import schema_defects
from ferrule.schema.walk import SchemaPosition, positions

_COMPOSED = frozenset({"$ref", "allOf", "anyOf", "oneOf"})
_DECLARES_ELSEWHERE = ("$ref", "allOf", "patternProperties")


def _list_schemas(subject: Subject) -> Iterator[tuple[Path, JsonObject]]:
    for tool in list_user_tools(subject):
        if "schema" in tool.value:
            path = (*tool.path, "schema")
            schema = subject.get(*path)
            if isinstance(schema, dict) and schema:
                yield path, schema


class UnsoundToolSchema(Rule):
    """A tool's `schema` is a JSON Schema that validators accept; any keyword of it may be used, `$ref` into it as well.

    Why: an unsound schema is refused by the model's provider, or checks nothing.
    Bad:  schema: {type: strng}
    Good: schema: {type: string}
    """

    code = "ADL-14"
    name = "unsound-tool-schema"
    severity = Severity.ERROR

    def check(self, subject: Subject) -> Iterator[Finding]:
        """Yields each offending keyword."""
        unsound: set[Path] = set()
        subject.memo["adl.unsound_schemas"] = unsound
        for path, schema in _list_schemas(subject):
            for defect in schema_defects(schema):
                unsound.add(path)
                yield Finding(self.code, path + defect.path, defect.sentence(), hint=defect.hint)


class UnusualToolSchema(Rule):
    """A tool's `schema` is of `type: object` and lists every property it requires.

    Why: function-calling APIs take an object of named arguments, and a required property nobody describes cannot be filled.
    Bad:  schema: {type: object, properties: {query: {type: string}}, required: [querry]}
    Good: schema: {type: object, properties: {query: {type: string}}, required: [query]}
    """

    code = "ADL-15"
    name = "unusual-tool-schema"
    severity = Severity.WARNING

    def check(self, subject: Subject) -> Iterator[Finding]:
        """Yields roots that are no object, and required names that are not declared; skips unsound schemas."""
        unsound: set[Path] = subject.memo.get("adl.unsound_schemas", set())  # type: ignore[assignment]
        for path, schema in _list_schemas(subject):
            if path in unsound:
                continue
            if "type" in schema:
                if schema["type"] != "object":
                    message = "a tool's schema should be of `type: object`"
                    hint = "function-calling APIs pass named arguments: make the value a property of an object"
                    yield Finding(self.code, (*path, "type"), message, self.severity, hint)
            elif _COMPOSED.isdisjoint(schema):
                message = "the schema states no `type`; `type: object` is expected"
                yield Finding(self.code, path, message, self.severity, "add `type: object`")
            for position in positions(schema, path):
                if "required" in position.schema:
                    yield from self._find_undeclared(position)

    def _find_undeclared(self, position: SchemaPosition) -> Iterator[Finding]:
        required = position.schema["required"]
        if not isinstance(required, list) or _may_declare_elsewhere(position):
            return
        for index, name in enumerate(required):
            if isinstance(name, str) and not position.declares(name):
                message = f"{name!r} is required but not among the `properties`"
                hint = "describe it under `properties`, or take it out of `required`"
                yield Finding(self.code, (*position.path, "required", index), message, self.severity, hint)


def _may_declare_elsewhere(position: SchemaPosition) -> bool:
    around: SchemaPosition | None = position
    while around is not None:
        if any(word in around.schema for word in _DECLARES_ELSEWHERE):
            return True
        around = around.around
    return False
