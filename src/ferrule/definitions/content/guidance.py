"""Writes what models are told of a tool besides its name and schema: when to use it, when not, and what it does to the world.

It goes with the description wherever a format has no other place for it: bounded, and cut off between lines, never inside
one.
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


class _Said(msgspec.Struct, gc=False):
    use_guidance: Any = None


_decode = msgspec.json.Decoder(_Said).decode


def guidance_lines(tool: Tool) -> list[str]:
    """The guidance in a definition, a line each; nothing where it has none (AML-76)."""
    if b'"use_guidance"' not in bytes(tool.payload):
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


def described(tool: Tool) -> str:
    """A tool's description with its guidance."""
    lines = within(guidance_lines(tool), MOST_IN_DESCRIPTION)
    return tool.description if not lines else f"{tool.description}\n\n" + "\n".join(lines)


def within(lines: list[str], most: int) -> list[str]:
    """As many of the lines as have room."""
    for number, line in enumerate(lines):
        most -= len(line) + 1
        if most < 0:
            return lines[:number]
    return lines
