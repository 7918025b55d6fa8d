"""How a provider is told that a value may be null."""

from __future__ import annotations

from typing import Any

from ferrule.schema.fitting.profile import Profile

NULL = {"type": "null"}


def nullable(profile: Profile, schema: dict[str, Any]) -> dict[str, Any]:
    """The schema, taking null as well; itself where it does already."""
    word = schema.get("type")
    if profile.nullable == "type-list" and word.__class__ is str and word != "null" and "enum" not in schema:
        return {**schema, "type": [word, "null"]}
    if takes_null(schema):
        return schema
    if profile.nullable == "nullable":
        return {**schema, "nullable": True}
    if profile.nullable == "type-list" and word is not None and "enum" not in schema:
        return {**schema, "type": [word, "null"] if isinstance(word, str) else [*word, "null"]}
    description = {"description": schema["description"]} if "description" in schema else {}
    if "anyOf" in schema and schema.keys() <= {"anyOf", "description", "title"}:
        return {**schema, "anyOf": [*schema["anyOf"], NULL]}
    bare = {keyword: said for keyword, said in schema.items() if keyword != "description"}
    return {"anyOf": [bare, NULL], **description}


def takes_null(schema: dict[str, Any]) -> bool:
    """Whether it says already that null is taken."""
    word = schema.get("type")
    if schema.get("nullable") is True or word == "null" or (not schema.keys() - {"description", "title"}):
        return True
    if isinstance(word, list):
        return "null" in word and ("enum" not in schema or None in schema["enum"])
    if word is None and "enum" in schema:
        return None in schema["enum"]
    return any(takes_null(branch) for branch in schema.get("anyOf", ()))
