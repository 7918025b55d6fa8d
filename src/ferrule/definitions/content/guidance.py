"""Formats a tool's guidance for models: when to use it, when not, and its side effects.

It follows the description wherever a format has no other place for it: bounded, and cut off between lines, never inside one.
"""

from __future__ import annotations

from typing import Any

import msgspec

from ferrule.model.tool import Tool

MOST_IN_DESCRIPTION = 2_000
"""Characters of guidance in one description; the description itself is the author's."""
_HEADINGS = (
    ("use_when", "Use it when"),
    ("avoid_when", "Do not use it when"),
    ("side_effects", "Side effects"),
)


class _Payload(msgspec.Struct, gc=False):
    use_guidance: Any = None


_decode = msgspec.json.Decoder(_Payload).decode


def format_guidance(tool: Tool) -> list[str]:
    """Returns the guidance in a definition as lines; empty when it has none (AML-76)."""
    if b'"use_guidance"' not in bytes(tool.payload):  # most tools have none: do not decode their payloads
        return []
    try:
        said = _decode(tool.payload).use_guidance
    except msgspec.DecodeError:
        return []
    if not isinstance(said, dict):
        return []
    lines: list[str] = []
    for key, heading in _HEADINGS:
        written = said.get(key)
        texts = written if isinstance(written, list) else [written]
        found = [" ".join(text.split()) for text in texts if isinstance(text, str) and text.strip()]
        if found:
            lines += [f"{heading}:", *(f"- {text}" for text in found)]
    return lines


def describe_tool(tool: Tool) -> str:
    """Returns a tool's description followed by its guidance."""
    lines = take_fitting_lines(format_guidance(tool), MOST_IN_DESCRIPTION)
    return tool.description if not lines else f"{tool.description}\n\n" + "\n".join(lines)


def take_fitting_lines(lines: list[str], most: int) -> list[str]:
    """Returns as many of the lines as fit into `most` characters."""
    for number, line in enumerate(lines):
        most -= len(line) + 1
        if most < 0:
            return lines[:number]
    return lines
