"""One tool in the words of one revision (sections 11 and 29 of the digest), its output schema included.

Hints come from facts that a definition declares, never from inferred ones. A tool of an upstream server is shown in its
own words and marked as untrusted: we do not vouch for another server's claim of safety (MCP-288). Revisions with
sessions have objects only (MCP-144), so any other value travels there as `{"result": …}`; `results` asks
`wraps_output`, so that `structuredContent` and `outputSchema` agree.
"""

from __future__ import annotations

from typing import Any

import msgspec

from ferrule.definitions.content.guidance import describe_tool
from ferrule.definitions.formats.mcp_words import build_annotations, build_input_schema, list_icons
from ferrule.infra.lockfile.tools import DIALECT as UPSTREAM
from ferrule.model.tool import Tool
from ferrule.model.value import JsonObject, Path
from ferrule.schema.pointers import write_fragment
from ferrule.schema.references import SchemaReferences, root_references
from ferrule.schema.validation.latest_draft import latest_draft
from ferrule.schema.walk import copy_schema
from ferrule.servers.mcp.wire.messages import MODERN, OWN

MEMBER = "result"
"""The member for a value that is no object, in revisions that have objects only."""
_SHARED = ("$defs", "definitions")
_AT_ROOT = tuple((key,) for key in _SHARED)
_LEFT = frozenset({"$schema", "$id"})
"""Keywords that concern a whole document; under an `$id` of its own, a wrapped schema would resolve its references from
there."""
_MOST_STEPS = 16


def output_schema(tool: Tool, revision: str) -> Any:
    """Returns the schema of a tool's structured output in the words of a revision; None when there is none."""
    if tool.output_schema is None or revision == "2025-03-26":
        return None
    written = _read_schema(tool.output_schema)
    if written is None:
        return None
    if revision == MODERN:
        return written
    if _is_object(written):
        return written if written.get("type") == "object" else {"type": "object", **written}
    return _wrap_schema(root_references(written))


def wraps_output(tool: Tool) -> bool:
    """True when sessions get this tool's value as a member of an object: its schema allows other values."""
    written = _read_schema(tool.output_schema) if tool.output_schema is not None else None
    return written is not None and not _is_object(written)


def _read_schema(schema: msgspec.Raw) -> JsonObject | None:
    """Returns a schema in the words of 2020-12 (MCP-136); None for one that is no object, or nested without end."""
    try:
        renewed = latest_draft(bytes(schema))
        written = msgspec.json.decode(schema) if renewed is None else renewed
    except RecursionError:
        return None
    return written if isinstance(written, dict) else None


def _is_object(schema: JsonObject) -> bool:
    """True when every value that a schema allows is plainly an object."""
    references = SchemaReferences(root_references(schema))
    return _allows_objects_only(references.root, references)


def _allows_objects_only(schema: object, references: SchemaReferences, steps: int = 0) -> bool:
    if not isinstance(schema, dict) or steps > _MOST_STEPS:
        return False
    kind = schema.get("type")
    if kind is not None:
        return bool(kind == "object" or kind == ["object"])
    if "$ref" in schema and _allows_objects_only(references.schema(schema["$ref"]), references, steps + 1):
        return True
    if any(_allows_objects_only(part, references, steps + 1) for part in _as_list(schema.get("allOf"))):
        return True
    forms = _as_list(schema.get("anyOf")) or _as_list(schema.get("oneOf"))
    return bool(forms) and all(_allows_objects_only(form, references, steps + 1) for form in forms)


def _as_list(value: object) -> list[Any]:
    return value if isinstance(value, list) else []


