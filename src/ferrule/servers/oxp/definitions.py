"""Tools as OXP definitions: those written in OXP as they are, all others converted (OXP-1 to OXP-18); and their ids.

An id is `Toolkit.Tool` with a version, a major version, or none (OXP-30). A definition does not depend on the caller;
its id and name do, for they must be distinct on each caller's list (`caller_tools`). `requirements` decides what callers have
to bring.
"""

from __future__ import annotations

import re
from collections.abc import Iterable
from typing import Any, NamedTuple

import msgspec

from ferrule.infra.lockfile.oxp_tools import SERVER_DIALECT, read_imported_oxp
from ferrule.model.credentials import Requirements, read_requirements
from ferrule.model.tool import Tool
from ferrule.model.value import JsonObject, is_blank
from ferrule.schema.inlining import EXCLUDED_FROM_OXP, NotInlinable, inline
from ferrule.schema.internal_fields import internal_fields, model_schema
from ferrule.schema.walk import positions

_ID = re.compile(r"([A-Za-z0-9_]+\.[A-Za-z0-9_]+)(?:@([0-9]+(?:\.[0-9]+\.[0-9]+)?))?", re.ASCII)
_VERSION = re.compile(r"[0-9]{1,18}\.[0-9]{1,18}\.[0-9]{1,18}", re.ASCII)
_INVALID_IN_ID = re.compile(r"[^A-Za-z0-9_]")
LONGEST = 512
"""No id is longer."""


class ToolRef(NamedTuple):
    """The tool and version that a call names."""

    tool: str
    """`Toolkit.Tool`"""
    version: str | None
    """`x.y.z`; None for the latest."""


def read_ref(written: str) -> ToolRef | None:
    """Returns the tool and version of an id; None for an invalid id. `@x` is exactly `x.0.0`, not the latest `x`."""
    found = _ID.fullmatch(written) if len(written) <= LONGEST else None
    if found is None:
        return None
    version = found[2]
    return ToolRef(found[1], f"{version}.0.0" if version is not None and "." not in version else version)


def resolve_version(wanted: str | None, versions: Iterable[str]) -> str | None:
    """Returns the version that is meant among the existing ones; None when it does not exist."""
    if wanted is None:
        return max(versions, key=version_key, default=None)
    there = list(versions)
    if wanted in there:
        return wanted
    # The same numbers written in another way: 1.02.0 is 1.2.0.
    return next((version for version in there if version_key(version) == version_key(wanted)), None)


def version_key(version: str) -> tuple[int, ...]:
    """Returns a key to sort versions by; an invalid version sorts first."""
    return tuple(map(int, version.split("."))) if _VERSION.fullmatch(version) else (-1,)


def is_version(text: str | None) -> bool:
    """Returns True for `x.y.z` of whole numbers (OXP-6)."""
    return text is not None and _VERSION.fullmatch(text) is not None


def make_id_part(text: str) -> str:
    """Returns a name as a valid part of an id."""
    return _INVALID_IN_ID.sub("_", text) or "_"


DIALECT = "oxp"
LONGEST_NAME = 64
_INVALID_IN_NAME = re.compile(r"[^A-Za-z0-9_-]")
_WORD = re.compile(r"(?<=[a-z0-9])(?=[A-Z])|[_\-.\s]+")
_FIRST_VERSION = "1.0.0"


class OxpTool(msgspec.Struct, frozen=True, kw_only=True):
    """A tool as an OXP definition, still without an id."""

    tool_part: str
    """`Toolkit.Tool`, unless another tool has it."""
    is_own: bool
    """True when the definition itself states the id and name."""
    name: str
    version: str
    description: str
    parameters: dict[str, Any]
    output_schema: dict[str, Any] | None
    requirements: dict[str, Any] | None
    """The requirements as they were written."""

    def build_definition(self, tool_part: str, name: str, requirements: JsonObject | None) -> JsonObject:
        """Returns the full definition under this id and name, with the requirements that its callers have to meet."""
        written: JsonObject = {
            "id": f"{tool_part}@{self.version}",
            "name": name,
            "description": self.description,
            "version": self.version,
            "input_schema": {"parameters": self.parameters},
            "output_schema": self.output_schema,
        }
        return written if requirements is None else {**written, "requirements": requirements}


