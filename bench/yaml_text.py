"""Schemas as people write them in YAML: blocks for mappings, flow for short lists."""

from __future__ import annotations

import json
from typing import Any


def yaml_lines(value: dict[str, Any], indent: str) -> list[str]:
    """A mapping as lines of block YAML."""
    lines = []
    for key, item in value.items():
        if isinstance(item, dict):
            lines.append(f"{indent}{key}:")
            lines += yaml_lines(item, indent + "  ")
        elif isinstance(item, list):
            lines.append(f"{indent}{key}: [{', '.join(_scalar(part) for part in item)}]")
        else:
            lines.append(f"{indent}{key}: {_scalar(item)}")
    return lines


def _scalar(value: object) -> str:
    if isinstance(value, str):
        is_plain = value not in {"null", "true", "false"} and value.replace(" ", "").isalnum()
        return value if is_plain else json.dumps(value)
    return json.dumps(value)
