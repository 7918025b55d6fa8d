"""Writes tools as an ADL manifest: an agent that has them and says of itself only what a manifest must say (ADL-54).

What ADL cannot say of a tool stands under our key at the root of the manifest, which is open; a tool's item is closed, and
its schema is shown to models.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from typing import Any

from ferrule.definitions.content.extension import decoded, differences
from ferrule.definitions.dialects.adl import IDENTIFIER, compiled_item
from ferrule.definitions.dialects.writing import Draft, Told, Words, Written, base_of, written
from ferrule.model.builtin_tools import BUILTIN_TOOLS
from ferrule.model.diagnostic import Finding, Severity
from ferrule.model.loss import EXTENSION
from ferrule.model.tool import Tool
from ferrule.model.value import is_blank

API_VERSION = "adl.inference-gateway.com/v1"
_OUTSIDE = re.compile("[^a-zA-Z0-9_]")
_AGENT = re.compile("[a-z0-9-]+")
_UNFIT = re.compile("[^a-z0-9]+")
_VERSION = re.compile(r"[0-9]+\.[0-9]+\.[0-9]+")


def agent_of(tools: Sequence[Tool], title: str = "") -> tuple[str, str]:
    """Name and version of the agent that has these tools: theirs, where they have them in common."""
    namespaces = {tool.namespace for tool in tools}
    wanted = title or (namespaces.pop() if len(namespaces) == 1 else "")
    versions = {tool.version for tool in tools}
    version = versions.pop() if len(versions) == 1 else None
    name = wanted if _AGENT.fullmatch(wanted) else _UNFIT.sub("-", wanted.lower()).strip("-")
    return name or "tools", version if version is not None and _VERSION.fullmatch(version) else "0.1.0"


def written_tool(
    tool: Tool,
    agent: str,
    version: str,
    item_id: str | None = None,
    beyond: tuple[str, ...] = (),
    is_plain: bool = False,
    is_fresh: bool = False,
) -> Written:
    """A manifest's parts for one tool. `item_id`: the id it gets, where its own is not free. `is_fresh`: in the words of ADL
    alone, because what its own manifest says would contradict another's."""

    def draft(tool: Tool) -> Draft:
        return _draft(tool, agent, version, item_id, is_fresh)

    def read(value: dict[str, Any]) -> Tool:
        return compiled_item(value, value["spec"]["tools"][0], agent, version)

    return written(tool, Words("adl", "ADL", "ADL-54", draft, read, _extended), beyond, is_plain=is_plain)


def fitting_id(tool: Tool) -> str:
    """The tool's name as an identifier that no built-in tool has, unless it is that tool."""
    base = base_of(tool, "adl")
    item = base.get("tool") if base is not None else None
    if isinstance(item, dict) and isinstance(item.get("id"), str) and IDENTIFIER.fullmatch(item["id"]):
        return str(item["id"])
    identifier = _OUTSIDE.sub("_", tool.name)[:128] or "_"
    if identifier[0].isdigit():
        identifier = f"_{identifier}"
    return f"{identifier}_" if identifier in BUILTIN_TOOLS else identifier


def manifest_of(
    parts: Sequence[dict[str, Any]], agent: str, version: str
) -> tuple[dict[str, Any], tuple[Finding, ...]]:
    """The parts as one manifest, and what had to be made up for it."""
    spec: dict[str, Any] = {
        "capabilities": {"streaming": False, "pushNotifications": False, "stateTransitionHistory": False}
    }
    for block in ("config", "services"):
        members: dict[str, Any] = {}
        for part in parts:
            for name, member in part["spec"].get(block, {}).items():
                members[name] = {**members[name], **member} if name == "tools" and name in members else member
        if members:
            spec[block] = members
    spec["tools"] = [item for part in parts for item in part["spec"]["tools"]]
    spec["server"] = {"port": 8080}
    spec["language"] = {"go": {"module": f"example.com/{agent}", "version": "1.26"}}
    count = len(spec["tools"])
    metadata = {"name": agent, "description": f"{count} converted tool{'' if count == 1 else 's'}", "version": version}
    value: dict[str, Any] = {"apiVersion": API_VERSION, "kind": "Agent", "metadata": metadata, "spec": spec}
    carried = {name: one for part in parts for name, one in part.get(EXTENSION, {}).get("tools", {}).items()}
    if carried:
        value[EXTENSION] = {"tools": carried}
    message = "a manifest describes an agent; its `capabilities`, `server` and `language` were made up"
    return value, (Finding("ADL-3", ("spec",), message, Severity.INFO, "say what your agent is"),)


