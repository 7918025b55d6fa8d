"""Which of several schemas a value is: the words of a discriminator, made a `const` in each alternative."""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING, Any

from ferrule.definitions.openapi.references import Broken, References, Target
from ferrule.definitions.openapi.shape import mapping, text
from ferrule.schema.pointers import escape_step

if TYPE_CHECKING:
    from ferrule.definitions.openapi.read import OpenApi

_MOST_CHILDREN = 200


def property_of(discriminator: Any) -> str:
    """The name of the member that tells; 2.0 writes it plainly."""
    if isinstance(discriminator, str):
        return discriminator
    return text(discriminator, "propertyName") if isinstance(discriminator, dict) else ""


def branch_words(references: References, discriminator: Any, branch: Any) -> list[str]:
    """What the member says when a value is of this branch; nothing when the branch has no name."""
    if not isinstance(branch, dict) or "$ref" not in branch:
        return []
    try:
        target = references.follow(branch["$ref"], ())
    except Broken:
        return []
    mapped = [word for word, child in _mapped(references, discriminator) if child.key == target.key]
    return mapped or [target.name]


def _mapped(references: References, discriminator: Any) -> Iterator[tuple[str, Target]]:
    written = mapping(discriminator, "mapping") if isinstance(discriminator, dict) else {}
    for word, ref in written.items():
        if not isinstance(ref, str):
            continue
        try:
            yield str(word), references.follow(ref if "/" in ref or "#" in ref else f"#/components/schemas/{ref}", ())
        except Broken:
            continue


def children_of(document: OpenApi, discriminator: Any, target: Target) -> list[tuple[list[str], Target]]:
    """The schemas that a base class stands for: those of its mapping, else those that name it in their `allOf`."""
    found: dict[str, tuple[list[str], Target]] = {}
    for word, child in _mapped(document.references, discriminator):
        found.setdefault(child.key, ([], child))[0].append(word)
    if not found:
        for name, ref in _heirs(document, target.key):
            try:
                child = document.references.follow(ref, ())
            except Broken:
                continue
            found[child.key] = ([name], child)
    found.pop(target.key, None)
    return list(found.values())[:_MOST_CHILDREN]


def _heirs(document: OpenApi, key: str) -> list[tuple[str, str]]:
    is_old = document.version == "2.0"
    owner = document.root if is_old else mapping(document.root, "components")
    prefix = "#/definitions/" if is_old else "#/components/schemas/"
    found = []
    for name, schema in mapping(owner, "definitions" if is_old else "schemas").items():
        parts = schema.get("allOf") if isinstance(schema, dict) else None
        if isinstance(parts, list) and any(isinstance(part, dict) and part.get("$ref") == key for part in parts):
            found.append((name, prefix + escape_step(name)))
    return found


def told_apart(schema: dict[str, Any], discriminator: Any, words: list[str]) -> dict[str, Any]:
    """The schema of a branch with the member that tells, and its word."""
    name = property_of(discriminator)
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
