"""Writes a tree as plain Go: structs with tags of `encoding/json`, typed constants, unions as structs of which one field is set.

A type may be looser than its schema and is never narrower. A union whose variants neither a tag nor their kinds tell apart is a
`json.RawMessage`, and a note says so. `checks.py` writes the `Validate` of these types.
"""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Sequence
from typing import NamedTuple, assert_never

from ferrule.contracts import type_tree as types
from ferrule.contracts.language import StubPlan, ToolNote
from ferrule.definitions.stubs.comments import describe_type, shorten
from ferrule.definitions.stubs.identifiers import ACRONYMS, identifiers
from ferrule.definitions.stubs.languages.go.names import EXTRA, METHODS, exported_style, list_declared_names, take_name
from ferrule.definitions.stubs.languages.go.text import align_columns, one_line, quote, write_comment
from ferrule.definitions.stubs.type_walk import may_be_null

RAW, NUMBER = "json.RawMessage", "json.Number"
INT, UINT = range(-(2**63), 2**63), range(2**64)
_BIG = "its bounds go beyond 64 bits, so it is a json.Number in Go"
_MIXED = "neither a tag nor the kind of JSON tells its variants apart, so it is a json.RawMessage in Go"
_TAGGABLE = re.compile(r"[A-Za-z0-9!#$%&()*+./:;<=>?@\[\]^_{|}~ -]+")
_BASES: dict[type, str] = {bool: "bool", str: "string", float: "float64"}
_CASES = {"object": "'{'", "array": "'['", "string": "'\"'", "boolean": "'t', 'f'"}


class GoField(NamedTuple):
    """A field of a struct."""

    name: str
    go: str
    tag: str
    comment: list[str]
    member: types.RecordMember | None = None


class PackageScope:
    """The names that one package declares."""

    def __init__(self, plan: StubPlan) -> None:
        self.acronyms = plan.project.acronyms | ACRONYMS
        self.taken = list_declared_names(plan)
        self.notes: list[ToolNote] = []
        """Where types are looser than the trees."""


