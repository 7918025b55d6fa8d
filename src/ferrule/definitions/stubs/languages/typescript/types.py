"""Writes the types of a tree: interfaces, unions of literals, unions and aliases."""

from __future__ import annotations

from ferrule.contracts import type_tree as types
from ferrule.definitions.stubs.comments import describe_type
from ferrule.definitions.stubs.languages.typescript.text import (
    fits,
    ignore_layout,
    quote_member,
    write_comment,
    write_line,
    write_lines,
    write_scalar,
)
from ferrule.definitions.stubs.type_walk import parts_of

SAFE = 2**53 - 1
"""The largest integer that a number of JavaScript tells from its neighbours."""
_INHERITED = frozenset(
    ("constructor", "hasOwnProperty", "isPrototypeOf", "propertyIsEnumerable", "toLocaleString", "toString", "valueOf")
)


def write_type(found: types.Type) -> str:
    """Returns a type on one line."""
    match found:
        case types.TextType():
            return "string"
        case types.Integer() | types.Number():
            return "number"
        case types.Boolean():
            return "boolean"
        case types.Null():
            return "null"
        case types.Anything():
            return "unknown"
        case types.NamedType():
            return found.name
        case types.Constant():
            return write_constant(found.value) or "number"
        case types.ListOf():
            return f"{_write_operand(found.item)}[]"
        case types.MapOf():
            return f"{{ [name: string]: {write_type(found.value)} }}"
        case types.Nullable():
            inner = write_type(found.inner)
            return inner if inner in ("unknown", "null") else f"{inner} | null"
        case types.TupleOf():
            needed = [write_type(item) for item in found.items[: found.required]]
            optional = [f"{_write_operand(item)}?" for item in found.items[found.required :]]
            rest = [] if found.rest is None else [f"...{_write_operand(found.rest)}[]"]
            return f"[{', '.join((*needed, *optional, *rest))}]"


def _write_operand(found: types.Type) -> str:
    text = write_type(found)
    return f"({text})" if isinstance(found, types.Nullable) and " | " in text else text


def write_constant(value: str | float | bool) -> str | None:
    """Returns a value as a literal; None where JavaScript would round it."""
    if isinstance(value, int) and abs(value) > SAFE:
        return None
    return write_scalar(value)


class Declarations:
    """The declarations of a tree, one after another, and what they could not say."""

    def __init__(self, tree: types.TypeTree) -> None:
        self.circular = _find_circular(tree)
        """Types that are nothing but themselves, which TypeScript refuses."""
        self.notes: list[types.TypeNote] = []
        self.blocks = [self._write_declaration(each) for each in tree.declarations]

    def _write_declaration(self, found: types.Declaration) -> str:
        match found:
            case types.RecordType():
                return write_comment(_describe(found.words)) + self._write_interface(found)
            case types.Enumeration():
                texts = [write_constant(each.value) for each in found.choices]
                return write_comment(_describe(found.words)) + _write_union(
                    found.name, [each or "number" for each in texts]
                )
            case types.Union():
                words, parts = _describe(found.words), [each.type for each in found.variants]
            case types.Alias():
                words, parts = _describe(found.words, found.type), [found.type]
        for each in parts:
            self._note_wide(each, found.pointer)
        if found.name in self.circular:
            self.notes.append(types.TypeNote(found.pointer, "it is defined by itself alone; any value is taken"))
            parts = [types.Anything()]
        return write_comment(words) + _write_union(found.name, [write_type(each) for each in parts])

    def _write_interface(self, record: types.RecordType) -> str:
        lines = "".join(self._write_member(record, member) for member in record.members)
        extra = find_unnamed_type(record)
        if extra is not None:
            if extra != record.extra:
                message = "members that are not named have the type unknown, as it has to fit the named ones too"
                self.notes.append(types.TypeNote(record.pointer, message))
            lines += write_line(f"[name: string]: {write_type(extra)};", "  ")
        return f"export interface {record.name} {{\n{lines}}}\n" if lines else f"export interface {record.name} {{}}\n"

    def _write_member(self, record: types.RecordType, member: types.RecordMember) -> str:
        pointer = f"{record.pointer}/properties/{member.name.replace('~', '~0').replace('/', '~1')}"
        self._note_wide(member.type, pointer)
        found = write_type(member.type)
        if is_inherited(member) and found != "unknown":
            self.notes.append(
                types.TypeNote(pointer, "every object of JavaScript has a member of this name; any value is taken")
            )
            found = "unknown"
        if member.name == "__proto__":
            self.notes.append(types.TypeNote(pointer, "no checker of JavaScript takes a member of this name"))
        line = f"{quote_member(member.name)}{'' if member.is_required else '?'}: {found};"
        return write_comment(_describe(member.words, member.type), "  ") + write_line(line, "  ")

    def _note_wide(self, found: types.Type, pointer: str) -> None:
        """Notes bounds and constants that a number cannot hold."""
        while isinstance(found, types.ListOf | types.Nullable):
            found = found.item if isinstance(found, types.ListOf) else found.inner
        is_wide = isinstance(found, types.Integer) and any(
            abs(bound or 0) > SAFE for bound in (found.minimum, found.maximum)
        )
        if is_wide or (isinstance(found, types.Constant) and write_constant(found.value) is None):
            self.notes.append(types.TypeNote(pointer, "its integers may be beyond 2^53, where a number is not exact"))


