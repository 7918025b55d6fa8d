"""Tells what a rule's check wants of a call in terms that can be looked up: a value, a beginning, an ending, a range.

A clue is necessary, not sufficient: a call without it cannot fit the check, a call with it may. The other half of each
clue is the text that a value is looked up by; both are written side by side here. Stands above the matchers and below
`index.py`, which files rules by their clues.
"""

from __future__ import annotations

import math
import re
from collections.abc import Callable, Iterable
from typing import Any, Literal, NamedTuple

from ferrule.runtime.policy.commands import beginnings_of, words_of
from ferrule.runtime.policy.conditions import LISTS, NUMBERS, SCALARS
from ferrule.runtime.policy.globs import is_literal
from ferrule.runtime.policy.indexing.lookups import Fragments, Range
from ferrule.runtime.policy.paths import Base, parts_of_glob, parts_of_path, readings
from ferrule.runtime.policy.records import Condition, Values
from ferrule.runtime.policy.urls import pattern_parts, reading_of
from ferrule.runtime.policy.view import Kind

Table = Literal["value", "beginning", "ending", "fragment", "pattern", "range"]
_FIRST = re.compile(r"[*?\[]")
_LAST = re.compile(r"[*?\[\]]")
_LITERAL = re.compile(r"[A-Za-z0-9_/:@ -]*")
"""Characters that mean themselves in a regular expression, wherever they stand outside brackets."""
_REPEATS = ("?", "*", "+", "{")


class Column(NamedTuple):
    """The part of a call that a check looks at."""

    kind: Kind | None
    """None for the argument of a condition."""
    names: tuple[str, ...]
    """The steps to that argument; for a kind the names of arguments that the rule gives, if any."""
    is_strict: bool = False
    """True where an allow reads values otherwise than a deny does."""


class Entry(NamedTuple):
    """One key in one table of a column."""

    table: Table
    key: Any


class Clue(NamedTuple):
    """The entries by which a check can be found."""

    column: Column
    choices: tuple[tuple[Entry, ...], ...]
    """Of each choice one entry is enough to file; a rule has to be filed once for every choice."""


class Ends(NamedTuple):
    """The texts that a value is looked up by."""

    beginning: str
    ending: str


def column_of(about: Condition | Values, kind: Kind | None, *, is_strict: bool) -> Column:
    """Returns the part of a call that a check is about."""
    if isinstance(about, Condition):
        return Column(None, about.path)
    return Column(kind, about.fields, is_strict and kind in ("path", "command"))


def clue_of(about: Condition | Values, column: Column, base: Base) -> Clue | None:
    """Returns what a check wants; None when nothing of it can be looked up."""
    if isinstance(about, Condition):
        choices = tuple(_condition_choices(about))
    else:
        choices = tuple(_pattern_choices(about.patterns, column, base))
    return Clue(column, choices) if choices and all(choices) else None


def may_fail(about: Condition | Values) -> bool:
    """True when a check may raise although every value it meets is plain JSON that its column could read.

    Only nested operands do: comparing them with a value that is nested as deeply may exceed the stack.
    """
    if not isinstance(about, Condition):
        return False
    operands = about.operand if about.operator in LISTS else (about.operand,)
    return any(operand.__class__ not in SCALARS for operand in operands)


def _condition_choices(condition: Condition) -> Iterable[tuple[Entry, ...]]:
    operator, operand = condition.operator, condition.operand
    if operator in NUMBERS:
        bounds = _range(operator, operand)
        return ((Entry("range", bounds),) if bounds is not None else (),)
    operands = operand if operator in LISTS else (operand,)
    if any(each.__class__ not in SCALARS for each in operands):
        return ()
    match operator:
        case "equals" | "in":
            return ((Entry("value", value_key(each)),) for each in operands)
        case "starts_with":
            return ((Entry("beginning", operand),),)
        case "contains":
            return (tuple(Entry("fragment", fragment) for fragment in Fragments.cut(operand)),)
        case "matches":
            beginning = literal_beginning(operand)
            return ((Entry("pattern", beginning),) if beginning else (),)
    return ()


def value_key(value: Any) -> Any:
    """Returns a key by which equal values are found. Python takes true for 1, and JSON does not."""
    return (value,) if value.__class__ is bool else value