class GoTree:
    """One tree being written. `what`: said of its root."""

    def __init__(self, tree: types.TypeTree, scope: PackageScope, tool_id: str, what: str) -> None:
        self._tree = tree
        self._scope = scope
        self._tool_id = tool_id
        self._what = what
        self.declared = {each.name: each for each in tree.declarations}
        self.fields = {each.name: self._make_fields(each) for each in tree.declarations}
        """The fields of each struct; none for any other declaration."""

    def take_name(self, wanted: str) -> str:
        """Takes a name that nobody else in the package has."""
        return take_name(wanted, self._scope.taken)

    def write(self, declared: types.Declaration) -> list[str]:
        """Writes a declaration, with what reads and writes it."""
        root = self._tree.root.name
        first = f"is {self._what}." if declared.name == root else f"is a part of {root}."
        told = write_comment((f"{declared.name} {first}", *_describe(declared.words)))
        match declared:
            case types.RecordType():
                lines = [*self._write_struct(declared.name, told), *self._write_record_methods(declared)]
            case types.Union():
                lines = self._write_union(declared, told)
            case types.Enumeration():
                lines = self._write_enumeration(declared, told)
            case types.Alias():
                go = self.write_member_type(declared.type)
                if go == NUMBER:
                    self._note(declared.pointer, _BIG)
                lines = [*told, f"type {declared.name}{' ' if is_own(declared.type) else ' = '}{go}", ""]
            case _:
                assert_never(declared)
        return lines

    def _note(self, pointer: str, message: str) -> None:
        self._scope.notes.append(ToolNote(self._tool_id, types.TypeNote(pointer, message)))

    # Types

    def write_type(self, type_: types.Type) -> str:
        """Writes a type where it is an item of something."""
        match type_:
            case types.Anything() | types.Null():
                return "any"
            case types.Boolean():
                return "bool"
            case types.Integer():
                return find_integer_type(type_)
            case types.Number():
                return "float64"
            case types.TextType():
                return "string"
            case types.Constant():
                value = type_.value
                return _BASES.get(type(value)) or find_integer_type(types.Integer(int(value), int(value)))
            case types.ListOf():
                return f"[]{self.write_type(type_.item)}"
            case types.TupleOf():
                return "[]any"
            case types.MapOf():
                return f"map[string]{self.write_type(type_.value)}"
            case types.Nullable():
                go = self.write_type(type_.inner)
                return go if go.startswith(("[]", "map[")) else f"*{go}"
            case types.NamedType():
                return type_.name
            case _:
                assert_never(type_)

    def write_member_type(self, type_: types.Type) -> str:
        """Writes a type where it stands alone: any value is kept as it came."""
        return RAW if isinstance(type_, types.Anything | types.Null) else self.write_type(type_)

    def _contains(self, type_: types.Type, name: str, seen: set[str]) -> bool:
        """Tells whether a value of a type would hold one of the record `name` in itself."""
        if not isinstance(type_, types.NamedType) or type_.name in seen:
            return False
        seen.add(type_.name)
        match self.declared[type_.name]:
            case types.RecordType(members=members):
                return type_.name == name or any(
                    self._contains(each.type, name, seen) for each in members if each.is_required
                )
            case types.Alias(type=inner):
                return self._contains(inner, name, seen)
            case _:
                return False

    # Records

    def _make_fields(self, declared: types.Declaration) -> list[GoField]:
        match declared:
            case types.RecordType():
                return self._make_record_fields(declared)
            case types.Union():
                return self._make_union_fields(declared)
            case _:
                return []

    def _make_record_fields(self, record: types.RecordType) -> list[GoField]:
        members = [each for each in record.members if is_taggable(each.name)]
        names = identifiers((each.name for each in members), exported_style(self._scope.acronyms), METHODS | {EXTRA})
        fields = [self._make_field(record, each, names[each.name]) for each in members]
        hidden = [one_line(quote(each.name)) for each in record.members if each.name not in names]
        is_open = record.openness == "open" and record.extra is not None
        if hidden:
            told = (
                f"{EXTRA} has members whose names no tag can have ({', '.join(hidden)}){' and all others' * is_open}."
            )
        elif is_open:
            told = f"{EXTRA} has the members that no other field is for."
        else:
            return fields
        go = "any" if hidden or record.extra is None else self.write_type(record.extra)
        return [*fields, GoField(EXTRA, f"map[string]{go}", '`json:"-"`', write_comment([told], "\t"))]

    def _make_field(self, record: types.RecordType, member: types.RecordMember, name: str) -> GoField:
        type_ = member.type
        facts = []
        if isinstance(type_, types.Constant | types.Null):
            facts.append(f"It is always {shorten(type_.value if isinstance(type_, types.Constant) else None)}.")
        if isinstance(type_, types.TupleOf):
            facts.append(f"Its items are {self._list_items(type_)}.")
        told = _describe(member.words, type_, facts)
        go, ending = self._write_field_type(record, member)
        if NUMBER in go:
            step = member.name.replace("~", "~0").replace("/", "~1")
            self._note(f"{record.pointer}/properties/{step}", _BIG)
        return GoField(name, go, f'`json:"{_tag(member.name, ending)}"`', write_comment(told, "\t"), member)

    def _write_field_type(self, record: types.RecordType, member: types.RecordMember) -> tuple[str, str]:
        """Returns the type of a member's field, and what its tag ends with."""
        go = self.write_member_type(member.type)
        if member.is_required:
            # A struct of Go cannot hold itself; behind a pointer it can.
            is_endless = self._contains(member.type, record.name, set())
            return f"*{go}" if is_endless else go, ""
        if go == RAW:
            return go, ",omitempty"
        # encoding/json cannot tell null from a missing member by a pointer.
        if may_be_null(member.type, self.declared):
            return f"Optional[{self.write_type(strip_null(member.type))}]", ",omitzero"
        # `omitempty` would leave an empty list out too; only nil stands for a missing one.
        return (go, ",omitzero") if go.startswith(("[]", "map[")) else (f"*{go}", ",omitempty")

    def _list_items(self, type_: types.TupleOf) -> str:
        items = [self.write_type(each) for each in type_.items]
        return ", ".join(items) + (
            f", then any number of {self.write_type(type_.rest)}" if type_.rest is not None else ""
        )

    def _write_struct(self, name: str, told: list[str]) -> list[str]:
        fields = self.fields[name]
        if not fields:
            return [*told, f"type {name} struct{{}}", ""]
        lines = [*told, f"type {name} struct {{"]
        run: list[list[str]] = []
        for field in fields:
            if field.comment and run:
                lines += align_columns(run)
                run = []
            lines += field.comment
            run.append([field.name, field.go, field.tag])
        return [*lines, *align_columns(run), "}", ""]

    def _write_record_methods(self, record: types.RecordType) -> list[str]:
        """Writes what reads and writes the members that no field is for."""
        fields = self.fields[record.name]
        if not fields or fields[-1].member is not None:
            return []
        name = record.name
        known = "".join(f", {quote(each.member.name)}" for each in fields if each.member is not None)
        go = fields[-1].go.removeprefix("map[string]")
        return [
            f"func (v *{name}) UnmarshalJSON(data []byte) (err error) {{",
            f"\ttype fields {name}",
            "\tif err = decode(data, (*fields)(v)); err == nil {",
            f"\t\tv.{EXTRA}, err = decodeExtra[{go}](data{known})",
            "\t}",
            "\treturn err",
            "}",
            "",
            f"func (v {name}) MarshalJSON() ([]byte, error) {{",
            f"\ttype fields {name}",
            f"\treturn encodeExtra(fields(v), v.{EXTRA})",
            "}",
            "",
        ]

    # Unions and enumerations

    def _make_union_fields(self, union: types.Union) -> list[GoField]:
        """Returns the fields of a union as a struct; none where nothing tells the variants apart."""
        if not _has_plain_tag(union) and not _has_own_kinds(union):
            self._note(union.pointer, _MIXED)
            return []
        names = identifiers((each.word for each in union.variants), exported_style(self._scope.acronyms), METHODS)
        fields = []
        for variant in union.variants:
            go = self.write_member_type(variant.type)
            told = ""
            if isinstance(variant.type, types.Constant):
                told = f"It is {shorten(variant.type.value)}."
            elif union.tag is not None and variant.tags:
                told = f"Where {one_line(union.tag)} is {' or '.join(map(shorten, variant.tags))}."
            is_nilable = go.startswith(("[]", "map["))
            fields.append(GoField(names[variant.word], go if is_nilable else f"*{go}", "", write_comment([told], "\t")))
        return fields

    def _write_union(self, union: types.Union, told: list[str]) -> list[str]:
        name, fields = union.name, self.fields[union.name]
        if not fields:
            variants = ", ".join(self.write_type(each.type) for each in union.variants)
            return [*told, "//", *write_comment([f"It is one of {variants}."]), f"type {name} = {RAW}", ""]
        by_tag = _has_plain_tag(union)
        written = [
            line
            for each in fields
            for line in (f"\tcase v.{each.name} != nil:", f"\t\treturn json.Marshal(v.{each.name})")
        ]
        return [
            *self._write_struct(name, [*told, "//", "// One of its fields is set."]),
            f"func (v {name}) MarshalJSON() ([]byte, error) {{",
            *(["\tswitch {", *written, "\t}"] if written else []),
            f'\treturn nil, errors.New("{name}: none of its fields is set")',
            "}",
            "",
            f"func (v *{name}) UnmarshalJSON(data []byte) error {{",
            *(_write_tag_reader(union, fields) if by_tag else _write_kind_reader(union, fields)),
            f'\treturn errors.New("{name}: the value fits none of its fields")',
            "}",
            "",
        ]

    def _write_enumeration(self, declared: types.Enumeration, told: list[str]) -> list[str]:
        name = declared.name
        names = identifiers((each.word for each in declared.choices), exported_style(self._scope.acronyms))
        rows = [
            [
                self.take_name(f"{name}{names[each.word]}"),
                name,
                f"= {quote(each.value) if isinstance(each.value, str) else each.value}",
            ]
            for each in declared.choices
        ]
        base = "string" if declared.kind == "string" else "int64"
        return [*told, f"type {name} {base}", "", f"// The values of {name}.", "const (", *align_columns(rows), ")", ""]


