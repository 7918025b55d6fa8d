"""Output schemas per revision. The sessions know objects only (MCP-144): any other value travels there as `{"result": …}`.

Whoever writes results asks `wraps_output`, so that `structuredContent` and `outputSchema` agree.
"""

from __future__ import annotations

from typing import Any

import msgspec

from ferrule.model.tool import Tool
from ferrule.schema.validation.latest_draft import latest_draft
from ferrule.servers.mcp.wire.messages import MODERN

MEMBER = "result"
"""What a value is called that is no object, in the revisions that know nothing else."""
_SHARED = ("$defs", "definitions")
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
    if _is_object(written, written):
        return written if written.get("type") == "object" else {"type": "object", **written}
    return _wrapped(written)


def wraps_output(tool: Tool) -> bool:
    """True when clients of a session get this tool's value as a member of an object: its schema allows other values."""
    written = _read(tool.output_schema) if tool.output_schema is not None else None
    return written is not None and not _is_object(written, written)


def _read(schema: msgspec.Raw) -> dict[str, Any] | None:
    """A schema in the words of 2020-12 (MCP-136); None for what is no object, or nested without end."""
    try:
        renewed = latest_draft(bytes(schema))
        written = msgspec.json.decode(schema) if renewed is None else renewed
    except RecursionError:
        return None
    return written if isinstance(written, dict) else None


def _is_object(schema: Any, root: dict[str, Any], steps: int = 0) -> bool:
    """True when every value that a schema allows is an object, as far as that is plain to see."""
    if not isinstance(schema, dict) or steps > _MOST_STEPS:
        return False
    kind = schema.get("type")
    if kind is not None:
        return bool(kind == "object" or kind == ["object"])
    pointer = schema.get("$ref")
    if isinstance(pointer, str) and _is_object(_at(root, pointer), root, steps + 1):
        return True
    if any(_is_object(part, root, steps + 1) for part in _list(schema.get("allOf"))):
        return True
    forms = _list(schema.get("anyOf")) or _list(schema.get("oneOf"))
    return bool(forms) and all(_is_object(form, root, steps + 1) for form in forms)


def _list(value: Any) -> list[Any]:
    return value if isinstance(value, list) else []


def _at(root: dict[str, Any], pointer: str) -> Any:
    if not pointer.startswith("#/"):
        return root if pointer == "#" else None
    found: Any = root
    for part in pointer[2:].split("/"):
        found = found.get(part.replace("~1", "/").replace("~0", "~")) if isinstance(found, dict) else None
    return found


def _wrapped(schema: dict[str, Any]) -> dict[str, Any]:
    """The schema of an object with the value in it. What is shared stays at the root, and references find their way."""
    shared = {key: _moved(schema[key]) for key in _SHARED if key in schema}
    own = {key: value for key, value in schema.items() if key not in shared and key != "$schema"}
    return {"type": "object", "properties": {MEMBER: _moved(own)}, "required": [MEMBER], **shared}


def _moved(value: Any) -> Any:
    if isinstance(value, list):
        return [_moved(member) for member in value]
    if not isinstance(value, dict):
        return value
    moved = {key: _moved(member) for key, member in value.items()}
    pointer = value.get("$ref")
    if isinstance(pointer, str) and (pointer == "#" or pointer.startswith("#/")):
        is_shared = pointer.startswith(tuple(f"#/{key}/" for key in _SHARED))
        moved["$ref"] = pointer if is_shared else f"#/properties/{MEMBER}{pointer[1:]}"
    return moved
