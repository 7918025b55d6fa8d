"""Merges three versions of a definition file: the last import, the user's version, and the new import.

A change of one side counts. Front matter is compared key by key, lists as a unit (unless they are lists of equally many
mappings), the Markdown body line by line.
"""

from __future__ import annotations

from collections.abc import Iterator
from copy import deepcopy
from difflib import SequenceMatcher
from typing import Any, Literal, NamedTuple

from ferrule.app.imports.sheet import Sheet, is_same, parse_sheet
from ferrule.app.imports.value_edits import Tangled, ValueChange, apply_changes
from ferrule.model.value import MISSING, JsonObject, Path

Prefer = Literal["mine", "theirs"]
_MOST_LINES = 1_000
"""Longer texts are not merged line by line: the time for that grows with the square of the number of lines."""


class LineConflict(NamedTuple):
    """Lines that both sides changed differently."""

    line: int
    """Where the user's begin, from 1."""
    mine: str
    theirs: str


class MergedText(NamedTuple):
    """A text merged line by line."""

    text: str
    clashes: tuple[LineConflict, ...]


class _Stretch(NamedTuple):
    """Lines of the base and the lines of each side in their place."""

    base: list[str]
    mine: list[str]
    theirs: list[str]


def merge_texts(base: str, mine: str, theirs: str, prefer: Prefer = "mine") -> MergedText:
    """Merges two changed texts line by line. Conflicting lines come from the preferred side, and are reported."""
    if mine == theirs or base == theirs:
        return MergedText(mine, ())
    if base == mine:
        return MergedText(theirs, ())
    sides = [text.splitlines(keepends=True) for text in (base, mine, theirs)]
    if max(map(len, sides)) > _MOST_LINES:
        return MergedText(mine if prefer == "mine" else theirs, (LineConflict(1, mine, theirs),))
    lines: list[str] = []
    clashes: list[LineConflict] = []
    at = 1
    for stretch in _split_stretches(*sides):
        if stretch.mine == stretch.theirs or stretch.base == stretch.theirs:
            lines += stretch.mine
        elif stretch.base == stretch.mine:
            lines += stretch.theirs
        else:
            clashes.append(LineConflict(at, "".join(stretch.mine), "".join(stretch.theirs)))
            lines += stretch.mine if prefer == "mine" else stretch.theirs
        at += len(stretch.mine)
    return MergedText("".join(lines), tuple(clashes))


def _split_stretches(base: list[str], mine: list[str], theirs: list[str]) -> Iterator[_Stretch]:
    """Splits three texts where all of them have the same lines."""
    at = [0, 0, 0]
    for start, in_mine, in_theirs, size in _match_runs(base, mine, theirs):
        if at != [start, in_mine, in_theirs]:
            yield _Stretch(base[at[0] : start], mine[at[1] : in_mine], theirs[at[2] : in_theirs])
        same = base[start : start + size]
        if same:
            yield _Stretch(same, same, same)
        at = [start + size, in_mine + size, in_theirs + size]


def _match_runs(base: list[str], mine: list[str], theirs: list[str]) -> Iterator[tuple[int, int, int, int]]:
    """Yields runs of lines that all three share: their positions and their length. The ends of the texts come last."""
    one = _match_lines(base, mine)
    other = _match_lines(base, theirs)
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


def _match_lines(base: list[str], side: list[str]) -> dict[int, int]:
    """Returns the lines of the base that a side still has: base line number to the side's line number."""
    # With `autojunk`, lines that occur often in a long text would match nothing.
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
    """The imported value; MISSING when there was none, or when it was removed."""
    mine: Any
    theirs: Any
    why: str = ""
    """The obstacle, when it is not the values themselves."""


class MergedFile(NamedTuple):
    """One merged file."""

    text: str | None
    """The text to write; None for a file that its user deleted."""
    conflicts: tuple[Conflict, ...] = ()
    """The text has the user's side, unless the other one was preferred."""
    kept: tuple[Path, ...] = ()
    """Changes of the user alone."""
    taken: tuple[Path, ...] = ()
    """Changes from upstream alone."""


class _Comparison(NamedTuple):
    conflicts: list[Conflict]
    kept: list[Path]
    changes: list[ValueChange]


def merge_file(base: str | None, mine: str | None, theirs: str, prefer: Prefer = "mine") -> MergedFile:
    """Merges upstream changes into the user's file. Conflicts are always reported; `prefer`: the side whose value is written."""
    if mine is None:
        # Without a file, it is either new or was deleted by the user.
        return MergedFile(theirs if base is None else None)
    if theirs in (mine, base):
        return MergedFile(mine)
    if mine == base:
        return MergedFile(theirs)
    # Without a base, every key is new on both sides, so differing values conflict.
    sheets = [parse_sheet(text) for text in (base if base is not None else "---\n{}\n---\n", mine, theirs)]
    old, own, new = sheets
    if old is None or own is None or new is None:
        text = mine if prefer == "mine" else theirs
        return MergedFile(text, (Conflict(BODY, 1, MISSING, MISSING, MISSING, _explain_unreadable(sheets)),))
    return _merge_sheets(old, own, new, prefer)


