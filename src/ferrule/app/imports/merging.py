"""Merges three versions of a definition file: what was imported last, what its user made of it, what is imported now.

A change of one side counts. Front matter is compared key by key, lists as wholes (unless they are lists of as many
mappings), the Markdown body line by line.
"""

from __future__ import annotations

from collections.abc import Iterator
from copy import deepcopy
from difflib import SequenceMatcher
from typing import Any, Literal, NamedTuple

from ferrule.app.imports.rewording import Change, Tangled, reworded
from ferrule.app.imports.sheet import Sheet, is_same, sheet_of
from ferrule.model.value import MISSING, Path

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


BODY: Path = ()
"""The path of a conflict about the Markdown, or about a file as a whole."""


class Conflict(NamedTuple):
    """Something that both sides changed differently since the last import."""

    path: Path
    line: int
    """In the user's file."""
    base: Any
    """What was imported; MISSING when there was nothing, or something was taken away."""
    mine: Any
    theirs: Any
    why: str = ""
    """What stands in the way when it is not the values themselves."""


class Merged(NamedTuple):
    """One file."""

    text: str | None
    """What to write; None for a file that its user took away."""
    conflicts: tuple[Conflict, ...] = ()
    """The user's side stands in the text, unless the other one was preferred."""
    kept: tuple[Path, ...] = ()
    """What the user changed, and upstream did not."""
    taken: tuple[Path, ...] = ()
    """What upstream changed, and the user did not."""


class _Found(NamedTuple):
    conflicts: list[Conflict]
    kept: list[Path]
    changes: list[Change]


def merged(base: str | None, mine: str | None, theirs: str, prefer: Prefer = "mine") -> Merged:
    """The user's file with what changed upstream. Conflicts are always told; `prefer` says which side stands in the text."""
    if mine is None:
        return Merged(theirs if base is None else None)
    if theirs in (mine, base):
        return Merged(mine)
    if mine == base:
        return Merged(theirs)
    sheets = [sheet_of(text) for text in (base if base is not None else "---\n{}\n---\n", mine, theirs)]
    old, own, new = sheets
    if old is None or own is None or new is None:
        text = mine if prefer == "mine" else theirs
        return Merged(text, (Conflict(BODY, 1, MISSING, MISSING, MISSING, _unreadable(sheets)),))
    return _joined(old, own, new, prefer)


def _unreadable(sheets: list[Sheet | None]) -> str:
    if sheets[1] is None:
        return "your file cannot be read as a definition, so nothing can be put into it; see 'ferrule check'"
    return "what is imported cannot be compared key by key; take it whole, or keep yours"


def _joined(base: Sheet, mine: Sheet, theirs: Sheet, prefer: Prefer) -> Merged:
    found = _Found([], [], [])
    _compare(base.value, mine.value, theirs.value, (), found, prefer)
    placed = [conflict._replace(line=mine.line_of(conflict.path)) for conflict in found.conflicts]
    body = joined(base.body, mine.body, theirs.body, prefer)
    first = mine.body_line()
    placed += [
        Conflict(BODY, first + clash.line - 1, MISSING, clash.mine, clash.theirs, "the Markdown below the fields")
        for clash in body.clashes
    ]
    changes = found.changes
    text = _written(mine, theirs, changes, body.text)
    if text is None:
        # One value that cannot be put in its place must not take the others with it.
        possible = list(_possible(mine, theirs, changes, body.text))
        placed += [
            Conflict(
                one.path, mine.line_of(one.path), MISSING, MISSING, one.value, "its lines cannot be changed one by one"
            )
            for one in changes
            if one not in possible
        ]
        changes = possible
        text = _written(mine, theirs, changes, body.text) or mine.bom + mine.text
    return Merged(text, tuple(placed), tuple(found.kept), tuple(change.path for change in changes))


def _compare(base: Any, mine: Any, theirs: Any, path: Path, found: _Found, prefer: Prefer) -> None:
    for key in _steps(base, mine, theirs):
        old, own, new = (_at(side, key) for side in (base, mine, theirs))
        here = (*path, key)
        if is_same(old, new):
            if not is_same(old, own):
                found.kept.append(here)
        elif is_same(own, new):
            continue
        elif _go_together(old, own, new):
            before = len(found.changes)
            _compare({} if old is MISSING else old, own, new, here, found, prefer)
            _collapse_empty(own, here, found, before)
        elif is_same(old, own):
            found.changes.append(Change(here, new))
        else:
            found.conflicts.append(Conflict(here, 0, old, own, new))
            if prefer == "theirs":
                found.changes.append(Change(here, new))


def _steps(base: Any, mine: Any, theirs: Any) -> Iterator[str | int]:
    if isinstance(mine, list):
        yield from range(len(mine))
    else:
        yield from dict.fromkeys([*theirs, *base, *mine])


def _at(side: Any, step: str | int) -> Any:
    if isinstance(side, list):
        return side[step]  # type: ignore[index]  # lists are compared by numbers
    return side.get(step, MISSING)


def _go_together(base: Any, mine: Any, theirs: Any) -> bool:
    """True when three values are compared by their parts: mappings, and lists of as many mappings."""
    if isinstance(mine, dict) and isinstance(theirs, dict):
        return base is MISSING or (isinstance(base, dict) and bool(mine or base))
    if not (isinstance(base, list) and isinstance(mine, list) and isinstance(theirs, list)):
        return False
    return len(base) == len(mine) == len(theirs) and all(isinstance(item, dict) for item in (*base, *mine, *theirs))


def _collapse_empty(mine: Any, path: Path, found: _Found, since: int) -> None:
    """A mapping that loses its last key is written as `{}`, not as nothing."""
    if isinstance(mine, dict) and mine:
        left = dict(mine)
        for change in found.changes[since:]:
            if len(change.path) == len(path) + 1 and change.value is MISSING:
                left.pop(change.path[-1], None)
            elif len(change.path) > len(path):
                return
        if not left:
            found.changes[since:] = [Change(path, {})]


def _written(mine: Sheet, theirs: Sheet, changes: list[Change], body: str) -> str | None:
    """The user's text with changes; None when it does not read back as it should."""
    wanted = _changed(mine.value, changes)
    try:
        text = reworded(mine, changes, theirs, wanted) if changes else mine.text
    except Tangled:
        return None
    whole = mine.bom + text[: len(text) - len(mine.body)] + _with_breaks(body, mine)
    back = sheet_of(whole)
    is_right = back is not None and is_same(back.value, wanted) and back.body == _with_breaks(body, mine)
    return whole if is_right else None


def _with_breaks(body: str, mine: Sheet) -> str:
    """Lines that come from upstream end as the user's do."""
    if mine.manuscript.newline == "\r\n" and body != mine.body:
        return body.replace("\r\n", "\n").replace("\n", "\r\n")
    return body


def _possible(mine: Sheet, theirs: Sheet, changes: list[Change], body: str) -> Iterator[Change]:
    """The changes that can be made, each for itself and with those before it."""
    made: list[Change] = []
    for change in changes:
        if _written(mine, theirs, [*made, change], body) is not None:
            made.append(change)
            yield change


def _changed(value: dict[str, Any], changes: list[Change]) -> dict[str, Any]:
    """What a value is after changes."""
    whole: Any = deepcopy(value)
    for path, new in changes:
        inner = whole
        for step in path[:-1]:
            inner = inner[step]
        if new is MISSING:
            del inner[path[-1]]
        else:
            inner[path[-1]] = deepcopy(new)
    return whole  # type: ignore[no-any-return]
