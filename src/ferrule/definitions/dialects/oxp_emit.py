"""Writes a tool as an OXP definition (OXP-1 to OXP-18). What OXP has no member for stands beside the parameters, where other
members are allowed (OXP-9)."""

from __future__ import annotations

import re
from typing import Any

from ferrule.definitions.content.extension import as_json, decoded, differences
from ferrule.definitions.dialects.oxp import compiled_definition
from ferrule.definitions.dialects.writing import Draft, Told, Words, Written, base_of, requirements_of, written
from ferrule.model.loss import EXTENSION
from ferrule.model.tool import Tool
from ferrule.model.value import is_blank
from ferrule.schema.inlining import EXCLUDED_FROM_OXP, plain_schema

_TOOL_PART = re.compile(r"([A-Za-z0-9_]+)\.([A-Za-z0-9_]+)")
_VERSION = re.compile(r"[0-9]+\.[0-9]+\.[0-9]+")
_UNFIT = re.compile(r"[^A-Za-z0-9_]")
_WORD = re.compile(r"(?<=[a-z0-9])(?=[A-Z])|[_\-.\s]+")
_FIRST_VERSION = "1.0.0"
_SAYABLE = frozenset({"description", "version", "input_schema", "output_schema", "credentials"})


def written_tool(
    tool: Tool,
    tool_part: str | None = None,
    beyond: tuple[str, ...] = (),
    is_plain: bool = False,
    is_long: bool = False,
) -> Written:
    """The definition. `tool_part`: the `Toolkit.Tool` it gets, where its own is not free. `is_long`: the name begins with the
    toolkit, because another tool has the short one."""
    words = Words("oxp", "OXP", "OXP-18", lambda tool: _draft(tool, tool_part, is_long), compiled_definition, _extended)
    return written(tool, words, beyond, is_plain=is_plain)


def fitting_part(tool: Tool) -> str:
    """`Toolkit.Tool` of a tool, as OXP takes it."""
    base = base_of(tool, "oxp")
    own = base.get("id") if base is not None else None
    if isinstance(own, str) and _TOOL_PART.fullmatch(own.partition("@")[0]):
        return own.partition("@")[0]
    if _TOOL_PART.fullmatch(tool.tool_id):
        return tool.tool_id
    return f"{_part(tool.namespace)}.{_part(tool.name)}"


def version_of(tool: Tool) -> str:
    """The version of a tool, as OXP takes it."""
    return tool.version if tool.version is not None and _VERSION.fullmatch(tool.version) else _FIRST_VERSION


def _part(text: str) -> str:
    return _UNFIT.sub("_", text)[:64] or "_"


def _extended(value: dict[str, Any], extension: dict[str, Any]) -> dict[str, Any]:
    return {**value, "input_schema": {**value["input_schema"], EXTENSION: extension}}


def _draft(tool: Tool, tool_part: str | None, is_long: bool) -> Draft:
    told: dict[str, Told] = {}
    base = _usable(base_of(tool, "oxp"))
    if base is None:
        value: dict[str, Any] = {"output_schema": {}}
        unsaid, is_named = _SAYABLE, False
    else:
        value, back = base
        unsaid = frozenset(place.partition("/")[0] for place in differences(tool, back))
        own_part = value["id"].partition("@")[0]
        is_named = "name" not in unsaid and tool_part in (None, own_part)
    if tool_part is None and (base is None or ("tool_id" in unsaid and tool.dialect == "oxp")):
        tool_part = fitting_part(tool) if base is None or not _TOOL_PART.fullmatch(tool.tool_id) else tool.tool_id
    version = version_of(tool) if "version" in unsaid else value["version"]
    part = tool_part or value["id"].partition("@")[0]
    name = value["name"] if is_named else _name(tool, part, is_long)
    head: dict[str, Any] = {
        "id": f"{part}@{version}",
        "name": name,
        "description": "",
        "version": version,
        "input_schema": {},
    }
    value = {**head, **value, "id": f"{part}@{version}", "name": name, "version": version}
    _say(value, tool, unsaid, told)
    told["tool_id"] = told["namespace"] = Told("an id is Toolkit.Tool@x.y.z of letters, digits and _", "OXP-2", part)
    told["name"] = Told("a name has up to 64 letters, digits and _, and follows from the id", "OXP-4", name)
    told["title"] = Told("a title follows from the id", "OXP-18")
    if tool.version is None or not _VERSION.fullmatch(tool.version):
        told["version"] = Told("a version is three numbers such as 1.0.0", "OXP-6", version, is_default=True)
    return Draft(value, told, is_fresh=base is None)


