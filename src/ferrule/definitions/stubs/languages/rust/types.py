"""Types of a tool in Rust: structs, enumerations, unions and aliases, each with its documentation and what serde derives.

A type may be looser than its schema and says so in a comment. Which variant of a union without a tag a value is, serde decides
by trying them in order; so the order is that of `_rank`, and records among them take exactly their members.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence

from ferrule.contracts import type_tree as types
from ferrule.definitions.stubs.comments import describe_type, shorten
from ferrule.definitions.stubs.languages.rust.text import (
    document_lines,
    name_members,
    name_rest,
    name_variants,
    write_assignment,
    write_attribute,
    write_documentation,
    write_literal,
)
from ferrule.definitions.stubs.type_walk import may_be_null, names_in, parts_of, types_within

_I64 = (-(2**63), 2**63 - 1)
_U64 = (0, 2**64 - 1)
_WIDEST = 12
"""The standard library prints and compares tuples of so many values."""
_DERIVED = "#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]\n"
_DEFAULTED = "#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]\n"
_WORD = "#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Serialize, Deserialize)]\n"
_ONLY = "#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Hash, Serialize, Deserialize)]\n"
_NUMBER = "#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Serialize_repr, Deserialize_repr)]\n"
_LEFT_OUT = write_attribute('skip_serializing_if = "Option::is_none"')
_PRESENT = write_attribute('default, deserialize_with = "present"')


class RustTypes:
    """The types of the trees of one file."""

    def __init__(self, trees: tuple[types.TypeTree, ...]) -> None:
        self.declarations = {each.name: each for tree in trees for each in tree.declarations}
        self._roots = [tree.root for tree in trees]
        self.notes: list[types.TypeNote] = []
        """Where a type is looser than its tree."""
        self._only: dict[str, str] = {}
        """The enumerations of one text, by their names."""
        self._reach: dict[str, frozenset[str]] = {}
        self._tagged = self._find_tagged()
        self._cut = {name: union.tag for union in self._tagged.values() for name in _list_records(union)}
        """The member that the tag of a union says already, by the name of the record."""
        self._exact = self._find_exact()

    def write(self) -> str:
        """Declares all of them."""
        used = self._follow_names(self._roots)
        made = [self._write_declaration(each) for name, each in self.declarations.items() if name in used]
        made += [
            f"/// Always {' '.join(document_lines(shorten(value)))}.\n{_ONLY}pub enum {name} {{\n    #[default]\n"
            f"{write_attribute(f'rename = {write_literal(value)}')}    {name_variants([value])[value]},\n}}\n"
            for name, value in self._only.items()
        ]
        return "\n".join(made)

    def _write_declaration(self, each: types.Declaration) -> str:
        match each:
            case types.RecordType():
                return self._write_record(each)
            case types.Enumeration():
                return self._write_enumeration(each)
            case types.Union():
                return self._write_union(each)
            case types.Alias():
                return self._write_alias(each)

    def _write_record(self, record: types.RecordType) -> str:
        members = [each for each in record.members if each.name != self._cut.get(record.name)]
        is_exact = record.name in self._exact
        extra = types.Anything() if is_exact and record.openness == "silent" else record.extra
        rest = name_rest(each.name for each in members) if record.openness == "open" or is_exact else ""
        rest = rest if extra is not None and record.openness != "closed" else ""
        names = name_members((each.name for each in members), [rest] if rest else [])
        fields = "".join(self._write_field(each, names[each.name], record.name, is_exact) for each in members)
        if rest and extra is not None:
            kept = f"BTreeMap<String, {self.write_type(extra, '', f'{record.name}Extra')}>"
            fields += "    /// Members without a field.\n" + write_attribute("flatten")
            fields += write_assignment(f"pub {rest}:", kept, ",", 4)
        head = _DERIVED if any(each.is_required and not _is_only(each.type) for each in members) else _DEFAULTED
        head += "#[serde(deny_unknown_fields)]\n" if record.openness == "closed" else ""
        body = f" {{\n{fields}}}" if fields else " {}"
        return f"{self._document(record.words)}{head}pub struct {record.name}{body}\n"

    def _write_field(self, member: types.RecordMember, name: str, home: str, is_exact: bool) -> str:
        attributes = write_attribute(f"rename = {write_literal(member.name)}") if name != member.name else ""
        made = self.write_type(member.type, home, f"{home}{_capitalize(name)}")
        if not member.is_required:
            made = f"Option<{made}>"
            # By itself serde reads null as a missing member.
            attributes += (_PRESENT if is_exact or may_be_null(member.type, self.declarations) else "") + _LEFT_OUT
        elif is_exact and isinstance(member.type, types.Nullable):
            # A reader of its own makes serde demand the member; it takes a missing Option for None otherwise.
            attributes += write_attribute('deserialize_with = "Option::deserialize"')
        return f"{self._document(member.words, member.type, 4)}{attributes}{write_assignment(f'pub {name}:', made, ',', 4)}"

    def _write_enumeration(self, each: types.Enumeration) -> str:
        told = self._document(each.words)
        names = name_variants(choice.word for choice in each.choices)
        if each.kind == "string":
            choices = "".join(
                f"{write_attribute(f'rename = {write_literal(str(choice.value))}')}    {names[choice.word]},\n"
                for choice in each.choices
            )
            return f"{told}{_WORD}pub enum {each.name} {{\n{choices}}}\n"
        values = [int(choice.value) for choice in each.choices]
        number = next((kind for kind, (least, most) in _WHOLE if least <= min(values) and max(values) <= most), None)
        if number is None:
            self.notes.append(
                types.TypeNote(each.pointer, "64 bits do not hold some of these integers; any number is taken")
            )
            return f"{told}pub type {each.name} = serde_json::Number;\n"
        choices = "".join(f"    {names[choice.word]} = {int(choice.value)},\n" for choice in each.choices)
        return f"{told}{_NUMBER}#[repr({number})]\npub enum {each.name} {{\n{choices}}}\n"

    def _write_union(self, union: types.Union) -> str:
        if union.name in self._tagged:
            variants = [(each.word, str(each.tags[0]), each.type) for each in union.variants]
            head = _DERIVED + write_attribute(f"tag = {write_literal(str(union.tag))}", 0)
        else:
            # serde takes the first variant that fits, so the narrowest come first.
            ordered = sorted(union.variants, key=lambda each: self._rank(each.type))
            variants = [(each.word, "", each.type) for each in self._list_distinct(ordered)]
            head = f"{_DERIVED}#[serde(untagged)]\n"
        names = name_variants(word for word, _, _ in variants)
        text = ""
        for word, tag, kind in variants:
            inner = self.write_type(kind, union.name, f"{union.name}{names[word]}")
            text += f"{write_attribute(f'rename = {write_literal(tag)}') if union.name in self._tagged else ''}"
            text += f"    {names[word]}({inner}),\n"
        listed = [each.type.value for each in union.variants if isinstance(each.type, types.Constant)]
        facts = [f"One of {', '.join(map(shorten, listed))}."] if len(listed) == len(union.variants) else []
        return f"{self._document(union.words, facts=facts)}{head}pub enum {union.name} {{\n{text}}}\n"

    def _list_distinct(self, variants: Iterable[types.Variant]) -> Iterator[types.Variant]:
        """Numbers and booleans that are listed one by one are one variant, since the type cannot tell them apart."""
        met: set[str] = set()
        for each in variants:
            if isinstance(each.type, types.Constant) and not isinstance(each.type.value, str):
                made = self.write_type(each.type, "", "")
                if made in met:
                    continue
                met.add(made)
            yield each

    def _write_alias(self, alias: types.Alias) -> str:
        told = self._document(alias.words, alias.type)
        made = self.write_type(alias.type, alias.name, alias.name)
        if self.is_wrapped(alias):
            return f"{told}{_DERIVED}#[serde(transparent)]\npub struct {alias.name}(pub {made});\n"
        return f"{told}{write_assignment(f'pub type {alias.name} =', made, ';')}"

    def _document(
        self, words: types.TypeAnnotations, kind: types.Type | None = None, indent: int = 0, facts: Sequence[str] = ()
    ) -> str:
        """Writes the documentation of a type or a member."""
        facts = list(facts)
        inner = kind.inner if isinstance(kind, types.Nullable) else kind
        if isinstance(inner, types.Constant) and not isinstance(inner.value, str):
            facts.append(f"Always {shorten(inner.value)}.")
        if isinstance(inner, types.TupleOf) and not _is_plain(inner):
            facts.append("A list whose places have types of their own.")
        sentences = [" ".join(document_lines(each)) for each in describe_type(words, kind, facts=facts)]
        return write_documentation([document_lines(words.description), sentences], indent)

    def write_type(self, kind: types.Type, home: str, place: str) -> str:
        """Returns the type of a value. `home`: the declaration it is part of, which it may have to be boxed for; `place`:
        what a type is called after that has to be declared for it."""
        match kind:
            case types.Anything():
                return "Value"
            case types.Null():
                return "()"
            case types.Boolean():
                return "bool"
            case types.Integer():
                return self._write_integer(kind, home)
            case types.Number():
                return "f64"
            case types.TextType():
                return "String"
            case types.Constant():
                return self._write_constant(kind, place)
            case types.ListOf():
                return f"Vec<{self.write_type(kind.item, '', place)}>"
            case types.MapOf():
                return f"BTreeMap<String, {self.write_type(kind.value, '', place)}>"
            case types.TupleOf():
                if not _is_plain(kind):
                    return "Vec<Value>"
                places = [self.write_type(each, home, f"{place}{at}") for at, each in enumerate(kind.items, 1)]
                return f"({', '.join(places)}{',' if len(places) == 1 else ''})"
            case types.Nullable():
                return f"Option<{self.write_type(kind.inner, home, place)}>"
            case types.NamedType():
                return f"Box<{kind.name}>" if home and home in self._list_reached(kind.name) else kind.name

    def _write_integer(self, kind: types.Integer, home: str) -> str:
        least, most = kind.minimum, kind.maximum
        if (least is None or _I64[0] <= least <= _I64[1]) and (most is None or most <= _I64[1]):
            return "i64"
        if least is not None and least >= 0 and (most is None or most <= _U64[1]):
            return "u64"
        pointer = self.declarations[home].pointer if home else "#"
        self.notes.append(types.TypeNote(pointer, "integers that 64 bits do not hold are rounded"))
        return "serde_json::Number"

    def _write_constant(self, kind: types.Constant, place: str) -> str:
        match kind.value:
            case bool():
                return "bool"
            case str():
                name = place
                while self._only.get(name, kind.value) != kind.value or name in self.declarations:
                    name += "Value"
                self._only[name] = kind.value
                return name
            case int() | float() if kind.value == int(kind.value):
                return next((made for made, (least, most) in _WHOLE if least <= kind.value <= most), "f64")
            case _:
                return "f64"

    def is_wrapped(self, alias: types.Alias) -> bool:
        """Tells whether an alias stands for itself by way of nothing but aliases, so that it has to be a type of its own."""
        return alias.name in self._follow_names([alias.type], through=types.Alias)

    def _follow_names(self, kinds: Iterable[types.Type], through: type = object) -> set[str]:
        """Returns the declarations that types mention, and those that these mention if they are of a kind."""
        seen: set[str] = set()
        waiting = list(kinds)
        while waiting:
            for name in _list_names(waiting.pop()):
                if name not in seen and isinstance(self.declarations[name], through):
                    seen.add(name)
                    waiting += parts_of(self.declarations[name])
        return seen

    def _list_reached(self, name: str) -> frozenset[str]:
        """Returns the declarations that a value of this one has inside itself, without anything that keeps them elsewhere."""
        if name not in self._reach:
            seen = {name}
            waiting = [name]
            while waiting:
                for inner in (
                    inner for each in parts_of(self.declarations[waiting.pop()]) for inner in _list_inline(each)
                ):
                    if inner not in seen:
                        seen.add(inner)
                        waiting.append(inner)
            self._reach[name] = frozenset(seen)
        return self._reach[name]

    def _find_tagged(self) -> dict[str, types.Union]:
        """Returns the unions that serde tells apart by their tag: one text for each variant, whose records stand nowhere else."""
        found = {
            each.name: each
            for each in self.declarations.values()
            if isinstance(each, types.Union) and each.tag is not None and self._has_plain_tags(each)
        }
        while True:
            # Round by round: a union that falls out uses its records without a tag, which may disqualify others.
            tags: dict[str, set[str | None]] = {root.name: {None} for root in self._roots}
            for each in self.declarations.values():
                for name in (name for part in parts_of(each) for name in _list_names(part)):
                    tags.setdefault(name, set()).add(
                        each.tag if each.name in found and isinstance(each, types.Union) else None
                    )
            bad = [
                name
                for name, each in found.items()
                if any(tags[record] != {each.tag} for record in _list_records(each))
            ]
            if not bad:
                return found
            for name in bad:
                del found[name]

    def _has_plain_tags(self, union: types.Union) -> bool:
        records = [self.declarations[name] for name in _list_records(union)]
        is_one = all(len(each.tags) == 1 and isinstance(each.tags[0], str) for each in union.variants)
        return (
            is_one
            and len(set(_list_records(union))) == len(union.variants)
            and all(
                isinstance(record, types.RecordType)
                and any(each.name == union.tag and isinstance(each.type, types.Constant) for each in record.members)
                for record in records
            )
        )

    def _find_exact(self) -> set[str]:
        """Returns the records that serde has to tell from others by their members: a variant must not take another one's
        value and lose a part of it."""
        found: set[str] = set()
        for each in self.declarations.values():
            if isinstance(each, types.Union) and each.name not in self._tagged:
                for kind in ("object", "array"):
                    alike = [variant.type for variant in each.variants if kind in variant.kinds]
                    found |= self._follow_names(alike) if len(alike) > 1 else set()
        return found

    def _rank(self, kind: types.Type, seen: frozenset[str] = frozenset()) -> float:
        """Returns the place of a type among the variants of a union: what takes less comes first, and objects last, since
        serde reads a list as a struct too."""
        match kind:
            case types.Constant(value=value):
                return 0 if isinstance(value, str | bool) else 2
            case types.Integer():
                return 1
            case types.Number() | types.TextType() | types.Boolean() | types.Null():
                return 3
            case types.ListOf():
                return 4 + self._rank(kind.item, seen) / 10
            case types.TupleOf():
                return 4
            case types.MapOf():
                return 9
            case types.Nullable():
                return self._rank(kind.inner, seen)
            case types.NamedType() if kind.name not in seen:
                declared = self.declarations[kind.name]
                if isinstance(declared, types.Alias):
                    return self._rank(declared.type, seen | {kind.name})
                if isinstance(declared, types.Union):
                    return max(self._rank(each.type, seen | {kind.name}) for each in declared.variants)
                return 0 if isinstance(declared, types.Enumeration) else 8
            case _:
                return 9


_WHOLE = (("i64", _I64), ("u64", _U64))


def _is_plain(kind: types.TupleOf) -> bool:
    return kind.rest is None and 0 < kind.required == len(kind.items) <= _WIDEST


def _is_only(kind: types.Type) -> bool:
    return isinstance(kind, types.Constant) and isinstance(kind.value, str)


def _capitalize(name: str) -> str:
    return "".join(word[:1].upper() + word[1:] for word in name.split("_"))


def _list_records(union: types.Union) -> list[str]:
    return [each.type.name for each in union.variants if isinstance(each.type, types.NamedType)]


def _types_within(kind: types.Type) -> tuple[types.Type, ...]:
    """Returns what a type is made of in Rust, where some tuples are lists of any values."""
    return () if isinstance(kind, types.TupleOf) and not _is_plain(kind) else types_within(kind)


def _list_names(kind: types.Type) -> Iterator[str]:
    return names_in(kind, _types_within)


def _list_inline(kind: types.Type) -> Iterator[str]:
    """Yields the declarations that a value of a type has in its own space."""
    match kind:
        case types.NamedType():
            yield kind.name
        case types.Nullable():
            yield from _list_inline(kind.inner)
        case types.TupleOf() if _is_plain(kind):
            for each in kind.items:
                yield from _list_inline(each)
