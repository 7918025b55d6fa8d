"""Three versions of a text joined line by line: what either side changed, unless both changed the same lines differently."""

from __future__ import annotations

from collections.abc import Iterator
from difflib import SequenceMatcher
from typing import Literal, NamedTuple

Prefer = Literal["mine", "theirs"]
_MOST_LINES = 1_000
"""Longer texts are taken or kept whole: comparing lines takes time that grows with their square."""


class Clash(NamedTuple):
    """Lines that both sides changed differently."""

    line: int
    """Where the user's begin, from 1."""
    mine: str
    theirs: str


class Joined(NamedTuple):
    """One text of three."""

    text: str
    clashes: tuple[Clash, ...]


class _Stretch(NamedTuple):
    """Lines of the base and what each side has in their place."""

    base: list[str]
    mine: list[str]
    theirs: list[str]


def joined(base: str, mine: str, theirs: str, prefer: Prefer = "mine") -> Joined:
    """The text with the changes of both sides. Where they clash, the preferred side's lines stand, and it is told."""
    if mine == theirs or base == theirs:
        return Joined(mine, ())
    if base == mine:
        return Joined(theirs, ())
    sides = [text.splitlines(keepends=True) for text in (base, mine, theirs)]
    if max(map(len, sides)) > _MOST_LINES:
        return Joined(mine if prefer == "mine" else theirs, (Clash(1, mine, theirs),))
    lines: list[str] = []
    clashes: list[Clash] = []
    at = 1
    for stretch in _stretches(*sides):
        if stretch.mine == stretch.theirs or stretch.base == stretch.theirs:
            lines += stretch.mine
        elif stretch.base == stretch.mine:
            lines += stretch.theirs
        else:
            clashes.append(Clash(at, "".join(stretch.mine), "".join(stretch.theirs)))
            lines += stretch.mine if prefer == "mine" else stretch.theirs
        at += len(stretch.mine)
    return Joined("".join(lines), tuple(clashes))


def _stretches(base: list[str], mine: list[str], theirs: list[str]) -> Iterator[_Stretch]:
    """The three texts cut where all of them have the same lines."""
    at = [0, 0, 0]
    for start, in_mine, in_theirs, size in _common(base, mine, theirs):
        if at != [start, in_mine, in_theirs]:
            yield _Stretch(base[at[0] : start], mine[at[1] : in_mine], theirs[at[2] : in_theirs])
        same = base[start : start + size]
        if same:
            yield _Stretch(same, same, same)
        at = [start + size, in_mine + size, in_theirs + size]


def _common(base: list[str], mine: list[str], theirs: list[str]) -> Iterator[tuple[int, int, int, int]]:
    """Runs of lines of the base that both others have: where they are in each, and how many; the end of all three last."""
    one = _kept(base, mine)
    other = _kept(base, theirs)
    number = 0
    while number < len(base):
        if number in one and number in other:
            size = 1
            while one.get(number + size) == one[number] + size and other.get(number + size) == other[number] + size:
                size += 1
            yield number, one[number], other[number], size
            number += size
        else:
            number += 1
    yield len(base), len(mine), len(theirs), 0


def _kept(base: list[str], side: list[str]) -> dict[int, int]:
    """Lines of the base that a side still has: from its number there to its number here."""
    blocks = SequenceMatcher(None, base, side, autojunk=False).get_matching_blocks()
    return {block.a + step: block.b + step for block in blocks for step in range(block.size)}
