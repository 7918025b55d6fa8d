"""Eight digits that stand for what a tool takes and gives, and is given: they change with those, and not with what is said about
them. Another tool has other digits, so that nobody's code does another tool's work because a file got its name."""

from __future__ import annotations

from collections.abc import Sequence
from hashlib import sha256
from typing import Any

import msgspec

from ferrule.schema.walk import LIST_KEYWORDS, MAP_KEYWORDS, SCHEMA_KEYWORDS

_DIGITS = 8
_SAID = frozenset(
    [
        *(
            "title",
            "description",
            "examples",
            "example",
            "default",
            "deprecated",
            "readOnly",
            "writeOnly",
            "$comment",
            "xml",
        ),
        *("x-enum-descriptions", "x-enumDescriptions"),
    ]
)
"""Words for readers. A default is one of them: it is never filled in (AML-31)."""
_IN_ANY_ORDER = frozenset({"required", "type"})


def contract_of(
    tool_id: str,
    input_schema: msgspec.Raw | bytes,
    output_schema: msgspec.Raw | bytes | None,
    inject: Sequence[str] = (),
) -> str:
    """The digits of a tool, whatever the order of the keys of its schemas. `inject`: what it is given beside its input."""
    parts = [_shape_text(input_schema), b"" if output_schema is None else _shape_text(output_schema)]
    parts.append(msgspec.json.encode([tool_id, *inject]))
    return sha256(b"\n".join(parts)).hexdigest()[:_DIGITS]


def _shape_text(schema: msgspec.Raw | bytes) -> bytes:
    try:
        return msgspec.json.encode(_shape(msgspec.json.decode(schema)), order="sorted")
    except (RecursionError, ValueError):
        return bytes(schema)


def _shape(schema: Any) -> Any:
    """The schema without its words."""
    if not isinstance(schema, dict):
        return schema
    shape: dict[str, Any] = {}
    for keyword, operand in schema.items():
        if keyword in _SAID or (keyword.startswith("x-") and not keyword.startswith("x-enum")):
            continue
        if isinstance(operand, dict) and keyword in MAP_KEYWORDS:
            operand = {name: _shape(inner) for name, inner in operand.items()}
        elif isinstance(operand, dict) and keyword in SCHEMA_KEYWORDS:
            operand = _shape(operand)
        elif isinstance(operand, list) and (keyword in LIST_KEYWORDS or keyword == "items"):
            operand = [_shape(inner) for inner in operand]
        elif isinstance(operand, list) and keyword in _IN_ANY_ORDER:
            operand = sorted(operand, key=repr)
        shape[keyword] = operand
    return shape