def _write_tag_reader(union: types.Union, fields: list[GoField]) -> list[str]:
    lines = ["\tvar tag struct {", f"\t\tValue string `json:{quote(str(union.tag))}`", "\t}"]
    lines += ["\tif err := decode(data, &tag); err != nil {", "\t\treturn err", "\t}", "\tswitch tag.Value {"]
    seen: set[str] = set()
    for variant, field in zip(union.variants, fields, strict=True):
        # Go compiles no switch that has a case twice.
        cases = [quote(str(each)) for each in dict.fromkeys(variant.tags) if str(each) not in seen]
        seen.update(map(str, variant.tags))
        if cases:
            lines += [f"\tcase {', '.join(cases)}:", f"\t\treturn decode(data, &v.{field.name})"]
    return [*lines, "\t}"]


def _write_kind_reader(union: types.Union, fields: list[GoField]) -> list[str]:
    lines = ["\tswitch data[0] {"]
    number = ""
    for variant, field in zip(union.variants, fields, strict=True):
        cases = [_CASES[each] for each in variant.kinds if each in _CASES]
        if cases:
            lines += [f"\tcase {', '.join(cases)}:", f"\t\treturn decode(data, &v.{field.name})"]
        if "number" in variant.kinds:
            number = field.name
    if number:
        digits = ", ".join(f"'{each}'" for each in "-0123456789")
        lines += [f"\tcase {digits}:", f"\t\treturn decode(data, &v.{number})"]
    return [*lines, "\t}"]