def _range(operator: str, operand: Any) -> Range | None:
    if operand.__class__ not in (int, float) or operand != operand:
        return None
    # Bounds count as included, also where they are not: the check itself looks at the value again.
    return Range(operand, math.inf) if operator in ("above", "at_least") else Range(-math.inf, operand)


def literal_beginning(pattern: str) -> str:
    """Returns what every text that a regular expression matches begins with; empty when that is not plain to see."""
    found = _LITERAL.match(pattern)
    assert found is not None
    text = found[0]
    if "|" in pattern:
        return ""
    return text[:-1] if pattern[len(text) : len(text) + 1] in _REPEATS else text


def _pattern_choices(patterns: tuple[str, ...], column: Column, base: Base) -> Iterable[tuple[Entry, ...]]:
    is_strict = column.is_strict
    match column.kind:
        case "path":
            globs = (parts for pattern in patterns for parts in parts_of_glob(pattern, base, is_strict=is_strict))
            return (_entries(_beginning(parts, "/", "**"), _ending(parts)) for parts in globs)
        case "command":
            return (_entries(_beginning(_called(words_of(pattern), is_strict), "\0", "*")) for pattern in patterns)
        case "url":
            return (_url_entries(pattern) for pattern in patterns)
        case _:
            return (_entries(_before(pattern), _after(pattern)) for pattern in patterns)


def _entries(beginning: str, ending: str = "") -> tuple[Entry, ...]:
    entries = (Entry("beginning", beginning), Entry("ending", ending[::-1]))
    return tuple(entry for entry in entries if entry.key)


def _before(pattern: str) -> str:
    """The text of a glob before its first wildcard."""
    magic = _FIRST.search(pattern)
    return pattern if magic is None else pattern[: magic.start()]


def _after(pattern: str) -> str:
    """The text of a glob behind its last wildcard."""
    magic = _LAST.search(pattern[::-1])
    return pattern if magic is None else pattern[len(pattern) - magic.start() :]


def _beginning(parts: Iterable[str], separator: str, wildcard: str) -> str:
    """The text before the first wildcard, each part behind a separator. A part that is all wildcard may stand for none."""
    text = ""
    for part in parts:
        if part == wildcard:
            break
        text += separator + _before(part)
        if not is_literal(part):
            break
    return text


def _ending(parts: list[str]) -> str:
    text = ""
    for part in reversed(parts):
        if part == "**":
            break
        if not is_literal(part):
            return _after(part) + text
        text = f"/{part}{text}"
    return text


def _called(words: list[str], is_strict: bool) -> list[str]:
    return words if is_strict or not words else [words[0].casefold(), *words[1:]]


def _url_entries(pattern: str) -> tuple[Entry, ...]:
    host, path = pattern_parts(pattern)
    beginning = host + _beginning(path, "/", "**") if is_literal(host) else _before(host)
    return _entries(beginning, _after(host))


Reader = Callable[[Any], list[Ends] | None]
"""Gives the texts that a value is looked up by; None for a value that any pattern may fit."""


def reader_of(column: Column, base: Base) -> Reader:
    """Returns how the values of a column are read."""
    is_strict = column.is_strict
    match column.kind:
        case "path":
            return lambda value: _path_texts(value, base, is_strict)
        case "command":
            return lambda value: _command_texts(value, is_strict)
        case "url":
            return _url_texts
        case _:
            return lambda value: [Ends(str(value), str(value))] if value.__class__ in (str, int, bool) else None


def _path_texts(value: Any, base: Base, is_strict: bool) -> list[Ends] | None:
    if value.__class__ is not str:
        return None
    paths, is_certain = readings(value, base)
    if not is_certain:
        return None
    texts = ("".join(f"/{part}" for part in parts_of_path(path, is_strict=is_strict)) for path in paths)
    return [Ends(text, text) for text in texts]


def _command_texts(value: Any, is_strict: bool) -> list[Ends] | None:
    lines = beginnings_of(value, is_strict=is_strict)
    return None if lines is None else [Ends("".join(f"\0{word}" for word in words), "") for words in lines]


def _url_texts(value: Any) -> list[Ends] | None:
    reading = reading_of(value) if value.__class__ is str else None
    if reading is None or not reading.is_certain:
        return None
    return [
        Ends(address.host + "".join(f"/{part}" for part in address.path), address.host) for address in reading.addresses
    ]