def _wrap_schema(schema: JsonObject) -> JsonObject:
    """Returns the schema of an object with the value in it. Shared definitions stay at the root, and references still
    resolve."""
    references = SchemaReferences(schema)

    def move(part: JsonObject, _: Path) -> None:
        target = references.find(part.get("$ref"))
        if target is not None:
            is_shared = target.path[:1] in _AT_ROOT
            part["$ref"] = write_fragment(target.path if is_shared else ("properties", MEMBER, *target.path))

    moved = copy_schema({key: value for key, value in schema.items() if key not in _LEFT}, move)
    shared = {key: moved.pop(key) for key in _SHARED if key in moved}
    return {"type": "object", "properties": {MEMBER: moved}, "required": [MEMBER], **shared}


OLDEST, SECOND = "2025-03-26", "2025-06-18"
META_UPSTREAM = f"{OWN}upstream"
ALWAYS_LOAD, SEARCH_HINT = "anthropic/alwaysLoad", "anthropic/searchHint"
"""Hints for clients that defer tools themselves."""
DEFER_LOADING = f"{OWN}deferLoading"
_NOT_RELAYED = frozenset({"name", "execution", "inputSchema", "outputSchema", "_meta", "icons", "title", "annotations"})


class _PayloadExtras(msgspec.Struct, gc=False):
    """Members of a tool's payload that the canonical model has no field for."""

    idempotent: Any = None
    icons: Any = None
    definition: Any = None
    server_id: Any = None


_decode_extras = msgspec.json.Decoder(_PayloadExtras).decode


def project_tool(tool: Tool, name: str, revision: str, description: str = "", **hints: object) -> JsonObject:
    """Returns a tool as `tools/list` shows it. `description`: in place of the tool's own. `hints`: members of `_meta`."""
    said = _read_extras(tool)
    native = said.definition if tool.dialect == UPSTREAM and isinstance(said.definition, dict) else None
    shown: JsonObject = {"name": name}
    title = tool.title if revision != OLDEST else None
    if title:
        shown["title"] = title
    shown["description"] = description or describe_tool(tool) or tool.title or name
    shown["inputSchema"] = build_input_schema(tool)
    if native is not None:
        _relay(shown, native, revision)
    if revision == OLDEST:
        annotations = _collect_annotations(tool, said, native)
        if tool.title:
            # 2025-03-26 has a title among the annotations only.
            annotations.setdefault("title", tool.title)
    else:
        schema = output_schema(tool, revision)
        if schema is not None:
            shown["outputSchema"] = schema
        annotations = _collect_annotations(tool, said, native)
    if annotations:
        shown["annotations"] = annotations
    if revision not in (OLDEST, SECOND):
        icons = list_icons(said.icons if native is None else native.get("icons"))
        if icons:
            shown["icons"] = icons
    meta = {} if revision == OLDEST else _collect_meta(tool, said, native, hints)
    if meta:
        shown["_meta"] = meta
    return shown


def _relay(shown: JsonObject, native: JsonObject, revision: str) -> None:
    """Copies members of an upstream's definition that have no field of their own here; the oldest revision allows none."""
    if revision != OLDEST:
        shown.update((key, value) for key, value in native.items() if key not in _NOT_RELAYED and key not in shown)


def _collect_annotations(tool: Tool, said: _PayloadExtras, native: JsonObject | None) -> JsonObject:
    if native is not None:
        written = native.get("annotations")
        return dict(written) if isinstance(written, dict) else {}
    return build_annotations(tool, said.idempotent is True)


def _collect_meta(tool: Tool, said: _PayloadExtras, native: JsonObject | None, hints: JsonObject) -> JsonObject:
    meta: JsonObject = {}
    if native is not None:
        written = native.get("_meta")
        meta = dict(written) if isinstance(written, dict) else {}
        # Set after the copy, so that an upstream cannot vouch for itself.
        meta[META_UPSTREAM] = {"server": said.server_id, "tool": native.get("name"), "annotations": "untrusted"}
    if tool.search_hint:
        meta.setdefault(SEARCH_HINT, tool.search_hint)
    return meta | hints


def _read_extras(tool: Tool) -> _PayloadExtras:
    try:
        return _decode_extras(tool.payload)
    except msgspec.DecodeError:
        return _PayloadExtras()
