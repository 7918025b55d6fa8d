"""Reads and writes the tool list of an MCP server, revisions 2025-11-25 and 2026-07-28: `{"tools": […]}`.

A tool that came from an MCP server is written unchanged. Any other carries in `_meta` the details that MCP cannot express, so
that reading it back loses nothing; a plain list leaves that out.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import msgspec

from ferrule.contracts.format import DocumentTool, Reading, WriteOptions, Writing
from ferrule.definitions.content.extension import build_extension, decode_raw, find_differences, restore_tool
from ferrule.definitions.content.guidance import describe_tool, format_guidance
from ferrule.definitions.formats.entries import UNREAD, DocumentEntry, UnreadableTool, find_entries
from ferrule.definitions.formats.legal_names import NameRule
from ferrule.definitions.formats.mcp_words import build_annotations, build_input_schema, list_icons
from ferrule.definitions.formats.offer import assign_names
from ferrule.definitions.formats.origins import OriginalTool, find_doubtful_claims, find_original, list_own_keys
from ferrule.infra.lockfile.tools import DIALECT, make_imported_tool, why_unusable
from ferrule.model.diagnostic import Finding
from ferrule.model.loss import META_EXTENSION, Loss
from ferrule.model.tool import Tool, raw
from ferrule.model.upstreams import McpServerSettings
from ferrule.model.value import JsonObject, JsonValue
from ferrule.schema.internal_fields import internal_fields
from ferrule.schema.validation.latest_draft import latest_draft

_NAMES = NameRule("A-Za-z0-9_.-", 128, "A-Za-z0-9_")
_SERVER = McpServerSettings()
_META = "_meta"
_WHY = {
    "tool_id": "a server's tool is known by its name",
    "namespace": "a server's list has no namespaces",
    "tool_kind": "everything in the list is a tool of that server",
    "inferred_facts": "what a stranger says of a tool's safety is a hint",
}


_SCHEMAS = ("input_schema", "runtime_input_schema")
_WORDS = frozenset({"description", "title", "input_schema", "output_schema"})


class _Payload(msgspec.Struct, gc=False):
    idempotent: Any = None
    icons: Any = None


_payload = msgspec.json.Decoder(_Payload).decode


class McpList:
    """The result of `tools/list`."""

    name = "mcp"
    title = "MCP"

    def detect(self, value: JsonValue) -> bool:
        """Returns True for tools with an `inputSchema`."""
        return any(
            isinstance(entry.value, dict) and "name" in entry.value and "inputSchema" in entry.value
            for entry in find_entries(value)
        )

    def read(self, value: JsonValue, namespace: str, names: Mapping[str, str]) -> Reading:
        """Reads the tools of a list. `namespace`: the server's id."""
        tools: dict[str, DocumentTool] = {}
        findings: list[Finding] = []
        for entry in find_entries(value):
            try:
                tool = _read_entry(entry, namespace, names)
            except UnreadableTool as error:
                findings.append(error.build_finding(entry.path))
                continue
            written = entry.value["name"] if isinstance(entry.value, dict) else ""
            if isinstance(entry.value, dict) and META_EXTENSION in (entry.value.get(_META) or ()):
                findings += find_doubtful_claims(_read_served(entry.value, "", names), tool, entry.path, META_EXTENSION)
            if written in tools:
                findings.append(Finding(UNREAD, entry.path, f"there are two tools called {written!r}"))
            else:
                tools[written] = DocumentTool(tool, entry.path)
        if not tools and not findings and value not in ([], {"tools": []}):
            hint = "give the result of `tools/list`, or the list in it"
            findings.append(Finding(UNREAD, (), "there are no tools in it", hint=hint))
        return Reading(tuple(tools.values()), tuple(findings))

    def write(self, tools: Sequence[Tool], options: WriteOptions) -> Writing:
        """Writes a list of tools."""
        own = {tool.tool_id: had for tool in tools if (had := find_original(tool, DIALECT)) is not None}
        names = {tool_id: _read_text(had.definition.get("name")) for tool_id, had in own.items()}
        found, out = assign_names(tools, _NAMES, names)
        definitions: list[JsonObject] = []
        losses: list[Loss] = []
        changed: dict[str, str] = {}
        for tool, name in found:
            if name != tool.name:
                changed[name] = tool.name
                losses.append(_build_loss(tool, "name", "MCP takes no such name", "rewritten", name))
            had = own.get(tool.tool_id)
            if had is not None and not internal_fields(tool) and _is_unchanged(had, name):
                definition = had.definition
            else:
                definition = {**(had.definition if had is not None else {}), **_write_definition(tool, name)}
            definition, lost = _add_extension(tool, definition, changed, options)
            definitions.append(definition)
            losses += lost
        return Writing({"tools": definitions}, tuple(losses), tuple(out), changed)


def _read_entry(entry: DocumentEntry, namespace: str, names: Mapping[str, str]) -> Tool:
    definition = entry.value
    if not isinstance(definition, dict):
        raise UnreadableTool("a tool must be an object", hint="write it with a `name` and an `inputSchema`")
    why = why_unusable(definition)
    if why is not None:
        raise UnreadableTool(f"the tool {_format_name(definition.get('name'))} cannot be used: {why}")
    return _read_definition(definition, namespace, names)


