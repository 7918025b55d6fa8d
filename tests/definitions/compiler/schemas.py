"""Small schemas, and the comparison of one tool whose schema changed."""

from __future__ import annotations

from typing import Any

from ferrule.definitions.compiler.compare import compare
from ferrule.model.change import ComparedTool, Snapshot, ToolChange
from ferrule.model.outline import ToolOutline

TEXT: dict[str, Any] = {"type": "string"}


def of(properties: dict[str, Any], **more: Any) -> dict[str, Any]:
    return {"type": "object", "properties": properties, **more}


def q(**schema: Any) -> dict[str, Any]:
    return of({"q": schema})


def change(old: Any, new: Any, *, result: bool = False) -> ToolChange:
    """The comparison of one tool whose input (or result) schema changed."""
    parts = []
    for number, schema in enumerate((old, new)):
        outline = ToolOutline("f", "aml", "shop", "tool", "tool", version="1.0.0" if number == 0 else "1.1.0")
        takes, gives = (of({}), schema) if result else (schema, of({}))
        parts.append(ComparedTool(outline, str(number), str(number), takes, gives, {}))
    before, after = (Snapshot((part,), {}, {}, (part.outline,)) for part in parts)
    return compare(before, after).changes[0]
