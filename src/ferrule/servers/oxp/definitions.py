"""Tools as OXP definitions: those written in OXP as they are, all others in its words (OXP-1 to OXP-18); and their ids.

An id is `Toolkit.Tool` with a version, a major version, or none (OXP-30). A definition does not depend on who asks; its
id and name do, for they must be distinct for each caller (`shelf`). It lists the requirements that callers have to
bring (`requirements`).
"""

from __future__ import annotations

import re
from collections.abc import Iterable
from typing import Any, NamedTuple

import msgspec

from ferrule.infra.lockfile.oxp_tools import SERVER_DIALECT, imported_oxp
from ferrule.model.credentials import Requirements, read_requirements
from ferrule.model.tool import Tool
from ferrule.model.value import is_blank
from ferrule.schema.inlining import EXCLUDED_FROM_OXP, NotInlinable, inline
from ferrule.schema.internal_fields import internal_fields, model_schema
from ferrule.schema.walk import positions

_ID = re.compile(r"([A-Za-z0-9_]+\.[A-Za-z0-9_]+)(?:@([0-9]+(?:\.[0-9]+\.[0-9]+)?))?", re.ASCII)
_VERSION = re.compile(r"[0-9]{1,18}\.[0-9]{1,18}\.[0-9]{1,18}", re.ASCII)
_UNFIT = re.compile(r"[^A-Za-z0-9_]")
LONGEST = 512
"""More characters than any id has."""


class ToolRef(NamedTuple):
    """What a call names."""

    tool: str
    """`Toolkit.Tool`"""
    version: str | None
    """`x.y.z`; None for the latest."""


def read_ref(written: str) -> ToolRef | None:
    """The tool and version an id means; None for what is no id. `@x` is exactly `x.0.0`, not the latest of them."""
    found = _ID.fullmatch(written) if len(written) <= LONGEST else None
    if found is None:
        return None
    version = found[2]
    return ToolRef(found[1], f"{version}.0.0" if version is not None and "." not in version else version)


def resolved(wanted: str | None, versions: Iterable[str]) -> str | None:
    """The version that is meant among those there are; None when it is not there."""
    if wanted is None:
        return max(versions, key=number, default=None)
    there = list(versions)
    if wanted in there:
        return wanted
    return next((version for version in there if number(version) == number(wanted)), None)


def number(version: str) -> tuple[int, ...]:
    """Something to compare versions by; what is no version is before all."""
    return tuple(map(int, version.split("."))) if _VERSION.fullmatch(version) else (-1,)


def is_version(text: str | None) -> bool:
    """True for `x.y.z` of whole numbers (OXP-6)."""
    return text is not None and _VERSION.fullmatch(text) is not None


def part(text: str) -> str:
    """A part of an id, of whatever name."""
    return _UNFIT.sub("_", text) or "_"


DIALECT = "oxp"
LONGEST_NAME = 64
_NAME_UNFIT = re.compile(r"[^A-Za-z0-9_-]")
_WORD = re.compile(r"(?<=[a-z0-9])(?=[A-Z])|[_\-.\s]+")
_FIRST_VERSION = "1.0.0"


class Projected(msgspec.Struct, frozen=True, kw_only=True):
    """A tool in OXP's words, without an id."""

    tool_part: str
    """`Toolkit.Tool`, as far as it may be had."""
    is_own: bool
    """True for an id and name that the definition itself says."""
    name: str
    version: str
    description: str
    parameters: dict[str, Any]
    output_schema: dict[str, Any] | None
    requirements: dict[str, Any] | None
    """As they were written."""

    def definition(self, tool_part: str, name: str, requirements: dict[str, Any] | None) -> dict[str, Any]:
        """The whole definition, under this id and name, with what is left to its callers of its requirements."""
        written: dict[str, Any] = {
            "id": f"{tool_part}@{self.version}",
            "name": name,
            "description": self.description,
            "version": self.version,
            "input_schema": {"parameters": self.parameters},
            "output_schema": self.output_schema,
        }
        return written if requirements is None else {**written, "requirements": requirements}


def projected(tool: Tool) -> Projected:
    """The tool in OXP's words. Raises NotInlinable."""
    own = _own_definition(tool)
    is_own = tool.dialect == DIALECT
    toolkit, _, short = tool.tool_id.partition(".") if is_own else (part(tool.namespace), "", part(tool.name))
    return Projected(
        tool_part=f"{toolkit}.{short}",
        is_own=is_own,
        name=_NAME_UNFIT.sub("_", tool.name)[:LONGEST_NAME] or "tool",
        version=tool.version if tool.version is not None and is_version(tool.version) else _FIRST_VERSION,
        description=next((text for text in (tool.description, tool.title) if not is_blank(text)), None) or tool.name,
        parameters=_parameters(tool),
        output_schema=_output(tool, own),
        requirements=own.get("requirements") if isinstance(own.get("requirements"), dict) else None,
    )


def requirements_of(tool: Tool) -> Requirements:
    """What a tool requires of whoever calls it; nothing, for a tool of another dialect."""
    if tool.credentials is None or tool.dialect not in (DIALECT, SERVER_DIALECT):
        return Requirements()
    return read_requirements(msgspec.json.decode(tool.credentials))


def has_no_output(tool: Tool) -> bool:
    """True when its definition says that it returns nothing: `output_schema: null` (OXP-13)."""
    own = _own_definition(tool)
    return bool(own) and own.get("output_schema", {}) is None


def _own_definition(tool: Tool) -> dict[str, Any]:
    """The OXP definition behind a tool; empty for one that was never written in OXP."""
    if tool.dialect == SERVER_DIALECT:
        return imported_oxp(tool).definition
    if tool.dialect != DIALECT:
        return {}
    written = msgspec.json.decode(tool.payload)
    return written if isinstance(written, dict) else {}


def _parameters(tool: Tool) -> dict[str, Any]:
    schema = _plain(msgspec.json.decode(model_schema(tool, internal_fields(tool))))
    kind = schema.get("type", "object")
    if kind != "object" and not (isinstance(kind, list) and "object" in kind):
        raise NotInlinable(f"it takes no object but {kind!r}")
    members = schema.get("properties")
    if isinstance(members, dict):
        schema = {**schema, "properties": {name: _described(name, member) for name, member in members.items()}}
    return schema if kind == "object" else {**schema, "type": "object"}


def _output(tool: Tool, own: dict[str, Any]) -> dict[str, Any] | None:
    """What it returns. A schema that cannot be said without references promises any value, which is true as well."""
    if own and own.get("output_schema", {}) is None:
        return None
    if tool.output_schema is None:
        return {}
    try:
        return _plain(msgspec.json.decode(tool.output_schema))
    except NotInlinable:
        return {}


def _plain(schema: Any) -> dict[str, Any]:
    """The very schema where nothing in it is excluded; else without references."""
    if isinstance(schema, dict) and all(EXCLUDED_FROM_OXP.isdisjoint(place.schema) for place in positions(schema)):
        return schema
    return inline(schema)


def _described(name: str, member: Any) -> dict[str, Any]:
    """A parameter with a description: its own, its title, or its name in words (OXP-10)."""
    schema = member if isinstance(member, dict) else inline(member)
    if isinstance(schema.get("description"), str) and not is_blank(schema["description"]):
        return schema
    title = schema.get("title")
    words = title if isinstance(title, str) and not is_blank(title) else " ".join(_WORD.sub(" ", name).split())
    return {**schema, "description": words or name or "A value."}
