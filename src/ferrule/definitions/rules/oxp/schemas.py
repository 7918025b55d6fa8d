"""Finds the schemas of an OXP definition, and checks two rules on them: references and nested definitions (OXP-11), and schemas
that no validator accepts (OXP-12).
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any, NamedTuple

from ferrule.contracts.expect import show
from ferrule.contracts.rule import Rule, Subject
from ferrule.model.diagnostic import Finding, Severity
from ferrule.model.value import JsonObject, Path
from ferrule.schema.inlining import EXCLUDED_FROM_OXP
from ferrule.schema.validation.usability import call_defects
from ferrule.schema.walk import SchemaPosition, positions

"""Keywords OXP leaves out of JSON Schema (OXP-11)."""

PARAMETERS: Path = ("input_schema", "parameters")


class PlacedSchema(NamedTuple):
    """A schema and its path in the definition."""

    path: Path
    schema: JsonObject


def find_parameters(subject: Subject) -> PlacedSchema | None:
    """Returns the schema of the parameters; in compatibility mode it may stand directly in `input_schema` (OXP-49)."""
    outer = subject.get("input_schema")
    if not isinstance(outer, dict):
        return None
    if "parameters" in outer:
        inner = subject.get(*PARAMETERS)
        return PlacedSchema(PARAMETERS, inner) if isinstance(inner, dict) else None
    return PlacedSchema(("input_schema",), outer) if subject.settings.compat else None


def list_schemas(subject: Subject) -> Iterator[PlacedSchema]:
    """Yields the schema of the parameters and that of the output, where they are objects."""
    parameters = find_parameters(subject)
    if parameters is not None:
        yield parameters
    output = subject.get("output_schema")
    if isinstance(output, dict):
        yield PlacedSchema(("output_schema",), output)


def walk_schema(subject: Subject, placed: PlacedSchema) -> list[SchemaPosition]:
    """Returns every schema inside, except what lies below an excluded keyword. Walked once per definition."""
    key = "oxp." + str(placed.path[0])
    known = subject.memo.get(key)
    if known is None:
        known = subject.memo[key] = list(positions(placed.schema, placed.path, skip=EXCLUDED_FROM_OXP))
    return known  # type: ignore[return-value]  # only this function writes the key


def prune_schema(schema: object, excluded: frozenset[Path], path: Path) -> Any:
    """Returns a copy without what stands at the excluded paths, so that the rest can be judged on its own."""
    if isinstance(schema, dict):
        return {
            key: prune_schema(schema[key], excluded, (*path, key)) for key in schema if (*path, key) not in excluded
        }
    if isinstance(schema, list):
        return [prune_schema(item, excluded, (*path, index)) for index, item in enumerate(schema)]
    return schema


class ExcludedKeyword(Rule):
    """Schemas have neither references nor nested definitions: no $ref, $defs, definitions, $id, $anchor, $dynamicRef.

    Why: clients hand the schema to models as it stands, and few of those follow references. The
    keyword `schemas` is out too. A property that merely has such a name is fine, and so is such a key inside enum, const,
    default and examples.
    Bad:  {"$ref": "#/$defs/city"}
    Good: {"type": "string", "description": "A city"}
    """

    code = "OXP-11"
    name = "excluded-keyword"
    severity = Severity.ERROR

    def check(self, subject: Subject) -> Iterator[Finding]:
        for placed in list_schemas(subject):
            for position in walk_schema(subject, placed):
                if EXCLUDED_FROM_OXP.isdisjoint(position.schema):
                    continue
                for key in position.schema:
                    if key in EXCLUDED_FROM_OXP:
                        message = f"`{key}` is not allowed in an OXP schema"
                        yield Finding(self.code, (*position.path, key), message, hint="write it out", on_key=True)


class UnsoundSchema(Rule):
    """`parameters` and `output_schema` are valid JSON Schemas, and the type of `parameters`, if given, is object.

    Why: a schema that does not compile cannot check a call. Without `$schema`, what draft 2020-12 or draft-07 accepts
    is accepted; one that names an unknown dialect is not.
    Bad:  {"type": "strng"}
    Good: {"type": "string"}
    """

    code = "OXP-12"
    name = "unsound-schema"
    severity = Severity.ERROR

    def check(self, subject: Subject) -> Iterator[Finding]:
        excluded = frozenset(finding.path for finding in subject.findings if finding.rule == "OXP-11")
        parameters = find_parameters(subject)
        for placed in list_schemas(subject):
            yield from self._find_defects(placed, excluded)
        if parameters is not None:
            kind = parameters.schema.get("type", "object")
            if kind != "object":
                path = (*parameters.path, "type")
                yield Finding(self.code, path, f"the type of the parameters must be object, not {show(kind)}")

    def _find_defects(self, placed: PlacedSchema, excluded: frozenset[tuple[str | int, ...]]) -> Iterator[Finding]:
        schema = prune_schema(placed.schema, excluded, placed.path) if excluded else placed.schema
        for defect in call_defects(schema) if schema else ():
            yield Finding(self.code, placed.path + defect.path, defect.sentence(), hint=defect.hint)