def _usable(base: dict[str, Any] | None) -> tuple[dict[str, Any], Tool] | None:
    """A definition to begin with, in the shape of 1.0, and what it says; None for one that cannot be read."""
    if base is None:
        return None
    try:
        schema = {key: member for key, member in base.get("input_schema", {}).items() if key != EXTENSION}
        wrapper = schema if "parameters" in schema else {"parameters": schema}
        value = {**base, "input_schema": wrapper, "output_schema": base.get("output_schema")}
        back = compiled_definition(value)
    except Exception:  # a payload that somebody else wrote down: dialects promise nothing about definitions with errors
        return None
    return (value, back) if back.namespace and isinstance(value.get("version"), str) else None


def _name(tool: Tool, part: str, is_long: bool) -> str:
    """The tool's own name where it follows from the id (OXP-8), else one that does."""
    toolkit, _, short = part.partition(".")
    if is_long:
        return f"{toolkit}_{short}"[-64:]
    if tool.name in (short, f"{toolkit}_{short}") and len(tool.name) <= 64:
        return tool.name
    return short[:64]


def _say(value: dict[str, Any], tool: Tool, unsaid: frozenset[str], told: dict[str, Told]) -> None:
    """Writes the fields that the value does not say yet."""
    if "description" in unsaid:
        told["description"] = Told("a tool has a description", "OXP-5", tool.title or tool.name, is_default=True)
        stand_in = tool.title if not is_blank(tool.title) else tool.name
        value["description"] = tool.description if not is_blank(tool.description) else stand_in
    if "input_schema" in unsaid:
        value["input_schema"] = {**value["input_schema"], "parameters": _parameters(tool, told)}
    if "output_schema" in unsaid:
        value["output_schema"] = _output(tool, told)
    if "credentials" in unsaid:
        value.pop("requirements", None)
        told["credentials"] = Told("OXP names secrets, and does not say where they are kept", "OXP-16")
        if (needed := requirements_of(as_json(tool, "credentials"))) is not None:
            value["requirements"] = needed
            told["credentials"] = told["credentials"]._replace(put="requirements")


def _output(tool: Tool, told: dict[str, Told]) -> dict[str, Any]:
    if tool.output_schema is None:
        told["output_schema"] = Told("a definition says what is returned", "OXP-13", "any value", is_default=True)
        return {}
    plain = plain_schema(decoded(tool.output_schema), EXCLUDED_FROM_OXP)
    if plain.why:
        told["output_schema"] = Told(f"OXP's {plain.why}", "OXP-11", plain.put)
    return plain.schema


def _parameters(tool: Tool, told: dict[str, Told]) -> dict[str, Any]:
    plain = plain_schema(decoded(tool.input_schema), EXCLUDED_FROM_OXP)
    if plain.why:
        told["input_schema"] = Told(f"OXP's {plain.why}", "OXP-11", plain.put)
    kind = plain.schema.get("type", "object")
    schema = plain.schema
    if isinstance(kind, list) and "object" in kind:
        told["input_schema/type"] = Told("parameters are an object", "OXP-12", "type: object")
        schema = {**schema, "type": "object"}
    elif kind != "object":
        told["input_schema"] = Told("parameters are an object", "OXP-12", "an object with the member `value`")
        schema = {"type": "object", "properties": {"value": schema}, "required": ["value"]}
    members = schema.get("properties")
    if not isinstance(members, dict) or all(map(_is_described, members.values())):
        return schema
    described = {name: _described(name, member, told) for name, member in members.items()}
    return {**schema, "properties": described}


def _is_described(member: Any) -> bool:
    text = member.get("description") if isinstance(member, dict) else None
    return isinstance(text, str) and not is_blank(text)


def _described(name: str, member: Any, told: dict[str, Told]) -> dict[str, Any]:
    """A parameter with a description: its own, its title, or its name in words (OXP-10)."""
    if _is_described(member):
        return member  # type: ignore[no-any-return]  # it is a mapping
    schema = member if isinstance(member, dict) else ({"not": {}} if member is False else {})
    title = schema.get("title")
    put = title if isinstance(title, str) and not is_blank(title) else " ".join(_WORD.sub(" ", name).split())
    put = put or name or "A value."
    place = f"input_schema/properties/{name.replace('~', '~0').replace('/', '~1')}"
    why = "every parameter has a description"
    told[place] = told[f"{place}/description"] = Told(why, "OXP-10", put, is_default=True)
    return {**schema, "description": put}
