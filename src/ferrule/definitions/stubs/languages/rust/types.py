"""Types of a tool in Rust: structs, enumerations, unions and aliases, each with its documentation and what serde derives.

A type may be looser than its schema and says so in a comment. Which variant of a union without a tag a value is, serde decides
by trying them in order; so the order is that of `_rank`, and records among them take exactly their members.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence

from ferrule.contracts.type_tree import (
    Alias,
    Anything,
    Boolean,
    Constant,
    Declaration,
    Enumeration,
    Integer,
    ListOf,
    MapOf,
    NamedType,
    Null,
    Nullable,
    Number,
    RecordMember,
    RecordType,
    TextType,
    TupleOf,
    Type,
    TypeAnnotations,
    TypeNote,
    TypeTree,
    Union,
    Variant,
)
from ferrule.definitions.stubs.comments import describe_type, shorten
from ferrule.definitions.stubs.languages.rust.text import (
    assigned,
    attribute,
    documentation,
    lines,
    literal,
    member_names,
    rest_name,
    variant_names,
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
_LEFT_OUT = attribute('skip_serializing_if = "Option::is_none"')
_PRESENT = attribute('default, deserialize_with = "present"')


class Types:
    """The types of the trees of one file."""

    def __init__(self, trees: tuple[TypeTree, ...]) -> None:
        self.declarations = {each.name: each for tree in trees for each in tree.declarations}
        self._roots = [tree.root for tree in trees]
        self.notes: list[TypeNote] = []
        """Where a type is looser than its tree."""
        self._only: dict[str, str] = {}
        """The enumerations of one text, by their names."""
        self._reach: dict[str, frozenset[str]] = {}
        self._tagged = self._find_tagged()
        self._cut = {name: union.tag for union in self._tagged.values() for name in _records(union)}
        """The member that the tag of a union says already, by the name of the record."""
        self._exact = self._find_exact()

    def write(self) -> str:
        """Declares all of them."""
        used = self._followed(self._roots)
        made = [self._declared(each) for name, each in self.declarations.items() if name in used]
        made += [
            f"/// Always {' '.join(lines(shorten(value)))}.\n{_ONLY}pub enum {name} {{\n    #[default]\n"
            f"{attribute(f'rename = {literal(value)}')}    {variant_names([value])[value]},\n}}\n"
            for name, value in self._only.items()
        ]
        return "\n".join(made)

    def _declared(self, each: Declaration) -> str:
        match each:
            case RecordType():
                return self._record(each)
            case Enumeration():
                return self._enumeration(each)
            case Union():
                return self._union(each)
            case Alias():
                return self._alias(each)

    def _record(self, record: RecordType) -> str:
        members = [each for each in record.members if each.name != self._cut.get(record.name)]
        is_exact = record.name in self._exact
        extra = Anything() if is_exact and record.openness == "silent" else record.extra
        rest = rest_name(each.name for each in members) if record.openness == "open" or is_exact else ""
        rest = rest if extra is not None and record.openness != "closed" else ""
        names = member_names((each.name for each in members), [rest] if rest else [])
        fields = "".join(self._field(each, names[each.name], record.name, is_exact) for each in members)
        if rest and extra is not None:
            kept = f"BTreeMap<String, {self.of(extra, '', f'{record.name}Extra')}>"
            fields += (
                f"    /// Members without a field.\n{attribute('flatten')}{assigned(f'pub {rest}:', kept, ',', 4)}"
            )
        head = _DERIVED if any(each.is_required and not _is_only(each.type) for each in members) else _DEFAULTED
        head += "#[serde(deny_unknown_fields)]\n" if record.openness == "closed" else ""
        body = f" {{\n{fields}}}" if fields else " {}"
        return f"{self._told(record.words)}{head}pub struct {record.name}{body}\n"

    def _field(self, member: RecordMember, name: str, home: str, is_exact: bool) -> str:
        attributes = attribute(f"rename = {literal(member.name)}") if name != member.name else ""
        made = self.of(member.type, home, f"{home}{_pascal(name)}")
        if not member.is_required:
            made = f"Option<{made}>"
            attributes += (_PRESENT if is_exact or may_be_null(member.type, self.declarations) else "") + _LEFT_OUT
        elif is_exact and isinstance(member.type, Nullable):
            attributes += attribute('deserialize_with = "Option::deserialize"')
        return f"{self._told(member.words, member.type, 4)}{attributes}{assigned(f'pub {name}:', made, ',', 4)}"

    def _enumeration(self, each: Enumeration) -> str:
        told = self._told(each.words)
        names = variant_names(choice.word for choice in each.choices)
        if each.kind == "string":
            choices = "".join(
                f"{attribute(f'rename = {literal(str(choice.value))}')}    {names[choice.word]},\n"
                for choice in each.choices
            )
            return f"{told}{_WORD}pub enum {each.name} {{\n{choices}}}\n"
        values = [int(choice.value) for choice in each.choices]
        number = next((kind for kind, (least, most) in _WHOLE if least <= min(values) and max(values) <= most), None)
        if number is None:
            self.notes.append(TypeNote(each.pointer, "64 bits do not hold some of these integers; any number is taken"))
            return f"{told}pub type {each.name} = serde_json::Number;\n"
        choices = "".join(f"    {names[choice.word]} = {int(choice.value)},\n" for choice in each.choices)
        return f"{told}{_NUMBER}#[repr({number})]\npub enum {each.name} {{\n{choices}}}\n"

    def _union(self, union: Union) -> str:
        if union.name in self._tagged:
            variants = [(each.word, str(each.tags[0]), each.type) for each in union.variants]
            head = _DERIVED + attribute(f"tag = {literal(str(union.tag))}", 0)
        else:
            ordered = sorted(union.variants, key=lambda each: self._rank(each.type))
            variants = [(each.word, "", each.type) for each in self._distinct(ordered)]
            head = f"{_DERIVED}#[serde(untagged)]\n"
        names = variant_names(word for word, _, _ in variants)
        text = ""
        for word, tag, kind in variants:
            inner = self.of(kind, union.name, f"{union.name}{names[word]}")
            text += f"{attribute(f'rename = {literal(tag)}') if union.name in self._tagged else ''}"
            text += f"    {names[word]}({inner}),\n"
        listed = [each.type.value for each in union.variants if isinstance(each.type, Constant)]
        facts = [f"One of {', '.join(map(shorten, listed))}."] if len(listed) == len(union.variants) else []
        return f"{self._told(union.words, facts=facts)}{head}pub enum {union.name} {{\n{text}}}\n"

    def _distinct(self, variants: Iterable[Variant]) -> Iterator[Variant]:
        """Numbers and booleans that are listed one by one are one variant, since the type cannot tell them apart."""
        met: set[str] = set()
        for each in variants:
            if isinstance(each.type, Constant) and not isinstance(each.type.value, str):
                made = self.of(each.type, "", "")
                if made in met:
                    continue
                met.add(made)
            yield each

    def _alias(self, alias: Alias) -> str:
        told = self._told(alias.words, alias.type)
        made = self.of(alias.type, alias.name, alias.name)
        if self.is_wrapped(alias):
            return f"{told}{_DERIVED}#[serde(transparent)]\npub struct {alias.name}(pub {made});\n"
        return f"{told}{assigned(f'pub type {alias.name} =', made, ';')}"

    def _told(
        self, words: TypeAnnotations, kind: Type | None = None, indent: int = 0, facts: Sequence[str] = ()
    ) -> str:
        """Writes the documentation of a type or a member."""
        facts = list(facts)
        inner = kind.inner if isinstance(kind, Nullable) else kind
        if isinstance(inner, Constant) and not isinstance(inner.value, str):
            facts.append(f"Always {shorten(inner.value)}.")
        if isinstance(inner, TupleOf) and not _is_plain(inner):
            facts.append("A list whose places have types of their own.")
        sentences = [" ".join(lines(each)) for each in describe_type(words, kind, facts=facts)]
        return documentation([lines(words.description), sentences], indent)

    def of(self, kind: Type, home: str, place: str) -> str:
        """The type of a value. `home`: the declaration it is part of, which it may have to be boxed for; `place`: what a type is
        called after that has to be declared for it."""
        match kind:
            case Anything():
                return "Value"
            case Null():
                return "()"
            case Boolean():
                return "bool"
            case Integer():
                return self._integer(kind, home)
            case Number():
                return "f64"
            case TextType():
                return "String"
            case Constant():
                return self._constant(kind, place)
            case ListOf():
                return f"Vec<{self.of(kind.item, '', place)}>"
            case MapOf():
                return f"BTreeMap<String, {self.of(kind.value, '', place)}>"
            case TupleOf():
                if not _is_plain(kind):
                    return "Vec<Value>"
                places = [self.of(each, home, f"{place}{at}") for at, each in enumerate(kind.items, 1)]
                return f"({', '.join(places)}{',' if len(places) == 1 else ''})"
            case Nullable():
                return f"Option<{self.of(kind.inner, home, place)}>"
            case NamedType():
                return f"Box<{kind.name}>" if home and home in self._reached(kind.name) else kind.name

    def _integer(self, kind: Integer, home: str) -> str:
        least, most = kind.minimum, kind.maximum
        if (least is None or _I64[0] <= least <= _I64[1]) and (most is None or most <= _I64[1]):
            return "i64"
        if least is not None and least >= 0 and (most is None or most <= _U64[1]):
            return "u64"
        pointer = self.declarations[home].pointer if home else "#"
        self.notes.append(TypeNote(pointer, "integers that 64 bits do not hold are rounded"))
        return "serde_json::Number"

    def _constant(self, kind: Constant, place: str) -> str:
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

    def is_wrapped(self, alias: Alias) -> bool:
        """Whether an alias stands for itself by way of nothing but aliases, so that it has to be a type of its own."""
        return alias.name in self._followed([alias.type], through=Alias)

    def _followed(self, kinds: Iterable[Type], through: type = object) -> set[str]:
        """The declarations that types mention, and those that these mention if they are of a kind."""
        seen: set[str] = set()
        waiting = list(kinds)
        while waiting:
            for name in _names(waiting.pop()):
                if name not in seen and isinstance(self.declarations[name], through):
                    seen.add(name)
                    waiting += parts_of(self.declarations[name])
        return seen

    def _reached(self, name: str) -> frozenset[str]:
        """The declarations that a value of this one has inside itself, without anything that keeps them elsewhere."""
        if name not in self._reach:
            seen = {name}
            waiting = [name]
            while waiting:
                for inner in (inner for each in parts_of(self.declarations[waiting.pop()]) for inner in _inline(each)):
                    if inner not in seen:
                        seen.add(inner)
                        waiting.append(inner)
            self._reach[name] = frozenset(seen)
        return self._reach[name]

    def _find_tagged(self) -> dict[str, Union]:
        """The unions that serde tells apart by their tag: one text for each variant, whose records stand nowhere else."""
        found = {
            each.name: each
            for each in self.declarations.values()
            if isinstance(each, Union) and each.tag is not None and self._has_plain_tags(each)
        }
        while True:
            tags: dict[str, set[str | None]] = {root.name: {None} for root in self._roots}
            for each in self.declarations.values():
                for name in (name for part in parts_of(each) for name in _names(part)):
                    tags.setdefault(name, set()).add(
                        each.tag if each.name in found and isinstance(each, Union) else None
                    )
            bad = [name for name, each in found.items() if any(tags[record] != {each.tag} for record in _records(each))]
            if not bad:
                return found
            for name in bad:
                del found[name]

    def _has_plain_tags(self, union: Union) -> bool:
        records = [self.declarations[name] for name in _records(union)]
        is_one = all(len(each.tags) == 1 and isinstance(each.tags[0], str) for each in union.variants)
        return (
            is_one
            and len(set(_records(union))) == len(union.variants)
            and all(
                isinstance(record, RecordType)
                and any(each.name == union.tag and isinstance(each.type, Constant) for each in record.members)
                for record in records
            )
        )

    def _find_exact(self) -> set[str]:
        """The records that serde has to tell from others by their members: a variant must not take another one's value and lose
        a part of it."""
        found: set[str] = set()
        for each in self.declarations.values():
            if isinstance(each, Union) and each.name not in self._tagged:
                for kind in ("object", "array"):
                    alike = [variant.type for variant in each.variants if kind in variant.kinds]
                    found |= self._followed(alike) if len(alike) > 1 else set()
        return found

    def _rank(self, kind: Type, seen: frozenset[str] = frozenset()) -> float:
        """The place of a type among the variants of a union: what takes less comes first, and objects last, since serde reads a
        list as a struct too."""
        match kind:
            case Constant(value=value):
                return 0 if isinstance(value, str | bool) else 2
            case Integer():
                return 1
            case Number() | TextType() | Boolean() | Null():
                return 3
            case ListOf():
                return 4 + self._rank(kind.item, seen) / 10
            case TupleOf():
                return 4
            case MapOf():
                return 9
            case Nullable():
                return self._rank(kind.inner, seen)
            case NamedType() if kind.name not in seen:
                declared = self.declarations[kind.name]
                if isinstance(declared, Alias):
                    return self._rank(declared.type, seen | {kind.name})
                if isinstance(declared, Union):
                    return max(self._rank(each.type, seen | {kind.name}) for each in declared.variants)
                return 0 if isinstance(declared, Enumeration) else 8
            case _:
                return 9


_WHOLE = (("i64", _I64), ("u64", _U64))


def _is_plain(kind: TupleOf) -> bool:
    return kind.rest is None and 0 < kind.required == len(kind.items) <= _WIDEST


def _is_only(kind: Type) -> bool:
    return isinstance(kind, Constant) and isinstance(kind.value, str)


def _pascal(name: str) -> str:
    return "".join(word[:1].upper() + word[1:] for word in name.split("_"))


def _records(union: Union) -> list[str]:
    return [each.type.name for each in union.variants if isinstance(each.type, NamedType)]


def _inside(kind: Type) -> tuple[Type, ...]:
    """Returns what a type is made of in Rust, where some tuples are lists of any values."""
    return () if isinstance(kind, TupleOf) and not _is_plain(kind) else types_within(kind)


def _names(kind: Type) -> Iterator[str]:
    return names_in(kind, _inside)


def _inline(kind: Type) -> Iterator[str]:
    """The declarations that a value of a type has in its own space."""
    match kind:
        case NamedType():
            yield kind.name
        case Nullable():
            yield from _inline(kind.inner)
        case TupleOf() if _is_plain(kind):
            for each in kind.items:
                yield from _inline(each)
