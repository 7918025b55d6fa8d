"""One tool in the words of one revision (sections 11 and 29 of the digest), its output schema included.

Hints come from facts that a definition declares; inferred facts are not told. A tool of an upstream server is shown in
its own words and marked so: a stranger's claim of safety is not ours (MCP-288). Revisions with sessions know objects
only (MCP-144), so any other value travels there as `{"result": …}`; `results` asks `wraps_output`, so that
`structuredContent` and `outputSchema` agree.
"""

from __future__ import annotations

from typing import Any

import msgspec

from ferrule.definitions.content.guidance import describe_tool
from ferrule.definitions.formats.mcp_words import hints_of, icons_of, input_schema
from ferrule.infra.lockfile.tools import DIALECT as UPSTREAM
from ferrule.model.tool import Tool
from ferrule.model.value import Path
from ferrule.schema.pointers import write_fragment
from ferrule.schema.references import SchemaReferences, root_references
from ferrule.schema.validation.latest_draft import latest_draft
from ferrule.schema.walk import copy_schema
from ferrule.servers.mcp.wire.messages import MODERN, OWN

MEMBER = "result"
"""What a value is called that is no object, in the revisions that know nothing else."""
_SHARED = ("$defs", "definitions")
_AT_ROOT = tuple((key,) for key in _SHARED)
_LEFT = frozenset({"$schema", "$id"})
"""Keywords that speak of a whole document; with an `$id` of its own, what is wrapped would read its references from there."""
_MOST_STEPS = 16


def output_schema(tool: Tool, revision: str) -> Any:
    """The schema of a tool's structured output as a revision may have it; None when there is none to tell."""
    if tool.output_schema is None or revision == "2025-03-26":
        return None
    written = _read(tool.output_schema)
    if written is None:
        return None
    if revision == MODERN:
        return written
    if _is_object(written):
        return written if written.get("type") == "object" else {"type": "object", **written}
    return _wrapped(root_references(written))


def wraps_output(tool: Tool) -> bool:
    """True when clients of a session get this tool's value as a member of an object: its schema allows other values."""
    written = _read(tool.output_schema) if tool.output_schema is not None else None
    return written is not None and not _is_object(written)


def _read(schema: msgspec.Raw) -> dict[str, Any] | None:
    """A schema in the words of 2020-12 (MCP-136); None for what is no object, or nested without end."""
    try:
        renewed = latest_draft(bytes(schema))
        written = msgspec.json.decode(schema) if renewed is None else renewed
    except RecursionError:
        return None
    return written if isinstance(written, dict) else None


def _is_object(schema: dict[str, Any]) -> bool:
    """True when every value that a schema allows is an object, as far as that is plain to see."""
    references = SchemaReferences(root_references(schema))
    return _allows_objects_only(references.root, references)


def _allows_objects_only(schema: Any, references: SchemaReferences, steps: int = 0) -> bool:
    if not isinstance(schema, dict) or steps > _MOST_STEPS:
        return False
    kind = schema.get("type")
    if kind is not None:
        return bool(kind == "object" or kind == ["object"])
    if "$ref" in schema and _allows_objects_only(references.schema(schema["$ref"]), references, steps + 1):
        return True
    if any(_allows_objects_only(part, references, steps + 1) for part in _list(schema.get("allOf"))):
        return True
    forms = _list(schema.get("anyOf")) or _list(schema.get("oneOf"))
    return bool(forms) and all(_allows_objects_only(form, references, steps + 1) for form in forms)


def _list(value: Any) -> list[Any]:
    return value if isinstance(value, list) else []


def _wrapped(schema: dict[str, Any]) -> dict[str, Any]:
    """The schema of an object with the value in it. What is shared stays at the root, and references find their way."""
    references = SchemaReferences(schema)

    def move(part: dict[str, Any], _: Path) -> None:
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


class _Said(msgspec.Struct, gc=False):
    """What a payload may say of a tool that the canonical model has no field for."""

    idempotent: Any = None
    icons: Any = None
    definition: Any = None
    server_id: Any = None


_said = msgspec.json.Decoder(_Said).decode


def projected(tool: Tool, name: str, revision: str, description: str = "", **hints: Any) -> dict[str, Any]:
    """A tool as `tools/list` shows it. `description`: in place of the tool's own. `hints`: members of `_meta`."""
    said = _payload(tool)
    native = said.definition if tool.dialect == UPSTREAM and isinstance(said.definition, dict) else None
    shown: dict[str, Any] = {"name": name}
    title = tool.title if revision != OLDEST else None
    if title:
        shown["title"] = title
    shown["description"] = description or describe_tool(tool) or tool.title or name
    shown["inputSchema"] = input_schema(tool)
    if native is not None:
        _relay(shown, native, revision)
    if revision == OLDEST:
        annotations = _annotations(tool, said, native)
        if tool.title:
            annotations.setdefault("title", tool.title)
    else:
        schema = output_schema(tool, revision)
        if schema is not None:
            shown["outputSchema"] = schema
        annotations = _annotations(tool, said, native)
    if annotations:
        shown["annotations"] = annotations
    if revision not in (OLDEST, SECOND):
        icons = icons_of(said.icons if native is None else native.get("icons"))
        if icons:
            shown["icons"] = icons
    meta = {} if revision == OLDEST else _meta(tool, said, native, hints)
    if meta:
        shown["_meta"] = meta
    return shown


def _relay(shown: dict[str, Any], native: dict[str, Any], revision: str) -> None:
    """Members of an upstream's definition that have no place of their own here; the oldest revision has none besides."""
    if revision != OLDEST:
        shown.update((key, value) for key, value in native.items() if key not in _NOT_RELAYED and key not in shown)


def _annotations(tool: Tool, said: _Said, native: dict[str, Any] | None) -> dict[str, Any]:
    if native is not None:
        written = native.get("annotations")
        return dict(written) if isinstance(written, dict) else {}
    return hints_of(tool, said.idempotent is True)


def _meta(tool: Tool, said: _Said, native: dict[str, Any] | None, hints: dict[str, Any]) -> dict[str, Any]:
    meta: dict[str, Any] = {}
    if native is not None:
        written = native.get("_meta")
        meta = dict(written) if isinstance(written, dict) else {}
        meta[META_UPSTREAM] = {"server": said.server_id, "tool": native.get("name"), "annotations": "untrusted"}
    if tool.search_hint:
        meta.setdefault(SEARCH_HINT, tool.search_hint)
    return meta | hints


def _payload(tool: Tool) -> _Said:
    try:
        return _said(tool.payload)
    except msgspec.DecodeError:
        return _Said()