def _read_definition(definition: JsonObject, namespace: str, names: Mapping[str, str]) -> Tool:
    meta = definition.get(_META)
    if not isinstance(meta, dict) or META_EXTENSION not in meta:
        return _read_served(definition, namespace, names)
    # The extension was computed against a tool without a namespace, so it is restored onto one.
    tool = restore_tool(_read_served(definition, "", names), meta[META_EXTENSION])
    return tool if tool.namespace or not namespace else msgspec.structs.replace(tool, namespace=namespace)


def _read_served(definition: JsonObject, namespace: str, names: Mapping[str, str]) -> Tool:
    tool = make_imported_tool(namespace, _SERVER, definition)
    name = names.get(tool.name, tool.name)
    if name == tool.name and namespace:
        return tool
    return msgspec.structs.replace(tool, name=name, tool_id=f"{namespace}.{name}" if namespace else name)


def _is_unchanged(had: OriginalTool, name: str) -> bool:
    """Returns True when an imported definition still states all of the tool, under this name."""
    if why_unusable(had.definition) is not None or had.definition.get("name") != name:
        return False
    back = _read_definition(had.definition, "", {name: had.tool.name})
    return _WORDS.isdisjoint(place.partition("/")[0] for place in find_differences(had.tool, back))


def _write_definition(tool: Tool, name: str) -> JsonObject:
    try:
        said = _payload(tool.payload)
    except (msgspec.DecodeError, UnicodeDecodeError):
        said = _Payload()
    written: JsonObject = {"name": name}
    if tool.title:
        written["title"] = tool.title
    description = describe_tool(tool)
    if description:
        written["description"] = description
    written["inputSchema"] = decode_raw(build_input_schema(tool))
    output = None if tool.output_schema is None else _convert_to_latest_draft(tool.output_schema)
    if isinstance(output, dict) and output.get("type") == "object":
        written["outputSchema"] = output
    hints = build_annotations(tool, said.idempotent is True)
    if hints:
        written["annotations"] = hints
    icons = list_icons(said.icons)
    if icons:
        written["icons"] = icons
    return written


def _convert_to_latest_draft(schema: msgspec.Raw) -> object:
    renewed = latest_draft(bytes(schema))
    return decode_raw(schema) if renewed is None else renewed


def _add_extension(
    tool: Tool, definition: JsonObject, names: Mapping[str, str], options: WriteOptions
) -> tuple[JsonObject, list[Loss]]:
    """Adds the details that a definition lacks to its `_meta`; returns it with the losses."""
    back = _read_definition(definition, "", names)
    is_own = tool.dialect == DIALECT and back.dialect == DIALECT
    extension = {} if is_own or options.is_plain else _build_extension(tool, back)
    places = find_differences(tool, back)
    if extension:
        definition = {**definition, _META: {META_EXTENSION: extension}}
        back = _read_definition(definition, "", names)
    lost = set(find_differences(tool, back))
    losses = []
    for place in sorted(lost.union(places)):
        is_lost = place in lost or place.partition("/")[0] in lost
        if is_lost and place == "description" and format_guidance(tool):
            losses.append(
                _build_loss(tool, place, "when to use the tool is told with it", "description", describe_tool(tool))
            )
        else:
            losses.append(
                _build_loss(tool, place, _explain(place), "dropped" if is_lost else "extension", is_lost=is_lost)
            )
    if not is_own:
        is_kept = back.dialect == tool.dialect
        losses += [
            _build_loss(
                tool, key, "MCP has no place for it", "extension" if is_kept else "dropped", is_lost=not is_kept
            )
            for key in list_own_keys(tool)
        ]
    return definition, losses


def _build_extension(tool: Tool, back: Tool) -> JsonObject:
    """Returns the extension for `_meta`. A schema with fields that only the runtime fills in is never sent (AT-56)."""
    is_open = not internal_fields(tool)
    extension = build_extension(tool, back, with_origin=is_open)
    if "facts" in extension:  # otherwise an inferred fact would come back as a stated one
        extension.setdefault("inferred_facts", tool.inferred_facts)
    return _convert_to_json({key: value for key, value in extension.items() if is_open or key not in _SCHEMAS})


def _convert_to_json(value: JsonObject) -> JsonObject:
    """Converts a value to plain JSON, with lists for tuples."""
    return dict(decode_raw(raw(value))) if value else {}


def _explain(place: str) -> str:
    field = place.partition("/")[0]
    if field in ("input_schema", "output_schema"):
        return "MCP has another way to say the schema, or none"
    return _WHY.get(field) or (
        "a hint of a server proves nothing" if field.startswith("facts.") else "MCP has no place for it"
    )


def _build_loss(tool: Tool, field: str, why: str, instead: Any, put: str = "", *, is_lost: bool = True) -> Loss:
    kept = put or ("" if is_lost else f"{_META}/{META_EXTENSION}")
    return Loss(tool_id=tool.tool_id, field=field, why=why, instead=instead, put=kept)


def _read_text(value: object) -> str:
    return value if isinstance(value, str) else ""


def _format_name(name: object) -> str:
    return repr(name[:80]) if isinstance(name, str) and name else "without a name"


FORMAT = McpList()
