"""What models are told besides names and schemas: when to use a tool, when not, and what it does to the world.

It reaches them twice: with each tool's description, and together as the server's `instructions`. Both are bounded, and cut off
between lines, never inside one.
"""

from __future__ import annotations

from collections.abc import Iterable

from ferrule.definitions.guidance import guidance_lines, within
from ferrule.model.tool import Tool

MOST_INSTRUCTIONS = 12_000


def instructions(tools: Iterable[tuple[str, Tool]], opening: Iterable[str] = ()) -> str:
    """The instructions of a server with these tools, by the names they are listed under; empty when there is nothing to say."""
    lines = list(opening)
    for name, tool in tools:
        guidance = guidance_lines(tool)
        if guidance:
            lines += ["", f"## {name}", *guidance] if lines else [f"## {name}", *guidance]
    kept = within(lines, MOST_INSTRUCTIONS)
    if len(kept) < len(lines):
        kept.append("(Descriptions of tools say the rest.)")
    return "\n".join(kept).strip()