def _has_plain_tag(union: types.Union) -> bool:
    return (
        union.tag is not None
        and is_taggable(union.tag)
        and all(isinstance(tag, str) for variant in union.variants for tag in variant.tags)
    )


def _has_own_kinds(union: types.Union) -> bool:
    kinds = [kind for variant in union.variants for kind in variant.kinds]
    return len(set(kinds)) == len(kinds) and all(each.kinds for each in union.variants)


def is_taggable(name: str) -> bool:
    """Tells whether a tag of a struct can have a name: of letters, digits and some signs, as encoding/json has it."""
    if name.isascii():
        return _TAGGABLE.fullmatch(name) is not None
    return all(_TAGGABLE.fullmatch(one) or unicodedata.category(one)[0] == "L" or one.isdecimal() for one in name)


def _tag(name: str, ending: str) -> str:
    return f"{name}," if name == "-" and not ending else f"{name}{ending}"


def find_integer_type(type_: types.Integer) -> str:
    """Returns the integer of Go that holds every value within the bounds; a `json.Number` where none does."""
    low, high = type_.minimum, type_.maximum
    if (low is None or low in INT) and (high is None or high in INT):
        return "int64"
    return "uint64" if low is not None and low >= 0 and high is not None and high in UINT else NUMBER


def is_own(type_: types.Type) -> bool:
    """Tells whether another name of a type is a type of its own in Go."""
    return isinstance(strip_null(type_), types.ListOf | types.MapOf | types.TupleOf)


def strip_null(type_: types.Type) -> types.Type:
    """Returns a type without its null."""
    return type_.inner if isinstance(type_, types.Nullable) else type_


def _describe(words: types.TypeAnnotations, type_: types.Type | None = None, facts: Sequence[str] = ()) -> list[str]:
    """Says what a reader should know of a type, as paragraphs."""
    deprecated = "Deprecated: the definition says so."
    return [words.description, *describe_type(words, type_, facts=facts, deprecated=deprecated)]
