"""Names that a target takes, and the tools they stand for.

A tool whose own name is legal keeps it. Any other gets a legal one that depends on its own name and id alone, so that it stays
the same whatever else is in the list. Only where two tools would get one name does it matter who else is there: the tool whose
own name it is keeps it, and the others are told apart by their namespace, or by digits of a digest of their id.
"""

from __future__ import annotations

import re
from collections import defaultdict
from collections.abc import Iterable, Iterator, Sequence
from functools import cached_property
from hashlib import sha256

from ferrule.model.tool import Tool

MARK = 8
"""Digits of a digest that tell two names apart which would be the same."""


class NameRule:
    """What names a target takes."""

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
        """True for a name that needs no change."""
        return self._legal.fullmatch(name) is not None

    def stem(self, name: str) -> str:
        """The name in legal characters; it may be too long still."""
        stem = self._illegal.sub("_", name).strip("_") or "tool"
        return stem if re.match(rf"[{self.first}]", stem) else f"_{stem}"

    def marked(self, name: str, tool_id: str) -> Iterator[str]:
        """Legal names that are this tool's alone, the shortest mark first."""
        stem = self.stem(name)
        digits = sha256(tool_id.encode(errors="backslashreplace")).hexdigest()
        for length in range(MARK, min(len(digits), self.longest - 1)):
            yield f"{stem[: self.longest - length - 1]}_{digits[:length]}"

    def made(self, name: str, tool_id: str) -> str:
        """The name that a tool gets where nobody else wants it."""
        if self.is_legal(name):
            return name
        stem = self.stem(name)
        return stem if len(stem) <= self.longest else next(self.marked(name, tool_id))


def legal(tools: Sequence[Tool], rule: NameRule, reserved: Iterable[str] = ()) -> dict[str, str]:
    """A legal name for each tool, by its id: all different, whatever the order of the tools. `reserved`: names nobody gets."""
    known = {tool.tool_id: tool for tool in tools}
    taken = set(reserved)
    given: dict[str, str] = {}
    wanted: dict[str, list[Tool]] = defaultdict(list)
    for tool in known.values():
        wanted[rule.made(tool.name, tool.tool_id)].append(tool)
    late: list[Tool] = []
    for name, claimants in wanted.items():
        owners = claimants if len(claimants) == 1 else [tool for tool in claimants if tool.name == name]
        if len(owners) == 1 and name not in taken:
            given[owners[0].tool_id] = name
            late += [tool for tool in claimants if tool is not owners[0]]
        else:
            late += claimants
    if late:
        taken.update(wanted)
        _told_apart(late, rule, given, taken)
    return given


def _told_apart(tools: list[Tool], rule: NameRule, given: dict[str, str], taken: set[str]) -> None:
    wanted: dict[str, list[Tool]] = defaultdict(list)
    for tool in sorted(tools, key=lambda one: one.tool_id):
        whole = f"{tool.namespace}_{tool.name}" if tool.namespace else tool.tool_id
        wanted[rule.made(whole, tool.tool_id)].append(tool)
    rest: list[Tool] = []
    for name, claimants in wanted.items():
        if len(claimants) == 1 and name not in taken:
            given[claimants[0].tool_id] = name
        else:
            rest += claimants
    taken.update(wanted)
    for tool in rest:
        name = next(one for one in rule.marked(tool.name, tool.tool_id) if one not in taken)
        given[tool.tool_id] = name
        taken.add(name)
