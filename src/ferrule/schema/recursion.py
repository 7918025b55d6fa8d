"""Which referenced schemas contain themselves, found once for all that a reference reaches."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from ferrule.schema.references import Broken, References

_DATA = frozenset({"example", "examples", "default", "enum", "const"})


def refs_in(schema: Any) -> Iterator[str]:
    """Every reference that a schema holds, those of a discriminator's mapping too."""
    stack = [schema]
    while stack:
        node = stack.pop()
        if isinstance(node, dict):
            ref = node.get("$ref")
            if isinstance(ref, str):
                yield ref
            for key, member in node.items():
                if key not in _DATA and isinstance(member, dict | list):
                    stack.append(member)
            mapping = node.get("mapping")
            if "propertyName" in node and isinstance(mapping, dict):
                yield from (each for each in mapping.values() if isinstance(each, str) and "/" in each)
        elif isinstance(node, list):
            stack += [item for item in node if isinstance(item, dict | list)]


class Circles:
    """Tells recursive schemas from others (Tarjan, without recursion of its own)."""

    def __init__(self, references: References) -> None:
        self._references = references
        self._number: dict[str, int] = {}
        self._lowest: dict[str, int] = {}
        self._open: list[str] = []
        self._is_open: set[str] = set()
        self._recursive: set[str] = set()

    def __contains__(self, key: str) -> bool:
        if key not in self._number:
            self._search(key)
        return key in self._recursive

    def _search(self, start: str) -> None:
        stack: list[tuple[str, Iterator[str]]] = [(start, self._next_of(start))]
        while stack:
            key, following = stack[-1]
            for after in following:
                if after not in self._number:
                    stack.append((after, self._next_of(after)))
                    break
                if after in self._is_open:
                    self._lowest[key] = min(self._lowest[key], self._number[after])
                    if after == key:
                        self._recursive.add(key)
            else:
                stack.pop()
                if stack:
                    around = stack[-1][0]
                    self._lowest[around] = min(self._lowest[around], self._lowest[key])
                if self._lowest[key] == self._number[key]:
                    self._close(key)

    def _next_of(self, key: str) -> Iterator[str]:
        """Enters a node, and gives those it leads to."""
        self._number[key] = self._lowest[key] = len(self._number)
        self._open.append(key)
        self._is_open.add(key)
        found: dict[str, None] = {}
        try:
            value = self._references.follow(key, ()).value
        except Broken:
            return iter(())
        for ref in refs_in(value):
            try:
                found[self._references.follow(ref, ()).key] = None
            except Broken:
                continue
        return iter(found)

    def _close(self, key: str) -> None:
        members = []
        while True:
            member = self._open.pop()
            self._is_open.discard(member)
            members.append(member)
            if member == key:
                break
        if len(members) > 1:
            self._recursive.update(members)
