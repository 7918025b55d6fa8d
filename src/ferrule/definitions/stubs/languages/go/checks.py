"""Writes `Validate` for types whose members have bounds, lengths or patterns: `if` statements and `regexp`.

It holds members to `minLength`, `maxLength`, `pattern`, `minimum`, `maximum`, their exclusive forms, `multipleOf` of integers,
`minItems`, `maxItems`, `minProperties` and `maxProperties` of maps, and goes down through all types that have such members.
Everything else is left to Ferrule. A pattern is checked only where it means the same to Go as to every other reader of it.
"""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from typing import NamedTuple, Protocol

from ferrule.contracts.type_tree import (
    Alias,
    Bound,
    Declaration,
    Integer,
    ListOf,
    MapOf,
    Member,
    Named,
    Nullable,
    Number,
    Record,
    Text,
    TupleOf,
    Type,
    Union,
)
from ferrule.definitions.stubs.languages.go.names import lowered
from ferrule.definitions.stubs.languages.go.text import quoted

_COUNTED = {"Length": "character", "Items": "item", "Properties": "member"}
_COMPARED = {
    "minimum": ("<", "at least"),
    "exclusiveMinimum": ("<=", "more than"),
    "maximum": (">", "at most"),
    "exclusiveMaximum": (">=", "less than"),
}
_LARGEST = 1e300
INT, UINT = range(-(2**63), 2**63), range(2**64)
_MOST_COPIES = 1000
"""Go takes no pattern that repeats something more often."""
_TOKEN = re.compile(
    r"(?P<plain>[^\\^$.|?*+()\[\]{}])|(?P<escaped>\\[dDwW]|\\[-/\\^$.|?*+()\[\]{}])|(?P<end>[\^$])"
    r"|(?P<class>\[\^?(?:[^\\\[\]^&~|-]|\\[dw]|\\[-/\\^$.|?*+()\[\]{}]|[A-Za-z0-9]-[A-Za-z0-9])+-?\])"
    r"|(?P<open>\((?:\?:)?)|(?P<close>\))|(?P<or>\|)|(?P<repeat>(?:[*+?]|\{\d{1,3}(?:,(?:\d{1,3})?)?\})\??)"
)


_RANGE = re.compile(r"(?<!\\\\)([A-Za-z0-9])-([A-Za-z0-9])")


class Field(Protocol):
    """A field of a struct."""

    @property
    def name(self) -> str:
        """In Go."""

    @property
    def go(self) -> str:
        """Its type."""

    @property
    def member(self) -> Member | None:
        """What it is for; None for the field of all other members and those of unions."""


class Types(Protocol):
    """A tree being written."""

    @property
    def declared(self) -> Mapping[str, Declaration]:
        """Its declarations by name."""

    @property
    def fields(self) -> Mapping[str, Sequence[Field]]:
        """The fields of records and unions by name."""

    @property
    def checked(self) -> frozenset[str]:
        """The declared types that have a `Validate`."""

    def given(self, wanted: str) -> str:
        """A name in the package that nobody else has."""


def checked_types(types: Types) -> frozenset[str]:
    """The declared types with something to check in them, however deep."""
    found = {
        name
        for name, fields in types.fields.items()
        if any(each.member is not None and _bounds("", each.member, [], types) for each in fields)
    }
    size = -1
    while size < len(found):
        size = len(found)
        found |= {name for name in types.declared if any(_leads(each, types, found) for each in _parts(name, types))}
    return frozenset(found)


def _parts(name: str, types: Types) -> list[Type]:
    """The types within a declared one that is a type of its own in Go."""
    match types.declared[name]:
        case Record():
            return [each.member.type for each in types.fields[name] if each.member is not None]
        case Union(variants=variants) if types.fields[name]:
            return [each.type for each in variants]
        case Alias(type=inner) if is_own(inner):
            return [inner]
        case _:
            return []


def _leads(type_: Type, types: Types, found: set[str] | frozenset[str]) -> bool:
    match type_:
        case Nullable(inner) | ListOf(inner) | MapOf(inner):
            return _leads(inner, types, found)
        case Named(name):
            through = _through(type_, types)
            return name in found if through is None else _leads(through, types, found)
        case _:
            return False


