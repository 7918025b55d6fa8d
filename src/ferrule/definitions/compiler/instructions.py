"""What an agent is told about its tools: when to use each, when not, and what it does to the world (AML-76)."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

import msgspec

from ferrule.model.tool import Tool

_GUIDANCE = (
    ("use_when", "Use it when"),
    ("avoid_when", "Do not use it when"),
    ("side_effects", "Warning, side effects"),
)


def instructions(tools: Iterable[Tool]) -> str:
    """The instruction context of an agent with these tools, as Markdown; empty without tools."""
    return "\n\n".join(_about(tool) for tool in tools)


def _about(tool: Tool) -> str:
    payload = msgspec.json.decode(tool.payload)
    guidance = payload.get("use_guidance") if isinstance(payload, dict) else None
    lines = [f"## {tool.name}", "", " ".join(tool.description.split())]
    for key, heading in _GUIDANCE:
        texts = _texts(guidance.get(key)) if isinstance(guidance, dict) else []
        if texts:
            lines += ["", f"{heading}:", *(f"- {text}" for text in texts)]
    return "\n".join(lines)


def _texts(written: Any) -> list[str]:
    listed = written if isinstance(written, list) else [written]
    return [" ".join(text.split()) for text in listed if isinstance(text, str) and text.strip()]
