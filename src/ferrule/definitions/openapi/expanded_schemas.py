"""Expanded schemas with their size, and small conversions of them. They are shared, so nothing changes one in place."""

from __future__ import annotations

from typing import NamedTuple

from ferrule.definitions.openapi.keywords import convert_keywords
from ferrule.definitions.openapi.wording import append_sentences, humanize
from ferrule.model.value import JsonObject


class ExpandedSchema(NamedTuple):
    """A schema without references, with its size."""

    schema: JsonObject
    size: int = 1
    """The number of schemas when written out."""
    height: int = 1
    is_hidden: bool = False
    """True for a schema that is not sent (`readOnly`) or not returned (`writeOnly`), and for `false`."""
    is_cut: bool = False
    """True when a part was left out because of its size."""


NOTHING = ExpandedSchema({})


def add_description(schema: JsonObject, text: str) -> JsonObject:
    """Adds a description, which is placed after the type."""
    made = {"type": schema["type"]} if "type" in schema else {}
    return {**made, "description": text, **schema}


def add_branches(entry: ExpandedSchema, word: str, branches: list[ExpandedSchema]) -> ExpandedSchema:
    """Adds alternatives to a schema."""
    kept = [branch for branch in branches if not branch.is_hidden]
    if not kept:
        return entry._replace(is_hidden=True)
    size = entry.size + sum(branch.size for branch in kept)
    height = max(entry.height, 1 + max(branch.height for branch in kept))
    is_cut = entry.is_cut or any(branch.is_cut for branch in kept)
    schemas = [branch.schema for branch in kept]
    plain = _join_null_branch(schemas)
    if plain is not None:
        schema = {**plain, **entry.schema} if "type" not in entry.schema else {**entry.schema, word: schemas}
    elif len(schemas) == 1 and "type" not in entry.schema:
        schema = {**schemas[0], **entry.schema}
    # A second list of alternatives: a value must match one of each list.
    elif word in entry.schema:
        schema = {**entry.schema, "allOf": [*entry.schema.get("allOf", []), {word: schemas}]}
    else:
        schema = {**entry.schema, word: schemas}
    return ExpandedSchema(schema, size, height, entry.is_hidden, is_cut)


def make_nullable(schema: JsonObject) -> JsonObject:
    """Makes a schema accept null, too."""
    kind = schema.get("type")
    if kind is None and not schema.keys() & {"enum", "const", "oneOf", "anyOf", "allOf"}:
        return schema
    if isinstance(kind, str) and kind != "null" and not schema.keys() & {"const", "oneOf", "anyOf", "allOf"}:
        values = {"enum": [*schema["enum"], None]} if "enum" in schema and None not in schema["enum"] else {}
        return {**schema, "type": [kind, "null"], **values}
    if isinstance(kind, list) and "null" in kind:
        return schema
    head = {"description": schema["description"]} if "description" in schema else {}
    return {**head, "anyOf": [schema, {"type": "null"}]}


def _join_null_branch(schemas: list[JsonObject]) -> JsonObject | None:
    """Joins `X or null` into X with the type `null` added, where X has one type and no listed values."""
    if len(schemas) != 2:
        return None
    null = [schema for schema in schemas if schema.get("type") == "null"]
    rest = [schema for schema in schemas if schema.get("type") != "null"]
    if len(null) != 1 or len(rest) != 1:
        return None
    kind = rest[0].get("type")
    if not isinstance(kind, str) or rest[0].keys() & {"enum", "const", "oneOf", "anyOf", "allOf"}:
        return None
    return {**rest[0], "type": [kind, "null"]}


def declare_required(written: object, hidden: ExpandedSchema | None, out: JsonObject) -> list[str]:
    """Returns the required names that can be given; declares those without a property."""
    if not isinstance(written, list):
        return []
    unseen = hidden.schema["enum"] if hidden is not None else ()
    names = list(dict.fromkeys(name for name in written if isinstance(name, str) and name not in unseen))
    if not names:
        return []
    properties = out.get("properties", {})
    missing = [name for name in names if name not in properties]
    if missing or "properties" not in out:
        out["properties"] = {**properties, **{name: {"description": humanize(name)} for name in missing}}
    return names


def cut_members(written: JsonObject) -> ExpandedSchema:
    """Returns a schema without the schemas inside it."""
    outer = {key: value for key, value in written.items() if key not in ("properties", "items", "additionalProperties")}
    if "type" not in outer and "properties" in written:
        outer["type"] = "object"
    out = {key: value for key, value in convert_keywords(outer)[0].items() if key != "default"}
    if written.keys() & {"properties", "items", "allOf", "oneOf", "anyOf", "additionalProperties"}:
        out["description"] = append_sentences(out.get("description", ""), ["Its members are not listed here."])
        return ExpandedSchema(out, is_cut=True)
    return ExpandedSchema(out)
