"""Names that clients take, and the tools they stand for.

MCP wants 1 to 128 characters of `A-Za-z0-9_.-` (MCP-132); many models want 64 without dots. A tool whose own name is legal keeps
it; any other gets a legal one that depends on its own name and id alone, so that it stays the same wherever and whenever it
is listed.
"""

from __future__ import annotations

from collections.abc import Iterable

from ferrule.definitions.formats.legal_names import NameRule
from ferrule.model.surface import Surface, SurfaceEntry

LONGEST, LONGEST_SAFE = 128, 64
_LEGAL = NameRule("A-Za-z0-9_.-", LONGEST)
_SAFE = NameRule("A-Za-z0-9_-", LONGEST_SAFE)


class Names:
    """The names of one surface's tools on the wire."""

    __slots__ = ("_given", "_meant", "_surface")

    def __init__(self, surface: Surface, *, is_safe: bool = False, reserved: Iterable[str] = ()) -> None:
        """`is_safe`: names of 64 characters without dots. `reserved`: names that no tool gets, unless it is its own."""
        self._surface = surface
        self._given: dict[str, str] = {}
        self._meant: dict[str, str] = {}
        rule = _SAFE if is_safe else _LEGAL
        for entry in surface.entries.values():
            if is_tool(entry) and not rule.is_legal(shown := surface.shown_name(entry)):
                tool_id = entry.tool.tool_id
                name = self._free(shown, tool_id, rule, frozenset(reserved))
                self._given[tool_id] = name
                self._meant[name] = shown

    def of(self, entry: SurfaceEntry) -> str:
        """The name a tool is listed under."""
        return self._given.get(entry.tool.tool_id) or self._surface.shown_name(entry)

    def meant(self, name: str) -> str | None:
        """The name by which the surface knows what a client means; None for what it may not know of, or does not exist."""
        entry = self._surface.find(name)
        if entry is not None and is_tool(entry):
            return name
        return self._meant.get(name)

    def entry(self, name: str) -> SurfaceEntry | None:
        """The tool that a client means."""
        meant = self.meant(name)
        return None if meant is None else self._surface.find(meant)

    def is_free(self, name: str) -> bool:
        """True when a name leads to none of the caller's tools."""
        return self.meant(name) is None

    def _free(self, shown: str, tool_id: str, rule: NameRule, reserved: frozenset[str]) -> str:
        stem = rule.stem(shown)
        if len(stem) <= rule.longest and self.is_free(stem) and stem not in reserved:
            return stem
        return next(name for name in rule.marked(shown, tool_id) if self.is_free(name))


def is_tool(entry: SurfaceEntry) -> bool:
    """True for a tool that the caller may know of: not held back, and not a resource or a prompt."""
    return entry.is_visible and entry.tool.exposed_as is None
