"""Writes `Validate` for types whose members have bounds, lengths or patterns: `if` statements and `regexp`.

It holds members to the keywords of `_REFUSED`, and goes down through all types that have such members. Everything else is left to
Ferrule. A pattern is checked only where it means the same to Go as to every other reader of it.
"""

from __future__ import annotations

import re
from collections.abc import Iterator

from ferrule.contracts import type_tree as types
from ferrule.definitions.stubs.languages.go.names import lower_first
from ferrule.definitions.stubs.languages.go.text import quote, quote_raw
from ferrule.definitions.stubs.languages.go.types import (
    INT,
    NUMBER,
    UINT,
    GoField,
    GoTree,
    find_integer_type,
    is_own,
    strip_null,
)

_REFUSED = {
    "minLength": ("utf8.RuneCountInString({}) < {}", "its length must be at least {}"),
    "maxLength": ("utf8.RuneCountInString({}) > {}", "its length must be at most {}"),
    "pattern": ("!{1}.MatchString({0})", "it must match {}"),
    "minItems": ("len({}) < {}", "its length must be at least {}"),
    "maxItems": ("len({}) > {}", "its length must be at most {}"),
    "minProperties": ("len({}) < {}", "its number of members must be at least {}"),
    "maxProperties": ("len({}) > {}", "its number of members must be at most {}"),
    "minimum": ("{} < {}", "it must be at least {}"),
    "exclusiveMinimum": ("{} <= {}", "it must be more than {}"),
    "maximum": ("{} > {}", "it must be at most {}"),
    "exclusiveMaximum": ("{} >= {}", "it must be less than {}"),
    "multipleOf": ("{}%{} != 0", "it must be a multiple of {}"),
}
"""What is true of a refused value, and what its error says."""
_WHOLE = ("Length", "Items", "Properties", "Of")
_LARGEST = 1e300
_MOST_COPIES = 1000
"""Go takes no pattern that repeats something more often."""
_TOKEN = re.compile(
    r"(?P<plain>[^\\^$.|?*+()\[\]{}])|(?P<escaped>\\[dDwW]|\\[-/\\^$.|?*+()\[\]{}])|(?P<end>[\^$])"
    r"|(?P<class>\[\^?(?:[^\\\[\]^&~|-]|\\[dw]|\\[-/\\^$.|?*+()\[\]{}]|[A-Za-z0-9]-[A-Za-z0-9])+-?\])"
    r"|(?P<open>\((?:\?:)?)|(?P<close>\))|(?P<or>\|)|(?P<repeat>(?:[*+?]|\{\d{1,3}(?:,(?:\d{1,3})?)?\})\??)"
)
_RANGE = re.compile(r"(?<!\\)([A-Za-z0-9])-([A-Za-z0-9])")


