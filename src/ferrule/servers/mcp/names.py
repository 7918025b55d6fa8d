"""Names that clients take, and the tools they stand for.

MCP wants 1 to 128 characters of `A-Za-z0-9_.-` (MCP-132); many models want 64 without dots. A tool whose own name is legal keeps
it; any other gets a legal one that depends on its own name and id alone, so that it stays the same wherever and whenever it
is listed.
"""

from __future__ import annotations

import re
from collections.abc import Iterable
from hashlib import sha256

from ferrule.model.surface import Surface, SurfaceEntry

LONGEST, LONGEST_SAFE = 128, 64
_LEGAL = re.compile(r"[A-Za-z0-9_.-]{1,128}")
_SAFE = re.compile(r"[A-Za-z0-9_-]{1,64}")
_ILLEGAL = re.compile(r"[^A-Za-z0-9_.-]+")
_UNSAFE = re.compile(r"[^A-Za-z0-9_-]+")
_MARK = 8
"""Digits of a digest that tell two names apart which would be the same."""


class Names:
    """The names of one surface's tools on the wire."""

    __slots__ = ("_given", "_meant", "_surface")

    def __init__(self, surface: Surface, *, is_safe: bool = False, reserved: Iterable[str] = ()) -> None:
        """`is_safe`: names of 64 characters without dots. `reserved`: names that no tool gets, unless it is its own."""
        self._surface = surface
        self._given: dict[str, str] = {}
        self._meant: dict[str, str] = {}
        legal = (_SAFE if is_safe else _LEGAL).fullmatch
        for entry in surface.entries.values():
            if is_tool(entry) and legal(shown := surface.shown_name(entry)) is None:
                tool_id = entry.tool.tool_id
                name = self._free(shown, tool_id, is_safe, frozenset(reserved))
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

    def _free(self, shown: str, tool_id: str, is_safe: bool, reserved: frozenset[str]) -> str:
        longest = LONGEST_SAFE if is_safe else LONGEST
        stem = (_UNSAFE if is_safe else _ILLEGAL).sub("_", shown).strip("_") or "tool"
        if len(stem) <= longest and self.is_free(stem) and stem not in reserved:
            return stem
        digits = sha256(tool_id.encode(errors="backslashreplace")).hexdigest()
        for length in range(_MARK, len(digits)):
            name = f"{stem[: longest - length - 1]}_{digits[:length]}"
            if self.is_free(name):
                return name
        raise AssertionError("two tools have one digest")  # of SHA-256


def is_tool(entry: SurfaceEntry) -> bool:
    """True for a tool that the caller may know of: not held back, and not a resource or a prompt."""
    return entry.is_visible and entry.tool.exposed_as is None
