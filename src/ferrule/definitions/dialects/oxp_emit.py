"""Writes a tool as an OXP definition (OXP-1 to OXP-18). Fields without a member in OXP stand beside the parameters, where
other members are allowed (OXP-9)."""

from __future__ import annotations

import re
from typing import Any

from ferrule.definitions.content.extension import decode_raw, encode_field, find_differences
from ferrule.definitions.dialects.oxp import compile_definition
from ferrule.definitions.dialects.writing import (
    DialectDraft,
    DialectWriter,
    Shortfall,
    WrittenTool,
    build_requirements,
    find_base,
    write_tool,
)
from ferrule.model.loss import EXTENSION
from ferrule.model.tool import Tool
from ferrule.model.value import JsonObject, is_blank
from ferrule.schema.inlining import EXCLUDED_FROM_OXP, plain_schema

_TOOL_PART = re.compile(r"([A-Za-z0-9_]+)\.([A-Za-z0-9_]+)")
_VERSION = re.compile(r"[0-9]+\.[0-9]+\.[0-9]+")
_UNFIT = re.compile(r"[^A-Za-z0-9_]")
_WORD = re.compile(r"(?<=[a-z0-9])(?=[A-Z])|[_\-.\s]+")
_FIRST_VERSION = "1.0.0"
_SAYABLE = frozenset({"description", "version", "input_schema", "output_schema", "credentials"})


def emit_tool(
    tool: Tool,
    tool_part: str | None = None,
    native_fields: tuple[str, ...] = (),
    is_plain: bool = False,
    is_long: bool = False,
) -> WrittenTool:
    """Writes the definition. `tool_part`: the `Toolkit.Tool` it gets, when another tool has its own. `is_long`: the name
    begins with the toolkit, because another tool has the short one."""
    writer = DialectWriter(
        "oxp", "OXP", "OXP-18", lambda tool: _write_draft(tool, tool_part, is_long), compile_definition, _add_extension
    )
    return write_tool(tool, writer, native_fields, is_plain=is_plain)


def choose_tool_part(tool: Tool) -> str:
    """Returns `Toolkit.Tool` of a tool as OXP accepts it."""
    base = find_base(tool, "oxp")
    own = base.get("id") if base is not None else None
    if isinstance(own, str) and _TOOL_PART.fullmatch(own.partition("@")[0]):
        return own.partition("@")[0]
    if _TOOL_PART.fullmatch(tool.tool_id):
        return tool.tool_id
    return f"{_fit_part(tool.namespace)}.{_fit_part(tool.name)}"


def choose_version(tool: Tool) -> str:
    """Returns the version of a tool as OXP accepts it."""
    return tool.version if tool.version is not None and _VERSION.fullmatch(tool.version) else _FIRST_VERSION


def _fit_part(text: str) -> str:
    return _UNFIT.sub("_", text)[:64] or "_"


def _add_extension(value: JsonObject, extension: JsonObject) -> JsonObject:
    return {**value, "input_schema": {**value["input_schema"], EXTENSION: extension}}


def _write_draft(tool: Tool, tool_part: str | None, is_long: bool) -> DialectDraft:
    shortfalls: dict[str, Shortfall] = {}
    base = _read_base(find_base(tool, "oxp"))
    if base is None:
        value: JsonObject = {"output_schema": {}}
        missing, is_named = _SAYABLE, False
    else:
        value, back = base
        missing = frozenset(place.partition("/")[0] for place in find_differences(tool, back))
        own_part = value["id"].partition("@")[0]
        is_named = "name" not in missing and tool_part in (None, own_part)
    if tool_part is None and (base is None or ("tool_id" in missing and tool.dialect == "oxp")):
        tool_part = choose_tool_part(tool) if base is None or not _TOOL_PART.fullmatch(tool.tool_id) else tool.tool_id
    version = choose_version(tool) if "version" in missing else value["version"]
    part = tool_part or value["id"].partition("@")[0]
    name = value["name"] if is_named else _choose_name(tool, part, is_long)
    head: JsonObject = {
        "id": f"{part}@{version}",
        "name": name,
        "description": "",
        "version": version,
        "input_schema": {},
    }
    value = {**head, **value, "id": f"{part}@{version}", "name": name, "version": version}
    _write_fields(value, tool, missing, shortfalls)
    shortfalls["tool_id"] = shortfalls["namespace"] = Shortfall(
        "an id is Toolkit.Tool@x.y.z of letters, digits and _", "OXP-2", part
    )
    shortfalls["name"] = Shortfall("a name has up to 64 letters, digits and _, and follows from the id", "OXP-4", name)
    shortfalls["title"] = Shortfall("a title follows from the id", "OXP-18")
    if tool.version is None or not _VERSION.fullmatch(tool.version):
        shortfalls["version"] = Shortfall("a version is three numbers such as 1.0.0", "OXP-6", version, is_default=True)
    return DialectDraft(value, shortfalls, is_fresh=base is None)