def convert_tool(tool: Tool) -> OxpTool:
    """Converts a tool to OXP. Raises NotInlinable."""
    own = _read_own_definition(tool)
    is_own = tool.dialect == DIALECT
    toolkit, _, short = (
        tool.tool_id.partition(".") if is_own else (make_id_part(tool.namespace), "", make_id_part(tool.name))
    )
    return OxpTool(
        tool_part=f"{toolkit}.{short}",
        is_own=is_own,
        name=_INVALID_IN_NAME.sub("_", tool.name)[:LONGEST_NAME] or "tool",
        version=tool.version if tool.version is not None and is_version(tool.version) else _FIRST_VERSION,
        description=next((text for text in (tool.description, tool.title) if not is_blank(text)), None) or tool.name,
        parameters=_convert_parameters(tool),
        output_schema=_convert_output(tool, own),
        requirements=own.get("requirements") if isinstance(own.get("requirements"), dict) else None,
    )


def read_tool_requirements(tool: Tool) -> Requirements:
    """Returns the requirements of a tool; none for a tool of another dialect."""
    if tool.credentials is None or tool.dialect not in (DIALECT, SERVER_DIALECT):
        return Requirements()
    return read_requirements(msgspec.json.decode(tool.credentials))


def has_no_output(tool: Tool) -> bool:
    """Returns True when the definition says that the tool returns nothing: `output_schema: null` (OXP-13)."""
    own = _read_own_definition(tool)
    return bool(own) and own.get("output_schema", {}) is None


def _read_own_definition(tool: Tool) -> JsonObject:
    """Returns the OXP definition behind a tool; empty for a tool that was never written in OXP."""
    if tool.dialect == SERVER_DIALECT:
        return read_imported_oxp(tool).definition
    if tool.dialect != DIALECT:
        return {}
    written = msgspec.json.decode(tool.payload)
    return written if isinstance(written, dict) else {}


def _convert_parameters(tool: Tool) -> JsonObject:
    schema = _remove_excluded(msgspec.json.decode(model_schema(tool, internal_fields(tool))))
    kind = schema.get("type", "object")
    if kind != "object" and not (isinstance(kind, list) and "object" in kind):
        raise NotInlinable(f"it takes no object but {kind!r}")
    members = schema.get("properties")
    if isinstance(members, dict):
        schema = {**schema, "properties": {name: _add_description(name, member) for name, member in members.items()}}
    return schema if kind == "object" else {**schema, "type": "object"}


def _convert_output(tool: Tool, own: JsonObject) -> JsonObject | None:
    """Returns the output schema. One that needs references becomes a schema for any value, which is also true."""
    if own and own.get("output_schema", {}) is None:
        return None
    if tool.output_schema is None:
        return {}
    try:
        return _remove_excluded(msgspec.json.decode(tool.output_schema))
    except NotInlinable:
        return {}


def _remove_excluded(schema: object) -> JsonObject:
    """Returns the schema itself where it holds nothing excluded; otherwise a copy without references."""
    if isinstance(schema, dict) and all(EXCLUDED_FROM_OXP.isdisjoint(place.schema) for place in positions(schema)):
        return schema
    return inline(schema)


def _add_description(name: str, member: object) -> JsonObject:
    """Returns a parameter with a description: its own, its title, or its name in words (OXP-10)."""
    schema = member if isinstance(member, dict) else inline(member)
    if isinstance(schema.get("description"), str) and not is_blank(schema["description"]):
        return schema
    title = schema.get("title")
    words = title if isinstance(title, str) and not is_blank(title) else " ".join(_WORD.sub(" ", name).split())
    return {**schema, "description": words or name or "A value."}