def _extended(value: dict[str, Any], extension: dict[str, Any]) -> dict[str, Any]:
    return {**value, EXTENSION: {"tools": {value["spec"]["tools"][0]["id"]: extension}}}


def _draft(tool: Tool, agent: str, version: str, item_id: str | None, is_fresh: bool) -> Draft:
    told: dict[str, Told] = {
        "name": Told("an id is made of letters, digits and _", "ADL-8", item_id or fitting_id(tool)),
        "title": Told("the name of a tool is its id", "ADL-16"),
        "namespace": Told("a tool belongs to the agent of its manifest", "ADL-2", agent),
        "tool_id": Told("a tool is known by its agent and its id", "ADL-8"),
        "version": Told("a version is the agent's", "ADL-54", version),
    }
    base = None if is_fresh else _usable(base_of(tool, "adl"), agent, version)
    if base is None:
        identifier = item_id or fitting_id(tool)
        if identifier in BUILTIN_TOOLS:
            identifier = f"{identifier}_"
        value: dict[str, Any] = {"spec": {"tools": [{"id": identifier, "name": identifier}]}}
        unsaid = frozenset({"description", "tags", "input_schema"})
    else:
        value, back = base
        unsaid = frozenset(place.partition("/")[0] for place in differences(tool, back))
        if item_id is not None:
            value["spec"]["tools"][0]["id"] = item_id
    item = value["spec"]["tools"][0]
    if item["id"] not in BUILTIN_TOOLS:
        _say(item, tool, unsaid, told, is_own=base is not None)
    return Draft(value, told, is_fresh=base is None)


def _usable(base: dict[str, Any] | None, agent: str, version: str) -> tuple[dict[str, Any], Tool] | None:
    """The parts of a manifest to begin with, and what they say; None for what cannot be read."""
    item = base.get("tool") if base is not None else None
    if base is None or not isinstance(item, dict):
        return None
    try:
        spec: dict[str, Any] = {"tools": [dict(item)]}
        config = dict(base.get("injected_config", {}))
        if isinstance(base.get("config"), dict):
            config["tools"] = {item["id"]: base["config"]}
        spec |= {"config": config} if config else {}
        spec |= {"services": dict(base["injected_services"])} if "injected_services" in base else {}
        back = compiled_item({"spec": spec}, spec["tools"][0], agent, version)
    except Exception:  # a payload that somebody else wrote down: dialects promise nothing about definitions with errors
        return None
    return ({"spec": spec}, back) if IDENTIFIER.fullmatch(back.name) else None


def _say(item: dict[str, Any], tool: Tool, unsaid: frozenset[str], told: dict[str, Told], *, is_own: bool) -> None:
    """Writes the fields that the item does not say yet."""
    if "description" in unsaid:
        item["description"] = tool.description if not is_blank(tool.description) else (tool.title or item["id"])
        told["description"] = Told("a tool has a description", "ADL-11", item["description"], is_default=True)
    if "tags" in unsaid:
        item["tags"] = list(tool.tags) or [tool.tool_kind]
        told["tags"] = Told("a tool has tags", "ADL-11", tool.tool_kind, is_default=True)
    if "input_schema" in unsaid:
        item["schema"] = _schema(tool, told)
    if "title" in unsaid and is_own and not is_blank(tool.title):
        item["name"] = tool.title


def _schema(tool: Tool, told: dict[str, Told]) -> dict[str, Any]:
    schema = decoded(tool.input_schema)
    if isinstance(schema, dict) and schema:
        return schema
    told["input_schema"] = Told("a tool has an input schema", "ADL-11", "type: object", is_default=True)
    told["input_schema/type"] = told["input_schema"]
    return {"type": "object"} if schema is not False else {"not": {}}
