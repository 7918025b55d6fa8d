"""Declarations of a tree: interfaces, literal unions with their values, discriminated unions and aliases."""

from __future__ import annotations

from collections.abc import Iterator

from ferrule.contracts.type_tree import (
    Alias,
    Anything,
    Constant,
    Declaration,
    Enumeration,
    Integer,
    ListOf,
    MapOf,
    Member,
    Named,
    Note,
    Nullable,
    Record,
    Text,
    TupleOf,
    Type,
    TypeTree,
    Union,
    Words,
)
from ferrule.definitions.stubs.languages.typescript.layout import (
    LINE,
    WIDTH,
    After,
    Doc,
    Group,
    Indent,
    columns,
    laid_out,
    listed,
)
from ferrule.definitions.stubs.languages.typescript.text import (
    clause,
    comment,
    member_name,
    number,
    pointer_part,
    said,
    shown,
    string,
)
from ferrule.definitions.stubs.languages.typescript.types import (
    bars,
    document,
    document_in_union,
    flat,
    is_hugged,
    parts,
    signature,
)
from ferrule.definitions.stubs.languages.typescript.types import union as union_of

_SAFE = 2**53 - 1
_INHERITED = frozenset(
    ("constructor", "hasOwnProperty", "isPrototypeOf", "propertyIsEnumerable", "toLocaleString", "toString", "valueOf")
)
_OWN = "Every object has something of this name: ask Object.hasOwn whether it was given."


class Declarations:
    """The declarations of a tree, one after another, and what they could not say."""

    def __init__(self, tree: TypeTree) -> None:
        self._circular = _circular(tree)
        self.notes: list[Note] = []
        self.values: list[str] = []
        """The names of lists of values."""
        self.text = "\n".join(self._declared(each) for each in tree.declarations)

    def _declared(self, found: Declaration) -> str:
        match found:
            case Record():
                return self._interface(found)
            case Enumeration():
                return self._enumeration(found)
            case Union():
                return self._union(found)
            case Alias():
                self._note_wide(found.type, found.pointer)
                is_circular = found.name in self._circular
                return comment(_words(found.words, found.type)) + (
                    self._unknown(found) if is_circular else _alias(found.name, found.type)
                )

    def _interface(self, record: Record) -> str:
        lines = "".join(self._member(record, member) for member in record.members)
        if record.openness == "open" and record.extra is not None:
            lines += self._extra(record, record.extra)
        body = f"{{\n{lines}}}" if lines else "{}"
        return f"{comment(_words(record.words))}export interface {record.name} {body}\n"

    def _member(self, record: Record, member: Member) -> str:
        pointer = f"{record.pointer}/properties/{pointer_part(member.name)}"
        self._note_wide(member.type, pointer)
        words = _words(member.words, member.type)
        found = _held(member)
        if found is not member.type:
            self.notes.append(
                Note(pointer, "every object of JavaScript has something of this name; any value is taken")
            )
            words = [*words, *([""] if words else []), _OWN]
        key = member_name(member.name) + ("" if member.is_required else "?")
        line = f"  {key}: {flat(found)};"
        if columns(line) > WIDTH:
            line = laid_out([key, ": ", document(found), ";"], indent=2)
        return comment(words, "  ") + line + "\n"

    def _extra(self, record: Record, extra: Type) -> str:
        """TypeScript wants the named members to fit the type of the others, so that may have to be looser."""
        types = _fitting(record, extra)
        texts = [flat(each) for each in types]
        is_optional = any(not member.is_required for member in record.members)
        if "unknown" in texts:
            types, texts, is_optional = [Anything()], ["unknown"], False
        texts += ["undefined"] if is_optional else []
        if set(texts) != {flat(each) for each in parts(extra)}:
            message = f"members that are not named have the type {' | '.join(texts)}: it has to fit the named ones too"
            self.notes.append(Note(record.pointer, message))
        line = f"  [name: string]: {' | '.join(texts)};"
        if columns(line) <= WIDTH:
            return f"{line}\n"
        value = _united(types, is_optional)
        return laid_out([*signature(value), ";"], indent=2) + "\n"

    def _enumeration(self, found: Enumeration) -> str:
        literals = [string(each.value) if isinstance(each.value, str) else number(each.value) for each in found.choices]
        words = comment(_words(found.words))
        held = [each for each in literals if each is not None]
        if len(held) < len(literals):
            self.notes.append(Note(found.pointer, "some of its values are beyond what a number can hold"))
            return f"{words}export type {found.name} = number;\n"
        values = f"{found.name}Values"
        self.values.append(values)
        listing = comment([f"The values of {{@link {found.name}}}."])
        return f"{words}{_literals(found.name, held)}\n{listing}{_list(values, held, found.kind == 'integer')}"

    def _union(self, found: Union) -> str:
        words = comment(_words(found.words))
        if found.name in self._circular:
            return words + self._unknown(found)
        types = list({flat(each.type): each.type for each in found.variants}.values())
        for variant in found.variants:
            self._note_wide(variant.type, variant.pointer)
        if any(flat(each) == "unknown" for each in types):
            types = [Anything()]
        if len(types) == 1:
            return words + _alias(found.name, types[0])
        return words + _unions(found.name, [flat(each) for each in types], [document_in_union(each) for each in types])

    def _unknown(self, found: Alias | Union) -> str:
        self.notes.append(Note(found.pointer, "it is defined by itself alone; any value is taken"))
        return f"export type {found.name} = unknown;\n"

    def _note_wide(self, found: Type, pointer: str) -> None:
        """Bounds and constants that a number cannot hold."""
        for each in _within(found):
            is_wide = isinstance(each, Integer) and any(
                bound is not None and abs(bound) > _SAFE for bound in (each.minimum, each.maximum)
            )
            if is_wide or (isinstance(each, Constant) and flat(each) == "number"):
                message = "its integers may be beyond 2^53; those that a number cannot hold exactly are refused"
                self.notes.append(Note(pointer, message))