def _through(type_: Named, types: Types) -> Type | None:
    """What a name stands for that Go has as a mere alias; None for a type with methods of its own."""
    declared = types.declared[type_.name]
    return declared.type if isinstance(declared, Alias) and not is_own(declared.type) else None


def is_own(type_: Type) -> bool:
    """Whether another name of a type is a type of its own in Go."""
    return isinstance(_plain(type_), ListOf | MapOf | TupleOf)


def _plain(type_: Type) -> Type:
    return type_.inner if isinstance(type_, Nullable) else type_


def validate(declared: Declaration, types: Types) -> list[str]:
    """The `Validate` of a declared type, and the patterns it needs; nothing where it has nothing to check."""
    name = declared.name
    if name not in types.checked:
        return []
    patterns: list[str] = []
    lines: list[str] = []
    match declared:
        case Record():
            for field in types.fields[name]:
                if field.member is not None:
                    lines += _member(name, field, field.member, types, patterns)
        case Union(variants=variants):
            for field, variant in zip(types.fields[name], variants, strict=True):
                lines += _guarded(f"v.{field.name}", _inside(f"v.{field.name}", variant.type, Place(), types))
        case Alias():
            lines = _inside("v", declared.type, Place(), types)
    return [
        *patterns,
        f"// Validate checks bounds, lengths and patterns of {name}, and nothing else of its schema.",
        f"func (v {name}) Validate() error {{",
        *(f"\t{each}" for each in lines),
        "\treturn nil",
        "}",
        "",
    ]


def _member(owner: str, field: Field, member: Member, types: Types, patterns: list[str]) -> list[str]:
    is_optional = field.go.startswith("Optional[")
    value = f"v.{field.name}{'.Value' * is_optional}"
    is_pointer = is_optional or field.go.startswith("*")
    held = f"*{value}" if is_pointer else value
    type_ = _plain(member.type)
    is_bare = member.is_required and not isinstance(member.type, Nullable) and not is_pointer
    guard = "" if is_bare else f"{value} != nil && "
    lines: list[str] = []
    for check in _bounds(held, member, patterns, types, owner + field.name):
        problem = quoted(f"{member.name}: {check.words}")
        lines += [f"if {guard}{check.refused} {{", f"\treturn errors.New({problem})", "}"]
    direct = (
        value if isinstance(type_, Named) and _through(type_, types) is None else f"({held})" if is_pointer else held
    )
    inner = _inside(direct, type_, Place(member.name.replace("%", "%%")), types)
    return lines + (inner if is_bare else _guarded(value, inner))


def _guarded(value: str, lines: list[str]) -> list[str]:
    return [f"if {value} != nil {{", *(f"\t{each}" for each in lines), "}"] if lines else []


class Place(NamedTuple):
    """Where a value stands, for an error."""

    format: str = ""
    arguments: str = ""
    depth: int = 1


def _inside(value: str, type_: Type, place: Place, types: Types) -> list[str]:
    """What calls the `Validate` of all that is within a value."""
    if not _leads(type_, types, types.checked):
        return []
    at = "" if place.depth == 1 else str(place.depth)
    match type_:
        case Named():
            if (through := _through(type_, types)) is not None:
                return _inside(value, through, place, types)
            told = f"fmt.Errorf({quoted(place.format + ': %w')}{place.arguments}, err)" if place.format else "err"
            return [f"if err := {value}.Validate(); err != nil {{", f"\treturn {told}", "}"]
        case Nullable(inner):
            lines = _inside(value, inner, place, types)
            return lines if is_own(inner) else _guarded(value, lines)
        case ListOf(inner):
            below = Place(f"{place.format}[%d]", f"{place.arguments}, i{at}", place.depth + 1)
            lines = _inside(f"each{at}", inner, below, types)
            return [f"for i{at}, each{at} := range {value} {{", *(f"\t{each}" for each in lines), "}"]
        case MapOf(inner):
            below = Place(f"{place.format}[%q]", f"{place.arguments}, name{at}", place.depth + 1)
            lines = _inside(f"each{at}", inner, below, types)
            return [f"for name{at}, each{at} := range {value} {{", *(f"\t{each}" for each in lines), "}"]
        case _:
            return []


class Check(NamedTuple):
    """A bound in Go."""

    refused: str
    """An expression that is true for what is beyond it."""
    words: str


