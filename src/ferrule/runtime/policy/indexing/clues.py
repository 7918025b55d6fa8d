"""Describes a rule's check in terms that can be looked up: a value, a beginning, an ending, a range.

A clue is necessary, not sufficient: a call without it cannot fit the check, a call with it may. The other half of
each clue is the text that a value is looked up by; both are written side by side here. Stands above the matchers and
below `index.py`, which files rules by their clues.
"""

from __future__ import annotations

import math
import re
from collections.abc import Callable, Iterable
from typing import Any, Literal, NamedTuple

from ferrule.runtime.policy.commands import list_beginnings, split_pattern
from ferrule.runtime.policy.conditions import LISTS, NUMBERS, SCALARS
from ferrule.runtime.policy.globs import is_literal
from ferrule.runtime.policy.indexing.lookups import Fragments, NumberRange
from ferrule.runtime.policy.paths import PathBase, read_path, split_glob, split_path
from ferrule.runtime.policy.records import Condition, ValuePatterns
from ferrule.runtime.policy.urls import read_url, split_url_pattern
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


class ClueEntry(NamedTuple):
    """One key in one table of a column."""

    table: Table
    key: Any


class Clue(NamedTuple):
    """The entries by which a check can be found."""

    column: Column
    choices: tuple[tuple[ClueEntry, ...], ...]
    """A rule is filed once for every choice, under one entry of it."""


class LookupTexts(NamedTuple):
    """The texts that a value is looked up by."""

    beginning: str
    ending: str


def find_column(about: Condition | ValuePatterns, kind: Kind | None, *, is_strict: bool) -> Column:
    """Returns the part of a call that a check is about."""
    if isinstance(about, Condition):
        return Column(None, about.path)
    return Column(kind, about.fields, is_strict and kind in ("path", "command"))


def find_clue(about: Condition | ValuePatterns, column: Column, base: PathBase) -> Clue | None:
    """Finds a clue for a check; None when nothing of it can be looked up."""
    if isinstance(about, Condition):
        choices = tuple(_list_condition_choices(about))
    else:
        choices = tuple(_list_pattern_choices(about.patterns, column, base))
    return Clue(column, choices) if choices and all(choices) else None


def may_fail(about: Condition | ValuePatterns) -> bool:
    """Returns True when a check may raise although every value it meets is plain JSON that its column could read.

    Only nested operands do: comparing them with a value that is nested as deeply may exceed the stack.
    """
    if not isinstance(about, Condition):
        return False
    operands = about.operand if about.operator in LISTS else (about.operand,)
    return any(operand.__class__ not in SCALARS for operand in operands)


def _list_condition_choices(condition: Condition) -> Iterable[tuple[ClueEntry, ...]]:
    operator, operand = condition.operator, condition.operand
    if operator in NUMBERS:
        bounds = _make_range(operator, operand)
        return ((ClueEntry("range", bounds),) if bounds is not None else (),)
    operands = operand if operator in LISTS else (operand,)
    if any(each.__class__ not in SCALARS for each in operands):
        return ()
    match operator:
        case "equals" | "in":
            return ((ClueEntry("value", make_value_key(each)),) for each in operands)
        case "starts_with":
            return ((ClueEntry("beginning", operand),),)
        case "contains":
            return (tuple(ClueEntry("fragment", fragment) for fragment in Fragments.cut(operand)),)
        case "matches":
            beginning = find_literal_beginning(operand)
            return ((ClueEntry("pattern", beginning),) if beginning else (),)
    return ()


def make_value_key(value: object) -> object:
    """Returns a key by which equal values are found. Python takes true for 1, and JSON does not."""
    return (value,) if value.__class__ is bool else value


def _make_range(operator: str, operand: object) -> NumberRange | None:
    if operand.__class__ not in (int, float) or operand != operand:
        return None
    # Bounds count as included, also where they are not: the check itself looks at the value again.
    return NumberRange(operand, math.inf) if operator in ("above", "at_least") else NumberRange(-math.inf, operand)


def find_literal_beginning(pattern: str) -> str:
    """Finds the beginning of every text that a regular expression matches; empty when that is not plain to see."""
    found = _LITERAL.match(pattern)
    assert found is not None
    text = found[0]
    if "|" in pattern:
        return ""
    # A repeat may stand for none of its character.
    return text[:-1] if pattern[len(text) : len(text) + 1] in _REPEATS else text


