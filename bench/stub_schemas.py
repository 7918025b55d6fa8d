"""Input schemas of many tools, no two alike: what the group `stubs` turns into code.

They are of the kinds that tools really have: texts, numbers with bounds, enumerations, lists, nested objects, optional members
and maps. What is hard to turn into types is in `tests/definitions/stubs/languages/nasty.py`,
and is judged elsewhere (`bench/stub_faults.py`).
"""

from __future__ import annotations

from random import Random
from typing import Any

_NOUNS = "order customer parcel invoice ticket branch shelf book author payment refund courier note label".split()  # noqa: SIM905
_VERBS = "find list create update cancel send count print assign merge".split()  # noqa: SIM905
_UNITS = (["kg", "g", "lb"], ["day", "week", "month"], ["open", "held", "closed"], ["low", "normal", "high", "urgent"])


def tool_schemas(count: int, seed: int = 7) -> dict[str, dict[str, Any]]:
    """Input schemas by the names of their tools."""
    random = Random(seed)
    return {f"{random.choice(_VERBS)}_{random.choice(_NOUNS)}_{number}": _object(random, 2) for number in range(count)}


def _object(random: Random, depth: int) -> dict[str, Any]:
    names = random.sample(_NOUNS, random.randint(3, 7))
    properties = {f"{name}_{random.choice(('id', 'text', 'value', 'list'))}": _member(random, depth) for name in names}
    required = [name for name in properties if random.random() < 0.5]
    return {"type": "object", "properties": properties, "required": required, "additionalProperties": False}


def _member(random: Random, depth: int) -> dict[str, Any]:
    kinds = ["string", "string", "integer", "number", "boolean", "enum", "list", "nullable", "map"]
    kind = random.choice(kinds + ["object", "objects"] * (depth > 0))
    return {"description": f"What the {kind} is for, in a sentence of usual length."} | _schema(random, kind, depth)


def _schema(random: Random, kind: str, depth: int) -> dict[str, Any]:
    match kind:
        case "enum":
            return {"type": "string", "enum": random.choice(_UNITS)}
        case "integer":
            return {"type": "integer", "minimum": 0, "maximum": random.randint(1, 1000)}
        case "string":
            return {"type": "string", "maxLength": random.randint(10, 200)}
        case "list":
            return {"type": "array", "items": {"type": random.choice(["string", "integer"])}}
        case "nullable":
            return {"type": ["string", "null"]}
        case "map":
            return {"type": "object", "additionalProperties": {"type": "string"}}
        case "object":
            return _object(random, depth - 1)
        case "objects":
            return {"type": "array", "items": _object(random, depth - 1)}
    return {"type": kind}
