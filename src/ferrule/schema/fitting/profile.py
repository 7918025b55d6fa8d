"""Describes what one provider takes as the schema of a tool's arguments: plain facts, each with its source and date.

`profiles.py` holds the facts, the other modules of this package act on them. `nullable` expresses in a provider's own
way that a value may be null.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Literal

import msgspec

from ferrule.model.value import JsonObject

Refs = Literal["kept", "resolved"]
"""How `$ref` is sent: as it is, or replaced by its target."""
Nullable = Literal["type-list", "any-of", "nullable"]
"""How a nullable value is written: a list of types, a union with null, or the keyword of OpenAPI 3.0."""
Patterns = Literal["any", "no-lookaround", "simple"]
"""Which regular expressions `pattern` may hold."""

Others = Literal["ignored", "refused"]
"""The effect of a keyword that is not accepted: none, or the whole request fails."""


class ProfileSource(msgspec.Struct, frozen=True):
    """The source of a fact."""

    text: str
    """The document, the SDK with its version, or the report of an observation."""
    seen: str
    """The day it was read, or seen to happen, as `2026-11-16`."""
    is_certain: bool = True
    """False where no source states it and the careful reading was taken."""


class Profile(msgspec.Struct, frozen=True, kw_only=True):
    """The schemas a provider takes. A field at its default means: no such rule is known."""

    name: str
    """The key in `PROFILES`."""
    title: str
    """The display name."""
    accepted: frozenset[str] | None = None
    """Keywords that may be sent and say something; None: any."""
    others: Others = "ignored"
    """The treatment of the other keywords; either way they are left out and added to the description in words."""
    root_refused: frozenset[str] = frozenset()
    """Keywords that are refused at the root, which is always `type: object`."""
    refs: Refs = "kept"
    """True where references may be sent."""
    is_recursion_allowed: bool = True
    """True where a schema may refer to itself."""
    allows_anything: bool = True
    """True where a schema may leave open what a value is (`{}`)."""
    is_all_required: bool = False
    """True where every property must be listed as required."""
    is_closed: bool = False
    """True where every object must say `additionalProperties: false`."""
    allows_maps: bool = True
    """True where objects may have undeclared members."""
    allows_tuples: bool = True
    """True where the items of a list may differ by position."""
    allows_type_lists: bool = True
    """True where `type` may be a list of several types."""
    nullable: Nullable = "type-list"
    """How null is said."""
    formats: frozenset[str] | None = None
    """The `format`s that may be sent; None: any."""
    patterns: Patterns = "any"
    """Which `pattern`s may be sent."""
    highest_min_items: int | None = None
    """The highest `minItems` that may be sent."""
    enum_types: frozenset[str] | None = None
    """The types of values that an `enum` may have; None: any."""
    allows_empty_texts: bool = True
    """True where an `enum` may have the empty text."""
    most_enum_values: int | None = None
    """The maximum number of values of all enums together."""
    long_enum: tuple[int, int] | None = None
    """An enum of texts with more values than the first may have so many characters altogether."""
    property_names: str = ""
    """The pattern for names of properties."""
    are_only_root_names_ruled: bool = False
    """True where `property_names` applies to the arguments alone, not of what is inside them."""
    needs_items: bool = False
    """True where every array must say `items`."""
    needs_properties: bool = False
    """True where every object must say `properties`."""
    deepest: int | None = None
    """The maximum nesting of objects and lists, the root included."""
    most_properties: int | None = None
    """The maximum number of properties of a schema."""
    most_characters: int | None = None
    """The most characters of all names of properties and definitions and values of enums together."""
    most_optional: int | None = None
    """The most optional properties in all schemas of a request together."""
    most_unions: int | None = None
    """The most properties with a union in all schemas of a request together."""
    draft: int = 2020
    """The draft of JSON Schema that a schema is read by: 7 or 2020."""
    tool_names: str = ""
    """The pattern for names of tools."""
    longest_tool_name: int | None = None
    """The most characters of a tool's name."""
    longest_description: int | None = None
    """The most characters of a tool's description."""
    is_description_advice: bool = True
    """True where `longest_description` is advice, because only some hosts of the provider's format refuse a longer one."""
    most_tools: int | None = None
    """The most tools in a request."""
    sources: Mapping[str, ProfileSource] = {}
    """Where each field that is set comes from, by its name."""


NULL = {"type": "null"}


def nullable(profile: Profile, schema: JsonObject) -> JsonObject:
    """Returns the schema, accepting null as well; itself where it does already."""
    word = schema.get("type")
    if profile.nullable == "type-list" and word.__class__ is str and word != "null" and "enum" not in schema:
        return {**schema, "type": [word, "null"]}
    if takes_null(schema):
        return schema
    if profile.nullable == "nullable":
        return {**schema, "nullable": True}
    # Beside an `enum` a type with null lets no null in.
    if profile.nullable == "type-list" and word is not None and "enum" not in schema:
        return {**schema, "type": [word, "null"] if isinstance(word, str) else [*word, "null"]}
    description = {"description": schema["description"]} if "description" in schema else {}
    if "anyOf" in schema and schema.keys() <= {"anyOf", "description", "title"}:
        return {**schema, "anyOf": [*schema["anyOf"], NULL]}
    bare = {keyword: said for keyword, said in schema.items() if keyword != "description"}
    return {"anyOf": [bare, NULL], **description}


def takes_null(schema: JsonObject) -> bool:
    """Returns True when the schema already accepts null."""
    word = schema.get("type")
    if schema.get("nullable") is True or word == "null" or (not schema.keys() - {"description", "title"}):
        return True
    if isinstance(word, list):
        return "null" in word and ("enum" not in schema or None in schema["enum"])
    if word is None and "enum" in schema:
        return None in schema["enum"]
    return any(takes_null(branch) for branch in schema.get("anyOf", ()))