def _read_base(base: JsonObject | None) -> tuple[JsonObject, Tool] | None:
    """Returns a definition to start from, in the shape of 1.0, and the tool it describes; None when it cannot be read."""
    if base is None:
        return None
    try:
        schema = {key: member for key, member in base.get("input_schema", {}).items() if key != EXTENSION}
        wrapper = schema if "parameters" in schema else {"parameters": schema}
        value = {**base, "input_schema": wrapper, "output_schema": base.get("output_schema")}
        back = compile_definition(value)
    except Exception:  # the payload is a stranger's: dialects promise nothing about definitions with errors
        return None
    return (value, back) if back.namespace and isinstance(value.get("version"), str) else None


def _choose_name(tool: Tool, part: str, is_long: bool) -> str:
    """Returns the tool's own name where it follows from the id (OXP-8), else one that does."""
    toolkit, _, short = part.partition(".")
    if is_long:
        return f"{toolkit}_{short}"[-64:]
    if tool.name in (short, f"{toolkit}_{short}") and len(tool.name) <= 64:
        return tool.name
    return short[:64]


def _write_fields(value: JsonObject, tool: Tool, missing: frozenset[str], shortfalls: dict[str, Shortfall]) -> None:
    """Writes the fields that the value does not state yet."""
    if "description" in missing:
        shortfalls["description"] = Shortfall(
            "a tool has a description", "OXP-5", tool.title or tool.name, is_default=True
        )
        stand_in = tool.title if not is_blank(tool.title) else tool.name
        value["description"] = tool.description if not is_blank(tool.description) else stand_in
    if "input_schema" in missing:
        value["input_schema"] = {**value["input_schema"], "parameters": _write_parameters(tool, shortfalls)}
    if "output_schema" in missing:
        value["output_schema"] = _write_output(tool, shortfalls)
    if "credentials" in missing:
        value.pop("requirements", None)
        shortfalls["credentials"] = Shortfall("OXP names secrets, and does not say where they are kept", "OXP-16")
        if (needed := build_requirements(encode_field(tool, "credentials"))) is not None:
            value["requirements"] = needed
            shortfalls["credentials"] = shortfalls["credentials"]._replace(put="requirements")


def _write_output(tool: Tool, shortfalls: dict[str, Shortfall]) -> JsonObject:
    if tool.output_schema is None:
        shortfalls["output_schema"] = Shortfall(
            "a definition says what is returned", "OXP-13", "any value", is_default=True
        )
        return {}
    plain = plain_schema(decode_raw(tool.output_schema), EXCLUDED_FROM_OXP)
    if plain.why:
        shortfalls["output_schema"] = Shortfall(f"OXP's {plain.why}", "OXP-11", plain.put)
    return plain.schema


def _write_parameters(tool: Tool, shortfalls: dict[str, Shortfall]) -> JsonObject:
    plain = plain_schema(decode_raw(tool.input_schema), EXCLUDED_FROM_OXP)
    if plain.why:
        shortfalls["input_schema"] = Shortfall(f"OXP's {plain.why}", "OXP-11", plain.put)
    kind = plain.schema.get("type", "object")
    schema = plain.schema
    if isinstance(kind, list) and "object" in kind:
        shortfalls["input_schema/type"] = Shortfall("parameters are an object", "OXP-12", "type: object")
        schema = {**schema, "type": "object"}
    elif kind != "object":
        shortfalls["input_schema"] = Shortfall(
            "parameters are an object", "OXP-12", "an object with the member `value`"
        )
        schema = {"type": "object", "properties": {"value": schema}, "required": ["value"]}
    members = schema.get("properties")
    if not isinstance(members, dict) or all(map(_is_described, members.values())):
        return schema
    described = {name: _describe_parameter(name, member, shortfalls) for name, member in members.items()}
    return {**schema, "properties": described}


def _is_described(member: object) -> bool:
    text = member.get("description") if isinstance(member, dict) else None
    return isinstance(text, str) and not is_blank(text)


def _describe_parameter(name: str, member: Any, shortfalls: dict[str, Shortfall]) -> JsonObject:
    """Returns a parameter with a description: its own, its title, or its name in words (OXP-10)."""
    if _is_described(member):
        return member  # type: ignore[no-any-return]  # it is a mapping
    schema = member if isinstance(member, dict) else ({"not": {}} if member is False else {})
    title = schema.get("title")
    put = title if isinstance(title, str) and not is_blank(title) else " ".join(_WORD.sub(" ", name).split())
    put = put or name or "A value."
    place = f"input_schema/properties/{name.replace('~', '~0').replace('/', '~1')}"
    why = "every parameter has a description"
    shortfalls[place] = shortfalls[f"{place}/description"] = Shortfall(why, "OXP-10", put, is_default=True)
    return {**schema, "description": put}