def _held(member: Member) -> Type:
    """The type of a member. Where an object inherits another of its name, one that may be left out has to take anything."""
    is_inherited = member.name in _INHERITED and not member.is_required
    return Anything() if is_inherited and flat(member.type) != "unknown" else member.type


def _within(found: Type) -> Iterator[Type]:
    match found:
        case ListOf():
            yield from _within(found.item)
        case MapOf():
            yield from _within(found.value)
        case Nullable():
            yield from _within(found.inner)
        case TupleOf():
            for item in (*found.items, *(() if found.rest is None else (found.rest,))):
                yield from _within(item)
        case _:
            yield found


def _fitting(record: Record, extra: Type) -> list[Type]:
    """The types of the members, named and not, each once and `null` last."""
    found: dict[str, Type] = {}
    for each in (extra, *(_held(member) for member in record.members)):
        for part in parts(each):
            found.setdefault(flat(part), part)
    kept = [each for text, each in found.items() if text != "null" and not _is_covered(each, found)]
    return kept + ([found["null"]] if "null" in found else [])


def _is_covered(found: Type, among: dict[str, Type]) -> bool:
    """Whether a constant is one of a type that is there too."""
    if not isinstance(found, Constant):
        return False
    kind = {bool: "boolean", str: "string"}.get(type(found.value), "number")
    return kind in among and flat(found) != kind


def _united(types: list[Type], is_optional: bool) -> Doc:
    if len(types) == 1 and not is_optional:
        return document(types[0])
    return union_of(types, "alone", ["undefined"] if is_optional else [])


def _alias(name: str, found: Type) -> str:
    inside = parts(found)
    if len(inside) > 1 and not is_hugged(inside):
        return _unions(name, [flat(each) for each in inside], [document_in_union(each) for each in inside])
    line = f"export type {name} = {flat(found)};"
    if columns(line) > WIDTH:
        line = laid_out(Group([f"export type {name} =", After(document(found)), ";"]))
    return f"{line}\n"


def _literals(name: str, literals: list[str]) -> str:
    if len(literals) > 1:
        return _unions(name, literals, list(literals))
    line = f"export type {name} = {literals[0]};"
    return (line if columns(line) <= WIDTH else f"export type {name} =\n  {literals[0]};") + "\n"


def _unions(name: str, texts: list[str], docs: list[Doc]) -> str:
    line = f"export type {name} = {' | '.join(texts)};"
    if columns(line) > WIDTH:
        line = laid_out(Group([f"export type {name} =", Group(Indent([LINE, bars(docs)])), ";"]))
    return f"{line}\n"


def _list(name: str, literals: list[str], is_numbers: bool) -> str:
    line = f"export const {name} = [{', '.join(literals)}] as const;"
    if columns(line) <= WIDTH:
        return f"{line}\n"
    if is_numbers and len(literals) > 1:
        return _numbers(name, literals)
    return laid_out(Group([f"export const {name} =", After([listed("[", literals, "]"), " as const"]), ";"])) + "\n"


def _numbers(name: str, literals: list[str]) -> str:
    """Numbers fill their lines."""
    begins = f"export const {name} = ["
    is_short = len(begins) <= WIDTH
    indent = "  " if is_short else "    "
    lines = [indent]
    for each in literals:
        if lines[-1].strip() and len(lines[-1]) + len(each) + 2 > WIDTH:
            lines.append(indent)
        lines[-1] += ("" if lines[-1] == indent else " ") + f"{each},"
    opening = begins if is_short else f"export const {name} =\n  ["
    return "\n".join([opening, *lines, f"{indent[2:]}] as const;"]) + "\n"


def _words(words: Words, found: Type | None = None) -> list[str]:
    """What a comment says about a type."""
    lines = said(words.description)
    more = [f"Format: {clause(each)}." for each in _formats(found)]
    if words.limits:
        more.append(f"Limits: {'; '.join(clause(each) for each in words.limits)}.")
    if words.has_default:
        more.append(f"Default: {shown(words.default)} (told, not filled in).")
    more += [f"Example: {shown(each)}" for each in words.examples]
    if words.is_deprecated:
        more.append("@deprecated")
    return [*lines, *([""] if lines and more else []), *more]


def _formats(found: Type | None) -> list[str]:
    each = found.inner if isinstance(found, Nullable) else found
    return [each.format] if isinstance(each, Text) and each.format else []


def _circular(tree: TypeTree) -> set[str]:
    """Names whose types are nothing but each other: TypeScript refuses them."""
    leads = {each.name: _leads(each) for each in tree.declarations}

    def reached(name: str) -> set[str]:
        found: set[str] = set()
        todo = list(leads.get(name, ()))
        while todo:
            each = todo.pop()
            if each not in found:
                found.add(each)
                todo += leads.get(each, ())
        return found

    return {name for name in leads if name in reached(name)}


def _leads(found: Declaration) -> set[str]:
    match found:
        case Alias():
            types: list[Type] = [found.type]
        case Union():
            types = [each.type for each in found.variants]
        case _:
            types = []
    inner = [part for each in types for part in parts(each)]
    return {each.name for each in inner if isinstance(each, Named)}
