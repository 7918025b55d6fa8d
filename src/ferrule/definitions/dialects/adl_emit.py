"""Writes tools as an ADL manifest: an agent with these tools and the least that a manifest must state (ADL-54).

Fields that ADL does not have stand under our key at the root of the manifest, which is open; a tool's item is closed, and
models see its schema.
"""

from __future__ import annotations

import re
from collections.abc import Sequence

from ferrule.definitions.content.extension import decode_raw, find_differences
from ferrule.definitions.dialects.adl import IDENTIFIER, compile_item
from ferrule.definitions.dialects.writing import (
    DialectDraft,
    DialectWriter,
    Shortfall,
    WrittenTool,
    find_base,
    write_tool,
)
from ferrule.model.builtin_tools import BUILTIN_TOOLS
from ferrule.model.diagnostic import Finding, Severity
from ferrule.model.loss import EXTENSION
from ferrule.model.tool import Tool
from ferrule.model.value import JsonObject, is_blank

API_VERSION = "adl.inference-gateway.com/v1"
_OUTSIDE = re.compile("[^a-zA-Z0-9_]")
_AGENT = re.compile("[a-z0-9-]+")
_UNFIT = re.compile("[^a-z0-9]+")
_VERSION = re.compile(r"[0-9]+\.[0-9]+\.[0-9]+")


def choose_agent(tools: Sequence[Tool], title: str = "") -> tuple[str, str]:
    """Chooses name and version of the agent that has these tools: theirs, where they have them in common."""
    namespaces = {tool.namespace for tool in tools}
    wanted = title or (namespaces.pop() if len(namespaces) == 1 else "")
    versions = {tool.version for tool in tools}
    version = versions.pop() if len(versions) == 1 else None
    name = wanted if _AGENT.fullmatch(wanted) else _UNFIT.sub("-", wanted.lower()).strip("-")
    return name or "tools", version if version is not None and _VERSION.fullmatch(version) else "0.1.0"


def emit_tool(
    tool: Tool,
    agent: str,
    version: str,
    item_id: str | None = None,
    native_fields: tuple[str, ...] = (),
    is_plain: bool = False,
    is_fresh: bool = False,
) -> WrittenTool:
    """Writes a manifest's parts for one tool. `item_id`: the id it gets, when another tool has its own. `is_fresh`: reuse
    nothing of its own manifest, because that would contradict another's."""

    def draft(tool: Tool) -> DialectDraft:
        return _write_draft(tool, agent, version, item_id, is_fresh)

    def read(value: JsonObject) -> Tool:
        return compile_item(value, value["spec"]["tools"][0], agent, version)

    return write_tool(
        tool, DialectWriter("adl", "ADL", "ADL-54", draft, read, _add_extension), native_fields, is_plain=is_plain
    )


def choose_id(tool: Tool) -> str:
    """Returns the tool's name as an identifier that no built-in tool has, unless it is that tool."""
    base = find_base(tool, "adl")
    item = base.get("tool") if base is not None else None
    if isinstance(item, dict) and isinstance(item.get("id"), str) and IDENTIFIER.fullmatch(item["id"]):
        return str(item["id"])
    identifier = _OUTSIDE.sub("_", tool.name)[:128] or "_"
    if identifier[0].isdigit():
        identifier = f"_{identifier}"
    return f"{identifier}_" if identifier in BUILTIN_TOOLS else identifier


def join_manifest(parts: Sequence[JsonObject], agent: str, version: str) -> tuple[JsonObject, tuple[Finding, ...]]:
    """Joins the parts to one manifest, and reports the blocks that were made up for it."""
    spec: JsonObject = {
        "capabilities": {"streaming": False, "pushNotifications": False, "stateTransitionHistory": False}
    }
    for block in ("config", "services"):
        members: JsonObject = {}
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
    value: JsonObject = {"apiVersion": API_VERSION, "kind": "Agent", "metadata": metadata, "spec": spec}
    carried = {name: one for part in parts for name, one in part.get(EXTENSION, {}).get("tools", {}).items()}
    if carried:
        value[EXTENSION] = {"tools": carried}
    message = "a manifest describes an agent; its `capabilities`, `server` and `language` were made up"
    return value, (Finding("ADL-3", ("spec",), message, Severity.INFO, "say what your agent is"),)


