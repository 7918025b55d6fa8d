"""Whether a schema keeps to a provider's rules, by the profile's facts alone. Knows nothing of how schemas are fitted."""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import Any

from ferrule.schema.fitting import Profile

_NODES = ("items", "additionalProperties", "not", "if", "then", "else", "contains", "propertyNames", "additionalItems")
_LISTS = ("anyOf", "oneOf", "allOf", "prefixItems")
_MAPS = ("properties", "$defs", "definitions", "patternProperties", "dependentSchemas")


def offences(schema: dict[str, Any], profile: Profile) -> list[str]:
    """Everything that breaks a rule."""
    found = [*_root(schema, profile)]
    nodes = list(_walk(schema, "", 1))
    for path, node, depth in nodes:
        found += [f"{path}: {said}" for said in _node(node, profile, depth)]
    found += _totals([node for _, node, _ in nodes], schema, profile)
    for path, node, _ in nodes:
        ref = node.get("$ref") if isinstance(node, dict) else None
        if ref is not None and not (ref.startswith("#/") and ref.split("/")[2] in schema.get(ref.split("/")[1], {})):
            found.append(f"{path}: {ref} is not there")
    if not profile.is_recursion_allowed and _recurs(schema):
        found.append("it refers to itself")
    return found


def _walk(node: Any, path: str, depth: int) -> Iterator[tuple[str, Any, int]]:
    yield path, node, depth
    if not isinstance(node, dict):
        return
    for word in _NODES:
        if word in node and isinstance(node[word], dict | bool):
            yield from _walk(node[word], f"{path}/{word}", depth + 1)
    for word in _LISTS:
        for at, member in enumerate(node.get(word, ())):
            yield from _walk(member, f"{path}/{word}/{at}", depth + (word == "prefixItems"))
    for word in _MAPS:
        for name, member in node.get(word, {}).items():
            yield from _walk(member, f"{path}/{word}/{name}", 1 if word in ("$defs", "definitions") else depth + 1)


def _root(schema: dict[str, Any], profile: Profile) -> Iterator[str]:
    if schema.get("type") != "object":
        yield "the root is no object"
    if not isinstance(schema.get("properties"), dict):
        yield "the root has no properties"
    for word in profile.root_refused & schema.keys():
        yield f"{word} at the root"
    if profile.property_names:
        for name in schema.get("properties", {}):
            if not re.fullmatch(profile.property_names, name):
                yield f"the name {name!r}"


def _node(node: Any, profile: Profile, depth: int) -> Iterator[str]:
    if isinstance(node, bool):
        if profile.accepted is not None and (node or not profile.is_closed) and not profile.allows_maps:
            yield "a schema that is a boolean"
        return
    if profile.accepted is not None:
        for word in node.keys() - profile.accepted:
            yield f"the keyword {word}"
        if not profile.allows_anything and not node.keys() & {"type", "anyOf", "$ref"}:
            yield "no type"
    word = node.get("type")
    kinds = [word] if isinstance(word, str) else word or []
    if isinstance(word, list) and not profile.allows_type_lists:
        yield "a list of types"
    if "object" in kinds:
        yield from _object(node, profile)
    if "array" in kinds and profile.needs_items and not isinstance(node.get("items"), dict):
        yield "an array without items"
    if ("object" in kinds or "array" in kinds) and profile.deepest is not None and depth > profile.deepest:
        yield f"{depth} levels deep"
    if "prefixItems" in node and not profile.allows_tuples:
        yield "a tuple"
    if profile.nullable != "nullable" and profile.accepted is not None and "nullable" in node:
        yield "nullable"
    if profile.formats is not None and "format" in node and node["format"] not in profile.formats:
        yield f"the format {node['format']}"
    if profile.highest_min_items is not None and node.get("minItems", 0) > profile.highest_min_items:
        yield "minItems"
    if "pattern" in node and profile.patterns != "any" and re.search(r"\(\?<?[=!]", node["pattern"]):
        yield "a pattern that looks around"
    if profile.patterns == "simple" and re.search(r"\\[1-9bB]|\{\d{3,}|,\d{3,}", node.get("pattern", "")):
        yield "a pattern that is not simple"
    if profile.enum_types is not None:
        for value in node.get("enum", ()):
            if _word(value) not in profile.enum_types:
                yield f"the value {value!r} in an enum"
    if not profile.allows_empty_texts and "" in node.get("enum", ()):
        yield "the empty text in an enum"
    if "$ref" in node and profile.refs == "resolved":
        yield "a reference"
    if "$ref" in node and profile.accepted is not None and len(node) > 1:
        yield "something beside a reference"


def _object(node: dict[str, Any], profile: Profile) -> Iterator[str]:
    if profile.is_closed and node.get("additionalProperties") is not False:
        yield "an object that is not closed"
    if profile.is_all_required and set(node.get("required", ())) != set(node.get("properties", {})):
        yield "a property that is not required"
    if profile.needs_properties and "properties" not in node:
        yield "an object without properties"
    if not profile.allows_maps and node.get("additionalProperties", False) is not False:
        yield "a map"
    if set(node.get("required", ())) - set(node.get("properties", {})) and profile.accepted is not None:
        yield "a required property that is not there"
    if profile.property_names and not profile.are_only_root_names_ruled:
        for name in node.get("properties", {}):
            if not re.fullmatch(profile.property_names, name):
                yield f"the name {name!r}"


def _totals(nodes: list[Any], schema: dict[str, Any], profile: Profile) -> Iterator[str]:
    objects = [node for node in nodes if isinstance(node, dict)]
    enums = [node["enum"] for node in objects if "enum" in node]
    properties = [(name, node) for node in objects for name in node.get("properties", {})]
    unions = [
        1 for node in objects for one in node.get("properties", {}).values() if isinstance(one, dict) and _is_union(one)
    ]
    optional = [1 for name, node in properties if name not in node.get("required", ())]
    letters = sum(len(name) for name, _ in properties) + sum(
        len(one) for enum in enums for one in enum if isinstance(one, str)
    )
    for most, count, what in (
        (profile.most_enum_values, sum(map(len, enums)), "values"),
        (profile.most_properties, len(properties), "properties"),
        (profile.most_characters, letters + sum(map(len, schema.get("$defs", {}))), "characters"),
        (profile.most_unions, len(unions), "unions"),
        (profile.most_optional, len(optional), "optional properties"),
    ):
        if most is not None and count > most:
            yield f"{count} {what}"


def _is_union(node: dict[str, Any]) -> bool:
    return "anyOf" in node or isinstance(node.get("type"), list)


def _recurs(schema: dict[str, Any]) -> bool:
    refs = {
        name: {
            one["$ref"].rpartition("/")[2]
            for _, one, _ in _walk(member, "", 1)
            if isinstance(one, dict) and "$ref" in one
        }
        for name, member in schema.get("$defs", {}).items()
    }
    for name in refs:
        seen: set[str] = set()
        ahead = set(refs[name])
        while ahead:
            one = ahead.pop()
            if one == name:
                return True
            if one not in seen:
                seen.add(one)
                ahead |= refs.get(one, set())
    return False


def _word(value: Any) -> str:
    match value:
        case None:
            return "null"
        case bool():
            return "boolean"
        case int():
            return "integer"
        case float():
            return "number"
        case str():
            return "string"
        case list():
            return "array"
        case _:
            return "object"
