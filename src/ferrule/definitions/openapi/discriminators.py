"""Converts the values of a discriminator to a `const` in each alternative."""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING

from ferrule.definitions.openapi.references import Broken, References, ResolvedReference
from ferrule.definitions.openapi.shape import read_object, read_text
from ferrule.model.value import JsonObject
from ferrule.schema.pointers import escape_step

if TYPE_CHECKING:
    from ferrule.definitions.openapi.read import OpenApi

_MOST_CHILDREN = 200


def read_property(discriminator: object) -> str:
    """Returns the name of the discriminating member; in 2.0 it is plain text."""
    if isinstance(discriminator, str):
        return discriminator
    return read_text(discriminator, "propertyName") if isinstance(discriminator, dict) else ""


def list_branch_values(references: References, discriminator: object, branch: object) -> list[str]:
    """Returns the member's values for this branch; none when the branch has no name."""
    if not isinstance(branch, dict) or "$ref" not in branch:
        return []
    try:
        target = references.follow(branch["$ref"], ())
    except Broken:
        return []
    mapped = [word for word, child in _follow_mapping(references, discriminator) if child.key == target.key]
    return mapped or [target.name]


def _follow_mapping(references: References, discriminator: object) -> Iterator[tuple[str, ResolvedReference]]:
    written = read_object(discriminator, "mapping") if isinstance(discriminator, dict) else {}
    for word, ref in written.items():
        if not isinstance(ref, str):
            continue
        try:
            yield str(word), references.follow(ref if "/" in ref or "#" in ref else f"#/components/schemas/{ref}", ())
        except Broken:
            continue


def find_children(
    document: OpenApi, discriminator: object, target: ResolvedReference
) -> list[tuple[list[str], ResolvedReference]]:
    """Returns the subclasses of a base schema: those in its mapping, else those that refer to it in their `allOf`."""
    found: dict[str, tuple[list[str], ResolvedReference]] = {}
    for word, child in _follow_mapping(document.references, discriminator):
        found.setdefault(child.key, ([], child))[0].append(word)
    if not found:
        for name, ref in _find_heirs(document, target.key):
            try:
                child = document.references.follow(ref, ())
            except Broken:
                continue
            found[child.key] = ([name], child)
    # A mapping may name the base schema itself.
    found.pop(target.key, None)
    return list(found.values())[:_MOST_CHILDREN]


def _find_heirs(document: OpenApi, key: str) -> list[tuple[str, str]]:
    is_old = document.version == "2.0"
    owner = document.root if is_old else read_object(document.root, "components")
    prefix = "#/definitions/" if is_old else "#/components/schemas/"
    found = []
    for name, schema in read_object(owner, "definitions" if is_old else "schemas").items():
        parts = schema.get("allOf") if isinstance(schema, dict) else None
        if isinstance(parts, list) and any(isinstance(part, dict) and part.get("$ref") == key for part in parts):
            found.append((name, prefix + escape_step(name)))
    return found


def add_discriminator(schema: JsonObject, discriminator: object, words: list[str]) -> JsonObject:
    """Adds the discriminating member with its values to the schema of a branch."""
    name = read_property(discriminator)
    if not name or not words or schema.get("type", "object") != "object" or "enum" in schema:
        return schema
    properties = schema.get("properties", {})
    known = properties.get(name, {})
    if "const" in known or len(known.get("enum", ())) == 1:
        said = known
    else:
        kept = [word for word in words if word in known["enum"]] if "enum" in known else words
        said = {key: value for key, value in known.items() if key not in ("enum", "default", "pattern")}
        said.setdefault("type", "string")
        said.setdefault("description", f"Always {words[0]!r} here." if len(words) == 1 else "What it is.")
        kept = kept or words
        said |= {"const": kept[0]} if len(kept) == 1 else {"enum": kept}
        if said["type"] != "string":
            said["type"] = "string"
    required = schema.get("required", [])
    return {
        "type": "object",
        **schema,
        "properties": {**properties, name: said},
        "required": required if name in required else [*required, name],
    }