def _list_pattern_choices(patterns: tuple[str, ...], column: Column, base: PathBase) -> Iterable[tuple[ClueEntry, ...]]:
    is_strict = column.is_strict
    match column.kind:
        case "path":
            globs = (parts for pattern in patterns for parts in split_glob(pattern, base, is_strict=is_strict))
            return (_make_entries(_find_beginning(parts, "/", "**"), _find_ending(parts)) for parts in globs)
        case "command":
            return (
                _make_entries(_find_beginning(_fold_program(split_pattern(pattern), is_strict), "\0", "*"))
                for pattern in patterns
            )
        case "url":
            return (_make_url_entries(pattern) for pattern in patterns)
        case _:
            return (_make_entries(_cut_before_wildcard(pattern), _cut_after_wildcard(pattern)) for pattern in patterns)


def _make_entries(beginning: str, ending: str = "") -> tuple[ClueEntry, ...]:
    # Endings are filed reversed, and texts are looked up reversed, so that one kind of table serves both.
    entries = (ClueEntry("beginning", beginning), ClueEntry("ending", ending[::-1]))
    return tuple(entry for entry in entries if entry.key)


def _cut_before_wildcard(pattern: str) -> str:
    """Returns the text of a glob before its first wildcard."""
    magic = _FIRST.search(pattern)
    return pattern if magic is None else pattern[: magic.start()]


def _cut_after_wildcard(pattern: str) -> str:
    """Returns the text of a glob behind its last wildcard."""
    magic = _LAST.search(pattern[::-1])
    return pattern if magic is None else pattern[len(pattern) - magic.start() :]


def _find_beginning(parts: Iterable[str], separator: str, wildcard: str) -> str:
    """Returns the text before the first wildcard, each part behind a separator. A part that is all wildcard may stand
    for none."""
    text = ""
    for part in parts:
        if part == wildcard:
            break
        text += separator + _cut_before_wildcard(part)
        if not is_literal(part):
            break
    return text


def _find_ending(parts: list[str]) -> str:
    text = ""
    for part in reversed(parts):
        if part == "**":
            break
        if not is_literal(part):
            return _cut_after_wildcard(part) + text
        text = f"/{part}{text}"
    return text


def _fold_program(words: list[str], is_strict: bool) -> list[str]:
    return words if is_strict or not words else [words[0].casefold(), *words[1:]]


def _make_url_entries(pattern: str) -> tuple[ClueEntry, ...]:
    host, path = split_url_pattern(pattern)
    beginning = host + _find_beginning(path, "/", "**") if is_literal(host) else _cut_before_wildcard(host)
    return _make_entries(beginning, _cut_after_wildcard(host))


TextReader = Callable[[Any], list[LookupTexts] | None]
"""Gives the texts that a value is looked up by; None for a value that any pattern may fit."""


def make_reader(column: Column, base: PathBase) -> TextReader:
    """Returns how the values of a column are read."""
    is_strict = column.is_strict
    match column.kind:
        case "path":
            return lambda value: _read_path_texts(value, base, is_strict)
        case "command":
            return lambda value: _read_command_texts(value, is_strict)
        case "url":
            return _read_url_texts
        case _:
            return lambda value: [LookupTexts(str(value), str(value))] if value.__class__ in (str, int, bool) else None


def _read_path_texts(value: object, base: PathBase, is_strict: bool) -> list[LookupTexts] | None:
    if value.__class__ is not str:
        return None
    paths, is_certain = read_path(value, base)
    if not is_certain:
        return None
    texts = ("".join(f"/{part}" for part in split_path(path, is_strict=is_strict)) for path in paths)
    return [LookupTexts(text, text) for text in texts]


def _read_command_texts(value: object, is_strict: bool) -> list[LookupTexts] | None:
    lines = list_beginnings(value, is_strict=is_strict)
    return None if lines is None else [LookupTexts("".join(f"\0{word}" for word in words), "") for words in lines]


def _read_url_texts(value: object) -> list[LookupTexts] | None:
    reading = read_url(value) if value.__class__ is str else None
    if reading is None or not reading.is_certain:
        return None
    return [
        LookupTexts(address.host + "".join(f"/{part}" for part in address.path), address.host)
        for address in reading.addresses
    ]
