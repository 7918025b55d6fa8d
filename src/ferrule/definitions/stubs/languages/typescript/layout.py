"""Where lines break: documents of text, groups and possible breaks, laid out as Prettier lays them out.

A group is written on one line if it fits with what follows it up to the next place where a line may break; else all of its own
breaks are taken. Only what the stubs need is here.
"""

from __future__ import annotations

import unicodedata
from collections.abc import Iterable, Sequence
from typing import NamedTuple

WIDTH = 80


class Line(NamedTuple):
    """Where a line may break; otherwise a space or nothing is written."""

    flat: str


class Group(NamedTuple):
    """On one line if that fits."""

    inside: Doc
    is_broken: bool = False
    """Its breaks are taken whatever fits."""


class Indent(NamedTuple):
    """Lines that begin inside begin further right."""

    inside: Doc


class IfBroken(NamedTuple):
    """What is only written where the group around it is broken."""

    inside: Doc


class After(NamedTuple):
    """What follows a `=`: on the same line as far as it fits, else on the next one."""

    inside: Doc


Doc = str | Line | Group | Indent | IfBroken | After | Sequence["Doc"]

LINE, SOFT = Line(" "), Line("")


def joined(parts: Iterable[Doc], separator: Doc) -> list[Doc]:
    """Documents with something between them."""
    found: list[Doc] = []
    for part in parts:
        if found:
            found.append(separator)
        found.append(part)
    return found


def listed(opening: str, parts: Sequence[Doc], closing: str, *, is_broken: bool = False) -> Doc:
    """Parts between brackets: on one line, or a line each with a comma after the last."""
    if not parts:
        return opening + closing
    inside: list[Doc] = [SOFT, *joined(parts, [",", LINE]), IfBroken(",")]
    return Group([opening, Indent(inside), SOFT, closing], is_broken)


def laid_out(doc: Doc, *, indent: int = 0, width: int = WIDTH) -> str:
    """The text of a document that begins at the left of a line, `indent` columns in."""
    out: list[str] = [" " * indent]
    column = indent
    todo: list[_Task] = [_Task(indent, True, doc)]
    while todo:
        at, is_broken, part = todo.pop()
        match part:
            case str():
                out.append(part)
                column += columns(part)
            case Line():
                if is_broken:
                    _trim(out)
                    out.append("\n" + " " * at)
                    column = at
                else:
                    out.append(part.flat)
                    column += len(part.flat)
            case Indent():
                todo.append(_Task(at + 2, is_broken, part.inside))
            case IfBroken():
                if is_broken:
                    todo.append(_Task(at, True, part.inside))
            case Group():
                breaks = part.is_broken or not (
                    not is_broken or _fits(_Task(at, False, part.inside), todo, width - column)
                )
                todo.append(_Task(at, breaks, part.inside))
            case After():
                space, rest = _Task(at, False, " "), _Task(at, is_broken, part.inside)
                if not is_broken or _fits(space, [*todo, rest], width - column):
                    todo += [rest, space]
                else:
                    todo += [_Task(at + 2, True, part.inside), _Task(at + 2, True, LINE)]
            case _:
                todo += [_Task(at, is_broken, each) for each in reversed(part)]
    return "".join(out)


class _Task(NamedTuple):
    """Something to write: how far in, and whether its breaks are taken."""

    indent: int
    is_broken: bool
    doc: Doc


def _fits(first: _Task, rest: list[_Task], room: int) -> bool:
    """Whether it fits with what follows, up to the first break that may be taken there."""
    todo = [first]
    following = len(rest)
    while room >= 0:
        if not todo:
            if following == 0:
                return True
            following -= 1
            todo.append(rest[following])
        at, is_broken, part = todo.pop()
        match part:
            case str():
                room -= columns(part)
            case Line():
                if is_broken:
                    return True
                room -= len(part.flat)
            case Indent():
                todo.append(_Task(at, is_broken, part.inside))
            case IfBroken():
                if is_broken:
                    todo.append(_Task(at, True, part.inside))
            case Group():
                todo.append(_Task(at, part.is_broken or is_broken, part.inside))
            case After():
                todo += [_Task(at, is_broken, part.inside), _Task(at, is_broken, LINE)]
            case _:
                todo += [_Task(at, is_broken, each) for each in reversed(part)]
    return False


def _trim(out: list[str]) -> None:
    while out and not (kept := out[-1].rstrip(" ")):
        out.pop()
    if out:
        out[-1] = kept


def columns(text: str) -> int:
    """How many columns a text takes: letters of East Asia take two."""
    if text.isascii():
        return len(text)
    return len(text) + sum(_width(one) - 1 for one in text if one > "~")


def _width(one: str) -> int:
    if unicodedata.combining(one):
        return 0
    return 2 if unicodedata.east_asian_width(one) in "WF" else 1