def _add_extension(value: JsonObject, extension: JsonObject) -> JsonObject:
    return {**value, EXTENSION: {"tools": {value["spec"]["tools"][0]["id"]: extension}}}


def _write_draft(tool: Tool, agent: str, version: str, item_id: str | None, is_fresh: bool) -> DialectDraft:
    shortfalls: dict[str, Shortfall] = {
        "name": Shortfall("an id is made of letters, digits and _", "ADL-8", item_id or choose_id(tool)),
        "title": Shortfall("the name of a tool is its id", "ADL-16"),
        "namespace": Shortfall("a tool belongs to the agent of its manifest", "ADL-2", agent),
        "tool_id": Shortfall("a tool is known by its agent and its id", "ADL-8"),
        "version": Shortfall("a version is the agent's", "ADL-54", version),
    }
    base = None if is_fresh else _read_base(find_base(tool, "adl"), agent, version)
    if base is None:
        identifier = item_id or choose_id(tool)
        # A tool that is written anew is not the built-in one of that name.
        if identifier in BUILTIN_TOOLS:
            identifier = f"{identifier}_"
        value: JsonObject = {"spec": {"tools": [{"id": identifier, "name": identifier}]}}
        missing = frozenset({"description", "tags", "input_schema"})
    else:
        value, back = base
        missing = frozenset(place.partition("/")[0] for place in find_differences(tool, back))
        if item_id is not None:
            value["spec"]["tools"][0]["id"] = item_id
    item = value["spec"]["tools"][0]
    if item["id"] not in BUILTIN_TOOLS:
        _write_fields(item, tool, missing, shortfalls, is_own=base is not None)
    return DialectDraft(value, shortfalls, is_fresh=base is None)


def _read_base(base: JsonObject | None, agent: str, version: str) -> tuple[JsonObject, Tool] | None:
    """Returns the parts of a manifest to start from and the tool they describe; None when they cannot be read."""
    item = base.get("tool") if base is not None else None
    if base is None or not isinstance(item, dict):
        return None
    try:
        spec: JsonObject = {"tools": [dict(item)]}
        config = dict(base.get("injected_config", {}))
        if isinstance(base.get("config"), dict):
            config["tools"] = {item["id"]: base["config"]}
        spec |= {"config": config} if config else {}
        spec |= {"services": dict(base["injected_services"])} if "injected_services" in base else {}
        back = compile_item({"spec": spec}, spec["tools"][0], agent, version)
    except Exception:  # the payload is a stranger's: dialects promise nothing about definitions with errors
        return None
    return ({"spec": spec}, back) if IDENTIFIER.fullmatch(back.name) else None


def _write_fields(
    item: JsonObject, tool: Tool, missing: frozenset[str], shortfalls: dict[str, Shortfall], *, is_own: bool
) -> None:
    """Writes the fields that the item does not state yet."""
    if "description" in missing:
        item["description"] = tool.description if not is_blank(tool.description) else (tool.title or item["id"])
        shortfalls["description"] = Shortfall(
            "a tool has a description", "ADL-11", item["description"], is_default=True
        )
    if "tags" in missing:
        item["tags"] = list(tool.tags) or [tool.tool_kind]
        shortfalls["tags"] = Shortfall("a tool has tags", "ADL-11", tool.tool_kind, is_default=True)
    if "input_schema" in missing:
        item["schema"] = _fit_schema(tool, shortfalls)
    if "title" in missing and is_own and not is_blank(tool.title):
        item["name"] = tool.title


def _fit_schema(tool: Tool, shortfalls: dict[str, Shortfall]) -> JsonObject:
    schema = decode_raw(tool.input_schema)
    if isinstance(schema, dict) and schema:
        return schema
    shortfalls["input_schema"] = Shortfall("a tool has an input schema", "ADL-11", "type: object", is_default=True)
    shortfalls["input_schema/type"] = shortfalls["input_schema"]
    return {"type": "object"} if schema is not False else {"not": {}}