def _explain_unreadable(sheets: list[Sheet | None]) -> str:
    if sheets[1] is None:
        return "your file cannot be read as a definition, so it cannot be merged; see 'ferrule check'"
    return "the imported file cannot be compared key by key; use --theirs or --mine for the entire file"


def _merge_sheets(base: Sheet, mine: Sheet, theirs: Sheet, prefer: Prefer) -> MergedFile:
    found = _Comparison([], [], [])
    _compare_values(base.value, mine.value, theirs.value, (), found, prefer)
    placed = [conflict._replace(line=mine.line_of(conflict.path)) for conflict in found.conflicts]
    body = merge_texts(base.body, mine.body, theirs.body, prefer)
    first = mine.body_line()
    placed += [
        Conflict(BODY, first + clash.line - 1, MISSING, clash.mine, clash.theirs, "the Markdown below the fields")
        for clash in body.clashes
    ]
    changes = found.changes
    text = _rewrite_text(mine, theirs, changes, body.text)
    if text is None:
        # One value that cannot be put in its place must not take the others with it.
        possible = list(_list_possible(mine, theirs, changes, body.text))
        placed += [
            Conflict(
                one.path, mine.line_of(one.path), MISSING, MISSING, one.value, "its lines cannot be changed one by one"
            )
            for one in changes
            if one not in possible
        ]
        changes = possible
        text = _rewrite_text(mine, theirs, changes, body.text) or mine.bom + mine.text
    return MergedFile(text, tuple(placed), tuple(found.kept), tuple(change.path for change in changes))


def _compare_values(base: object, mine: object, theirs: object, path: Path, found: _Comparison, prefer: Prefer) -> None:
    for key in _list_steps(base, mine, theirs):
        old, own, new = (_get_member(side, key) for side in (base, mine, theirs))
        here = (*path, key)
        if is_same(old, new):
            if not is_same(old, own):
                found.kept.append(here)
        elif is_same(own, new):
            continue
        elif _has_mergeable_members(old, own, new):
            before = len(found.changes)
            _compare_values({} if old is MISSING else old, own, new, here, found, prefer)
            _collapse_empty(own, here, found, before)
        elif is_same(old, own):
            found.changes.append(ValueChange(here, new))
        else:
            found.conflicts.append(Conflict(here, 0, old, own, new))
            if prefer == "theirs":
                found.changes.append(ValueChange(here, new))


def _list_steps(base: Any, mine: Any, theirs: Any) -> Iterator[str | int]:
    if isinstance(mine, list):
        yield from range(len(mine))
    else:
        yield from dict.fromkeys([*theirs, *base, *mine])


def _get_member(side: Any, step: str | int) -> Any:
    if isinstance(side, list):
        return side[step]  # type: ignore[index]  # lists are compared by numbers
    return side.get(step, MISSING)


def _has_mergeable_members(base: object, mine: object, theirs: object) -> bool:
    """Returns True for values to compare member by member: mappings, and lists of equally many mappings."""
    if isinstance(mine, dict) and isinstance(theirs, dict):
        return base is MISSING or (isinstance(base, dict) and bool(mine or base))
    if not (isinstance(base, list) and isinstance(mine, list) and isinstance(theirs, list)):
        return False
    return len(base) == len(mine) == len(theirs) and all(isinstance(item, dict) for item in (*base, *mine, *theirs))


def _collapse_empty(mine: object, path: Path, found: _Comparison, since: int) -> None:
    """Replaces the removal of a mapping's last keys by `{}`, so the mapping itself stays."""
    if isinstance(mine, dict) and mine:
        left = dict(mine)
        for change in found.changes[since:]:
            if len(change.path) == len(path) + 1 and change.value is MISSING:
                left.pop(change.path[-1], None)
            elif len(change.path) > len(path):
                return
        if not left:
            found.changes[since:] = [ValueChange(path, {})]


def _rewrite_text(mine: Sheet, theirs: Sheet, changes: list[ValueChange], body: str) -> str | None:
    """Returns the user's text with changes; None when it does not read back as intended."""
    wanted = _apply_to_value(mine.value, changes)
    try:
        text = apply_changes(mine, changes, theirs, wanted) if changes else mine.text
    except Tangled:
        return None
    whole = mine.bom + text[: len(text) - len(mine.body)] + _convert_line_breaks(body, mine)
    back = parse_sheet(whole)
    is_right = back is not None and is_same(back.value, wanted) and back.body == _convert_line_breaks(body, mine)
    return whole if is_right else None


def _convert_line_breaks(body: str, mine: Sheet) -> str:
    """Converts upstream lines to the line breaks of the user's file."""
    if mine.manuscript.newline == "\r\n" and body != mine.body:
        return body.replace("\r\n", "\n").replace("\n", "\r\n")
    return body


def _list_possible(mine: Sheet, theirs: Sheet, changes: list[ValueChange], body: str) -> Iterator[ValueChange]:
    """Yields the changes that can be made, each together with those before it."""
    made: list[ValueChange] = []
    for change in changes:
        if _rewrite_text(mine, theirs, [*made, change], body) is not None:
            made.append(change)
            yield change


def _apply_to_value(value: JsonObject, changes: list[ValueChange]) -> JsonObject:
    """Returns a copy of a value with changes applied."""
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
