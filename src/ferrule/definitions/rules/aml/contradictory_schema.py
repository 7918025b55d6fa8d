"""Schemas that contradict themselves."""

from __future__ import annotations

from collections.abc import Iterator

from ferrule.contracts.rule import Rule, Subject
from ferrule.definitions.rules.aml.attachment import find_attachment
from ferrule.definitions.rules.aml.interface import collect_error_paths, list_schemas
from ferrule.model.diagnostic import Finding, Severity
from ferrule.model.hints import nearest
from ferrule.model.value import JsonObject, Path, is_number
from ferrule.schema.validation.soundness import fits
from ferrule.schema.walk import SchemaPosition

_BOUNDS = (("minimum", "maximum"), ("minLength", "maxLength"), ("minItems", "maxItems"))
_FEW = 50
"""With more properties than this there is no hint: comparing each name takes time."""
_TELLING = frozenset({"required", "default", "minimum", "minLength", "minItems"})
_SILENT = frozenset({"type", "default", "description", "format", "sensitive"})
"""Keywords under which a default is judged by its type alone, formats not being asserted."""
_TYPES: dict[str, tuple[type, ...]] = {
    "string": (str,),
    "boolean": (bool,),
    "object": (dict,),
    "array": (list,),
    "null": (type(None),),
}


class ContradictorySchema(Rule):
    """A schema requires only properties it lists, has bounds that leave room, and a default that fits.

    Why: a model cannot satisfy a schema that contradicts itself, and gives up or makes something up.
    Bad:  {type: integer, minimum: 10, maximum: 5}
    Good: {type: integer, minimum: 5, maximum: 10}
    """

    code = "AML-32"
    name = "contradictory-schema"
    severity = Severity.WARNING

    def check(self, subject: Subject) -> Iterator[Finding]:
        """Yields a finding at each undeclared name, lower bound and default."""
        broken = collect_error_paths(subject)
        for position in list_schemas(subject):
            schema = position.schema
            if _TELLING.isdisjoint(schema):
                continue
            if "required" in schema and "$ref" not in schema:
                yield from self._find_undeclared(position, schema["required"])
            for lower, upper in _BOUNDS:
                if lower in schema and upper in schema:
                    least, most = schema[lower], schema[upper]
                    if is_number(least) and is_number(most) and least > most:
                        message = f"`{lower}` is greater than `{upper}`, so no value fits"
                        yield self._warn((*position.path, lower), message, "lower it or raise the other")
            if "default" in schema and position.path not in broken and not _default_fits(schema):
                message = "the default does not fit its own schema"
                yield self._warn((*position.path, "default"), message, "change the default, or what the schema allows")

    def _find_undeclared(self, position: SchemaPosition, required: object) -> Iterator[Finding]:
        properties = position.schema.get("properties")
        if not isinstance(required, list) or not (properties is None or isinstance(properties, dict)):
            return
        if "properties" in position.schema and properties is None:
            return
        seen: set[str] = set()
        for index, name in enumerate(required):
            if not isinstance(name, str) or name in seen or (properties and name in properties):
                continue
            seen.add(name)
            if position.declares(name) or _is_attachment_member(position, name):
                continue
            message = f"{name!r} is required but not in `properties`"
            near = nearest(name, properties) if properties and len(properties) <= _FEW else None
            hint = near or "declare it, or take it out of `required`"
            yield self._warn((*position.path, "required", index), message, hint)

    def _warn(self, path: Path, message: str, hint: str) -> Finding:
        return Finding(self.code, path, message, Severity.WARNING, hint)


def _is_attachment_member(position: SchemaPosition, name: str) -> bool:
    attachment = find_attachment(position.schema)
    return attachment is not None and name in attachment.members


def _default_fits(schema: JsonObject) -> bool:
    default = schema["default"]
    word = schema.get("type")
    # Most defaults are judged here: compiling a schema to validate one value costs far more.
    if schema.keys() <= _SILENT and isinstance(word, str):
        expected = _TYPES.get(word)
        if expected is not None:
            return isinstance(default, expected)
        if isinstance(default, int):
            return not isinstance(default, bool)
    return fits(schema, default)