class GoChecks:
    """Writes the `Validate` of the types of a tree."""

    def __init__(self, tree: GoTree) -> None:
        self._tree = tree
        self._checked = {
            name
            for name, fields in tree.fields.items()
            if any(each.member is not None and _list_bounds(each.member) for each in fields)
        }
        """The declared types with something to check in them, however deep."""
        size = -1
        while size < len(self._checked):
            size = len(self._checked)
            self._checked |= {name for name in tree.declared if any(map(self._leads, self._list_parts(name)))}

    def _list_parts(self, name: str) -> list[types.Type]:
        """Returns the types within a declared one that has methods of its own in Go."""
        match self._tree.declared[name]:
            case types.RecordType():
                return [each.member.type for each in self._tree.fields[name] if each.member is not None]
            case types.Union(variants=variants) if self._tree.fields[name]:
                return [each.type for each in variants]
            case types.Alias(type=inner) if is_own(inner):
                return [inner]
            case _:
                return []

    def _leads(self, type_: types.Type) -> bool:
        match type_:
            case types.Nullable(inner) | types.ListOf(inner) | types.MapOf(inner):
                return self._leads(inner)
            case types.NamedType(name):
                through = self._find_alias_target(type_)
                return name in self._checked if through is None else self._leads(through)
            case _:
                return False

    def _find_alias_target(self, type_: types.Type) -> types.Type | None:
        """Returns what a name stands for that Go has as a mere alias; None for a type with methods of its own."""
        declared = self._tree.declared[type_.name] if isinstance(type_, types.NamedType) else None
        return declared.type if isinstance(declared, types.Alias) and not is_own(declared.type) else None

    def write_validate(self, declared: types.Declaration) -> list[str]:
        """Writes the method of a declared type, and the patterns it needs; nothing where it has nothing to check."""
        name = declared.name
        if name not in self._checked:
            return []
        patterns: list[str] = []
        lines: list[str] = []
        fields = self._tree.fields[name]
        match declared:
            case types.RecordType():
                for field in fields:
                    lines += self._check_member(name, field, field.member, patterns) if field.member is not None else []
            case types.Union(variants=variants):
                for field, variant in zip(fields, variants, strict=True):
                    lines += _guard(f"v.{field.name}", self._descend(f"v.{field.name}", variant.type))
            case types.Alias():
                lines = self._descend("v", declared.type)
        return [
            *patterns,
            f"// Validate checks bounds, lengths and patterns of {name}, and nothing else of its schema.",
            f"func (v {name}) Validate() error {{",
            *(f"\t{each}" for each in lines),
            "\treturn nil",
            "}",
            "",
        ]

    def _check_member(self, owner: str, field: GoField, member: types.RecordMember, patterns: list[str]) -> list[str]:
        bounds = _list_bounds(member)
        if not bounds and not self._leads(member.type):
            return []
        is_optional = field.go.startswith("Optional[")
        value = f"v.{field.name}{'.Value' * is_optional}"
        is_pointer = is_optional or field.go.startswith("*")
        is_bare = member.is_required and not isinstance(member.type, types.Nullable) and not is_pointer
        guard = "" if is_bare else f"{value} != nil && "
        held = f"*{value}" if is_pointer else value
        lines: list[str] = []
        for bound in bounds:
            limit = str(bound.value)
            if bound.keyword == "pattern":
                limit = self._tree.take_name(f"{lower_first(owner)}{field.name}Pattern")
                patterns += [f"var {limit} = regexp.MustCompile({quote_raw(str(bound.value))})", ""]
            refused, words = _REFUSED[bound.keyword]
            problem = quote(f"{member.name}: {words.format(bound.value)}")
            lines += [f"if {guard}{refused.format(held, limit)} {{", f"\treturn errors.New({problem})", "}"]
        type_ = strip_null(member.type)
        if is_pointer and not (isinstance(type_, types.NamedType) and self._find_alias_target(type_) is None):
            held = f"({held})"
        else:
            held = value
        inner = self._descend(held, type_, member.name.replace("%", "%%"))
        return lines + (inner if is_bare else _guard(value, inner))

    def _descend(
        self, value: str, type_: types.Type, place: str = "", arguments: str = "", depth: int = 1
    ) -> list[str]:
        """Writes what calls the `Validate` of all that is within a value. `place` is a format of where it stands."""
        if not self._leads(type_):
            return []
        at = "" if depth == 1 else str(depth)
        match type_:
            case types.NamedType() if (through := self._find_alias_target(type_)) is not None:
                return self._descend(value, through, place, arguments, depth)
            case types.NamedType():
                told = f"fmt.Errorf({quote(place + ': %w')}{arguments}, err)" if place else "err"
                return [f"if err := {value}.Validate(); err != nil {{", f"\treturn {told}", "}"]
            case types.Nullable(inner):
                lines = self._descend(value, inner, place, arguments, depth)
                return lines if is_own(inner) else _guard(value, lines)
            case types.ListOf(inner) | types.MapOf(inner):
                key, verb = (f"i{at}", "%d") if isinstance(type_, types.ListOf) else (f"name{at}", "%q")
                lines = self._descend(f"each{at}", inner, f"{place}[{verb}]", f"{arguments}, {key}", depth + 1)
                return [f"for {key}, each{at} := range {value} {{", *(f"\t{each}" for each in lines), "}"]
            case _:
                return []


def _guard(value: str, lines: list[str]) -> list[str]:
    return [f"if {value} != nil {{", *(f"\t{each}" for each in lines), "}"] if lines else []


def _list_bounds(member: types.RecordMember) -> list[types.Bound]:
    """Returns the bounds of a member that Go can compare with."""
    if not member.words.bounds:
        return []
    type_ = strip_null(member.type)
    match type_:
        case types.Integer():
            return [each for each in _list_integer_bounds(type_, member) if _is_comparable(each)]
        case types.Number():
            return [each for each in member.words.bounds if each.keyword != "multipleOf" and _is_comparable(each)]
        case types.TextType() | types.ListOf() | types.TupleOf() | types.MapOf():
            return [each for each in member.words.bounds if _is_comparable(each)]
        case _:
            return []


def _list_integer_bounds(type_: types.Integer, member: types.RecordMember) -> Iterator[types.Bound]:
    """Yields the bounds of an integer, without those that its type in Go keeps anyway."""
    go = find_integer_type(type_)
    always = (0, UINT[-1]) if go == "uint64" else ()
    limits = {"minimum": type_.minimum, "maximum": type_.maximum}
    if go != NUMBER:
        yield from (
            types.Bound(keyword, each) for keyword, each in limits.items() if each is not None and each not in always
        )
        yield from (each for each in member.words.bounds if each.keyword == "multipleOf")


def _is_comparable(bound: types.Bound) -> bool:
    said = bound.value
    if isinstance(said, str):
        return is_common(said)
    if bound.keyword.endswith(_WHOLE):
        return said == int(said) and int(said) in INT and (said > 0 or bound.keyword.startswith("max"))
    return abs(said) <= _LARGEST


def is_common(pattern: str) -> bool:
    """Tells whether a pattern means the same in Go as in ECMA-262: no looking around, no `.`, no `\\s`, no sets within sets."""
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
            # Go limits the product of repeats within one another; multiplying those side by side too is only careful.
            copies *= max(1, *counts)
        depth += (before == "open") - (before == "close")
        at = token.end()
        if depth < 0 or copies > _MOST_COPIES:
            return False
    return depth == 0
