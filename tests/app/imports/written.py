"""Definition files as people write them: any indentation, comments, quotes and brackets, with every line's path known."""

from __future__ import annotations

import json
import random
from typing import Any, NamedTuple

from ferrule.model.value import Path


class Line(NamedTuple):
    """One line of a front matter, and the value it is a part of."""

    text: str
    path: Path


class Writer:
    """Writes mappings in a manner of its own, drawn once."""

    def __init__(self, seed: int, *, with_comments: bool = True) -> None:
        self._chance = random.Random(seed)
        self._step = self._chance.choice((2, 2, 4))
        self._dashes_in = self._chance.choice((True, False))
        self._with_comments = with_comments
        self._comments = 0

    def lines(self, value: dict[str, Any]) -> list[Line]:
        """The lines of a front matter, without its delimiters."""
        return self._mapping(value, (), 0)

    def file(self, value: dict[str, Any], body: str = "") -> str:
        """A whole file."""
        return "---\n" + "".join(f"{line.text}\n" for line in self.lines(value)) + "---\n" + body

    def _mapping(self, value: dict[str, Any], path: Path, indent: int) -> list[Line]:
        found: list[Line] = []
        for key, member in value.items():
            here = (*path, key)
            if self._maybe(6):
                found.append(Line(" " * indent + self._comment(), path))
            if self._maybe(9):
                found.append(Line("", path))
            found += self._entry(f"{' ' * indent}{_key(key)}:", member, here, indent)
        return found

    def _entry(self, opening: str, member: Any, path: Path, indent: int) -> list[Line]:
        if isinstance(member, dict) and member and not self._chance.random() < 0.15:
            return [Line(opening + self._after(), path), *self._mapping(member, path, indent + self._step)]
        if isinstance(member, list) and member and not self._chance.random() < 0.3:
            dash = indent + (self._step if self._dashes_in else 0)
            return [Line(opening + self._after(), path), *self._list(member, path, dash)]
        if isinstance(member, str) and "\n" in member:
            margin = " " * (indent + self._step)
            return [Line(f"{opening} |-", path), *(Line(margin + line, path) for line in member.split("\n"))]
        return [Line(f"{opening} {self._scalar(member)}{self._after()}", path)]

    def _list(self, items: list[Any], path: Path, dash: int) -> list[Line]:
        found: list[Line] = []
        for number, item in enumerate(items):
            here = (*path, number)
            if isinstance(item, dict) and item:
                first, *others = self._plain_mapping(item, here, dash + 2)
                found += [Line(" " * dash + "- " + first.text.lstrip(" "), first.path), *others]
            else:
                found.append(Line(f"{' ' * dash}- {self._scalar(item)}{self._after()}", here))
        return found

    def _plain_mapping(self, value: dict[str, Any], path: Path, indent: int) -> list[Line]:
        kept, self._with_comments = self._with_comments, False
        try:
            return self._mapping(value, path, indent)
        finally:
            self._with_comments = kept

    def _scalar(self, value: Any) -> str:
        if isinstance(value, str) and value.isalpha() and value.lower() not in ("true", "false", "null", "on", "off"):
            return self._chance.choice((value, f"'{value}'", f'"{value}"'))
        return json.dumps(value, ensure_ascii=False)

    def _after(self) -> str:
        return f"  {self._comment()}" if self._maybe(5) else ""

    def _comment(self) -> str:
        self._comments += 1
        return f"# note {self._comments}: mine"

    def _maybe(self, one_in: int) -> bool:
        return self._with_comments and self._chance.randrange(one_in) == 0


def _key(key: str) -> str:
    return key if key.isidentifier() else json.dumps(key, ensure_ascii=False)