def _bounds(value: str, member: Member, patterns: list[str], types: Types, name: str = "") -> list[Check]:
    """The checks of a member's own bounds. `name`: what a pattern is called after; empty where none is written."""
    type_ = _plain(member.type)
    found: list[Check | None] = []
    match type_:
        case Integer() if integer_type(type_) == "json.Number":
            pass
        case Integer(minimum, maximum):
            limits = [Bound("minimum", minimum)] if minimum is not None else []
            limits += [Bound("maximum", maximum)] if maximum is not None else []
            always = (0, UINT[-1]) if integer_type(type_) == "uint64" else ()
            found = [_compared(value, each) for each in limits if each.value not in always]
            found += [_multiple(value, each) for each in member.words.bounds if each.keyword == "multipleOf"]
        case Number():
            found = [_compared(value, each) for each in member.words.bounds if each.keyword in _COMPARED]
        case Text():
            length = f"utf8.RuneCountInString({value})"
            found = [_counted(length, each, "Length") for each in member.words.bounds]
            found += [
                _matched(value, str(each.value), patterns, types, name)
                for each in member.words.bounds
                if each.keyword == "pattern"
            ]
        case ListOf() | TupleOf():
            found = [_counted(f"len({value})", each, "Items") for each in member.words.bounds]
        case MapOf():
            found = [_counted(f"len({value})", each, "Properties") for each in member.words.bounds]
    return [each for each in found if each is not None]


def integer_type(type_: Integer) -> str:
    """The integer of Go that holds every value within the bounds; a `json.Number` where none does."""
    low, high = type_.minimum, type_.maximum
    if (low is None or low in INT) and (high is None or high in INT):
        return "int64"
    return "uint64" if low is not None and low >= 0 and high is not None and high in UINT else "json.Number"


def _compared(value: str, bound: Bound) -> Check | None:
    sign, words = _COMPARED[bound.keyword]
    if isinstance(bound.value, str) or abs(bound.value) > _LARGEST:
        return None
    return Check(f"{value} {sign} {bound.value!r}", f"must be {words} {bound.value!r}")


def _multiple(value: str, bound: Bound) -> Check | None:
    step = bound.value
    if isinstance(step, str) or step != int(step) or int(step) not in INT or step <= 1:
        return None
    return Check(f"{value}%{int(step)} != 0", f"must be a multiple of {int(step)}")


def _counted(length: str, bound: Bound, what: str) -> Check | None:
    keyword, said = bound.keyword, bound.value
    if (
        keyword not in (f"min{what}", f"max{what}")
        or isinstance(said, str)
        or said != int(said)
        or int(said) not in INT
    ):
        return None
    count = int(said)
    words = f"{count} {_COUNTED[what]}{'s' * (count != 1)}"
    if keyword.startswith("min"):
        return Check(f"{length} < {count}", f"must have at least {words}") if count > 0 else None
    return Check(f"{length} > {count}", f"must have at most {words}")


def _matched(value: str, pattern: str, patterns: list[str], types: Types, name: str) -> Check | None:
    if not is_common(pattern):
        return None
    literal = f"`{pattern}`" if pattern.isprintable() and "`" not in pattern else quoted(pattern)
    variable = types.given(f"{lowered(name)}Pattern") if name else ""
    patterns += [f"var {variable} = regexp.MustCompile({literal})", ""]
    return Check(f"!{variable}.MatchString({value})", f"must match {pattern}")


def is_common(pattern: str) -> bool:
    """Whether a pattern means the same in Go as in ECMA-262: no looking around, no `.`, no `\\s`, no sets within sets."""
    at, depth, copies, before = 0, 0, 1, "open"
    while at < len(pattern):
        token = _TOKEN.match(pattern, at)
        if token is None or (token.lastgroup == "repeat" and before in ("open", "or", "end", "repeat")):
            return False
        text, before = token[0], str(token.lastgroup)
        if before == "class" and any(first > last for first, last in _RANGE.findall(text)):
            return False
        if before == "repeat" and text[0] == "{":
            counts = [int(each) for each in re.findall("[0-9]+", text)]
            if len(counts) == 2 and counts[0] > counts[1]:
                return False
            copies *= max(1, *counts)
        depth += (before == "open") - (before == "close")
        at = token.end()
        if depth < 0 or copies > _MOST_COPIES:
            return False
    return depth == 0