def find_unnamed_type(record: types.RecordType) -> types.Type | None:
    """Returns the type of members that are not named, which the named ones have to fit; None where nothing is said of them."""
    if record.openness != "open" or record.extra is None:
        return None
    is_one = all(each.is_required and each.type == record.extra for each in record.members)
    return record.extra if is_one else types.Anything()


def is_inherited(member: types.RecordMember) -> bool:
    """Tells whether an object has another member of that name where this one is left out."""
    return member.name in _INHERITED and not member.is_required


def _write_union(name: str, texts: list[str]) -> str:
    texts = ["unknown"] if "unknown" in texts else ["number"] if "number" in texts and _is_numbers(texts) else texts
    texts = list(dict.fromkeys(texts))
    line = f"export type {name} = {' | '.join(texts)};"
    if fits(line):
        return f"{line}\n"
    broken = f"export type {name} =" + "".join(f"\n  | {each}" for each in texts) + ";"
    second = f"  {' | '.join(texts)};"
    is_plain = not any(each[0] in "{[" for each in texts)
    if is_plain and fits(second):
        return f"export type {name} =\n{second}\n"
    is_simple = is_plain and len(texts) > 1 and all(fits(f"  | {each};") for each in texts)
    return f"{broken}\n" if is_simple else ignore_layout(broken if len(texts) > 1 else line)


def _is_numbers(texts: list[str]) -> bool:
    return all(each == "number" or each[0] in "-0123456789" for each in texts)


def _describe(words: types.TypeAnnotations, found: types.Type | None = None) -> list[str]:
    """Returns what a comment says about a type."""
    lines = write_lines(words.description)
    more = [" ".join(write_lines(each)) for each in describe_type(words, found, deprecated="")]
    more = [*filter(None, more), *(["@deprecated"] if words.is_deprecated else [])]
    return [*lines, *([""] if lines and more else []), *more]


def _find_circular(tree: types.TypeTree) -> set[str]:
    leads = {each.name: _list_targets(each) for each in tree.declarations}

    def reach(name: str) -> set[str]:
        found: set[str] = set()
        todo = [*leads[name]]
        while todo:
            each = todo.pop()
            if each not in found:
                found.add(each)
                todo += leads[each]
        return found

    return {name for name, targets in leads.items() if targets and name in reach(name)}


def _list_targets(found: types.Declaration) -> set[str]:
    """Returns the names that a declaration is nothing but."""
    parts = parts_of(found) if isinstance(found, types.Alias | types.Union) else []
    inner = [each.inner if isinstance(each, types.Nullable) else each for each in parts]
    # A map of itself is no interface, and TypeScript looks into it at once.
    inner = [each.value if isinstance(each, types.MapOf) else each for each in inner]
    return {each.name for each in inner if isinstance(each, types.NamedType)}
