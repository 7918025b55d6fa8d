"""Writes the types of a tree: interfaces, unions of literals, unions and aliases."""

from __future__ import annotations

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
)
from ferrule.definitions.stubs.comments import describe_type
from ferrule.definitions.stubs.languages.typescript.text import (
    comment,
    fits,
    ignored,
    member_name,
    own_line,
    scalar,
    write_lines,
)
from ferrule.definitions.stubs.type_walk import parts_of

SAFE = 2**53 - 1
"""The largest integer that a number of JavaScript tells from its neighbours."""
_INHERITED = frozenset(
    ("constructor", "hasOwnProperty", "isPrototypeOf", "propertyIsEnumerable", "toLocaleString", "toString", "valueOf")
)


def type_text(found: Type) -> str:
    """Returns a type on one line."""
    match found:
        case TextType():
            return "string"
        case Integer() | Number():
            return "number"
        case Boolean():
            return "boolean"
        case Null():
            return "null"
        case Anything():
            return "unknown"
        case NamedType():
            return found.name
        case Constant():
            return constant(found.value) or "number"
        case ListOf():
            return f"{_operand(found.item)}[]"
        case MapOf():
            return f"{{ [name: string]: {type_text(found.value)} }}"
        case Nullable():
            inner = type_text(found.inner)
            return inner if inner in ("unknown", "null") else f"{inner} | null"
        case TupleOf():
            needed = [type_text(item) for item in found.items[: found.required]]
            optional = [f"{_operand(item)}?" for item in found.items[found.required :]]
            rest = [] if found.rest is None else [f"...{_operand(found.rest)}[]"]
            return f"[{', '.join((*needed, *optional, *rest))}]"


def _operand(found: Type) -> str:
    text = type_text(found)
    return f"({text})" if isinstance(found, Nullable) and " | " in text else text


def constant(value: str | float | bool) -> str | None:
    """Returns a value as a literal; None where JavaScript would round it."""
    if isinstance(value, int) and abs(value) > SAFE:
        return None
    return scalar(value)


class Declarations:
    """The declarations of a tree, one after another, and what they could not say."""

    def __init__(self, tree: TypeTree) -> None:
        self.circular = _circular(tree)
        """Types that are nothing but themselves, which TypeScript refuses."""
        self.notes: list[TypeNote] = []
        self.blocks = [self._declared(each) for each in tree.declarations]

    def _declared(self, found: Declaration) -> str:
        match found:
            case RecordType():
                return comment(_words(found.words)) + self._interface(found)
            case Enumeration():
                texts = [constant(each.value) for each in found.choices]
                return comment(_words(found.words)) + _union(found.name, [each or "number" for each in texts])
            case Union():
                words, types = _words(found.words), [each.type for each in found.variants]
            case Alias():
                words, types = _words(found.words, found.type), [found.type]
        for each in types:
            self._note_wide(each, found.pointer)
        if found.name in self.circular:
            self.notes.append(TypeNote(found.pointer, "it is defined by itself alone; any value is taken"))
            types = [Anything()]
        return comment(words) + _union(found.name, [type_text(each) for each in types])

    def _interface(self, record: RecordType) -> str:
        lines = "".join(self._member(record, member) for member in record.members)
        extra = unnamed_type(record)
        if extra is not None:
            if extra != record.extra:
                message = "members that are not named have the type unknown, as it has to fit the named ones too"
                self.notes.append(TypeNote(record.pointer, message))
            lines += own_line(f"[name: string]: {type_text(extra)};", "  ")
        return f"export interface {record.name} {{\n{lines}}}\n" if lines else f"export interface {record.name} {{}}\n"

    def _member(self, record: RecordType, member: RecordMember) -> str:
        pointer = f"{record.pointer}/properties/{member.name.replace('~', '~0').replace('/', '~1')}"
        self._note_wide(member.type, pointer)
        found = type_text(member.type)
        if is_inherited(member) and found != "unknown":
            self.notes.append(
                TypeNote(pointer, "every object of JavaScript has a member of this name; any value is taken")
            )
            found = "unknown"
        if member.name == "__proto__":
            self.notes.append(TypeNote(pointer, "no checker of JavaScript takes a member of this name"))
        line = f"{member_name(member.name)}{'' if member.is_required else '?'}: {found};"
        return comment(_words(member.words, member.type), "  ") + own_line(line, "  ")

    def _note_wide(self, found: Type, pointer: str) -> None:
        """Notes bounds and constants that a number cannot hold."""
        while isinstance(found, ListOf | Nullable):
            found = found.item if isinstance(found, ListOf) else found.inner
        is_wide = isinstance(found, Integer) and any(abs(bound or 0) > SAFE for bound in (found.minimum, found.maximum))
        if is_wide or (isinstance(found, Constant) and constant(found.value) is None):
            self.notes.append(TypeNote(pointer, "its integers may be beyond 2^53, where a number is not exact"))


def unnamed_type(record: RecordType) -> Type | None:
    """Returns the type of members that are not named, which the named ones have to fit; None where nothing is said of them."""
    if record.openness != "open" or record.extra is None:
        return None
    is_one = all(each.is_required and each.type == record.extra for each in record.members)
    return record.extra if is_one else Anything()


def is_inherited(member: RecordMember) -> bool:
    """Tells whether an object has another member of that name where this one is left out."""
    return member.name in _INHERITED and not member.is_required


def _union(name: str, texts: list[str]) -> str:
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
    return f"{broken}\n" if is_simple else ignored(broken if len(texts) > 1 else line)


def _is_numbers(texts: list[str]) -> bool:
    return all(each == "number" or each[0] in "-0123456789" for each in texts)


def _words(words: TypeAnnotations, found: Type | None = None) -> list[str]:
    """Returns what a comment says about a type."""
    lines = write_lines(words.description)
    more = [" ".join(write_lines(each)) for each in describe_type(words, found, deprecated="")]
    more = [*filter(None, more), *(["@deprecated"] if words.is_deprecated else [])]
    return [*lines, *([""] if lines and more else []), *more]


def _circular(tree: TypeTree) -> set[str]:
    leads = {each.name: _leads(each) for each in tree.declarations}

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


def _leads(found: Declaration) -> set[str]:
    """Returns the names that a declaration is nothing but."""
    types = parts_of(found) if isinstance(found, Alias | Union) else []
    inner = [each.inner if isinstance(each, Nullable) else each for each in types]
    # A map of itself is no interface, and TypeScript looks into it at once.
    inner = [each.value if isinstance(each, MapOf) else each for each in inner]
    return {each.name for each in inner if isinstance(each, NamedType)}
