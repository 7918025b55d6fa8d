"""Gives tools names that are legal for a provider.

A tool whose own name is legal keeps it. Any other gets a legal one that depends only on its own name and id, so it does not
change with the rest of the list. Where two tools would get the same name, the tool whose own name it is keeps it; the
namespace, or digits of a digest of the id, distinguish the others.
"""

from __future__ import annotations

import re
from collections import defaultdict
from collections.abc import Iterable, Iterator, Sequence
from functools import cached_property
from hashlib import sha256

from ferrule.model.tool import Tool

MARK = 8
"""Digits of a digest that distinguish two names."""


class NameRule:
    """The names that a provider accepts."""

    def __init__(self, characters: str, longest: int, first: str = "") -> None:
        """`characters`: as between brackets of a regular expression, digits among them. `first`: the same for the first."""
        self.characters = characters
        self.longest = longest
        self.first = first or characters

    @cached_property
    def _legal(self) -> re.Pattern[str]:
        return re.compile(rf"[{self.first}][{self.characters}]{{0,{self.longest - 1}}}")

    @cached_property
    def _illegal(self) -> re.Pattern[str]:
        return re.compile(rf"[^{self.characters}]+")

    def is_legal(self, name: str) -> bool:
        """Returns True for a name that needs no change."""
        return self._legal.fullmatch(name) is not None

    def build_stem(self, name: str) -> str:
        """Replaces illegal characters; the name may still be too long."""
        stem = self._illegal.sub("_", name).strip("_") or "tool"
        return stem if re.match(rf"[{self.first}]", stem) else f"_{stem}"

    def list_marked(self, name: str, tool_id: str) -> Iterator[str]:
        """Yields names that only this tool can have, the shortest mark first."""
        stem = self.build_stem(name)
        digits = sha256(tool_id.encode(errors="backslashreplace")).hexdigest()
        for length in range(MARK, min(len(digits), self.longest - 1)):
            yield f"{stem[: self.longest - length - 1]}_{digits[:length]}"

    def choose_name(self, name: str, tool_id: str) -> str:
        """Returns the name that a tool gets when no other tool wants it."""
        if self.is_legal(name):
            return name
        stem = self.build_stem(name)
        return stem if len(stem) <= self.longest else next(self.list_marked(name, tool_id))


def assign_legal_names(tools: Sequence[Tool], rule: NameRule, reserved: Iterable[str] = ()) -> dict[str, str]:
    """Returns a distinct legal name for each tool, by its id, whose order does not matter. `reserved`: names not to use."""
    known = {tool.tool_id: tool for tool in tools}
    taken = set(reserved)
    given: dict[str, str] = {}
    wanted: dict[str, list[Tool]] = defaultdict(list)
    for tool in known.values():
        wanted[rule.choose_name(tool.name, tool.tool_id)].append(tool)
    late: list[Tool] = []
    for name, claimants in wanted.items():
        owners = claimants if len(claimants) == 1 else [tool for tool in claimants if tool.name == name]
        if len(owners) == 1 and name not in taken:
            given[owners[0].tool_id] = name
            late += [tool for tool in claimants if tool is not owners[0]]
        else:
            late += claimants
    if late:
        # Includes names that no tool got: a marked name must not equal another tool's own.
        taken.update(wanted)
        _distinguish(late, rule, given, taken)
    return given


def _distinguish(tools: list[Tool], rule: NameRule, given: dict[str, str], taken: set[str]) -> None:
    wanted: dict[str, list[Tool]] = defaultdict(list)
    for tool in sorted(tools, key=lambda one: one.tool_id):
        whole = f"{tool.namespace}_{tool.name}" if tool.namespace else tool.tool_id
        wanted[rule.choose_name(whole, tool.tool_id)].append(tool)
    rest: list[Tool] = []
    for name, claimants in wanted.items():
        if len(claimants) == 1 and name not in taken:
            given[claimants[0].tool_id] = name
        else:
            rest += claimants
    taken.update(wanted)
    for tool in rest:
        name = next(one for one in rule.list_marked(tool.name, tool.tool_id) if one not in taken)
        given[tool.tool_id] = name
        taken.add(name)
