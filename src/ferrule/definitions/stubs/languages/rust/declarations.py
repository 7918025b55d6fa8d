"""Declarations of a tree in Rust: structs, enumerations, unions and aliases, each with its documentation.

What serde's derive says exactly is derived. The rest is a plain type followed by a macro of `support/wire.rs`, which writes how
it is read and written.
"""

from __future__ import annotations

from ferrule.contracts.type_tree import (
    Alias,
    Anything,
    Constant,
    Declaration,
    Enumeration,
    Member,
    Note,
    Nullable,
    Record,
    Text,
    TupleOf,
    Type,
    Union,
    Words,
)
from ferrule.definitions.stubs.languages.rust.layout import Shape, attribute, braced, typed, variant, wrapper
from ferrule.definitions.stubs.languages.rust.shapes import I64, Shapes, value_literal
from ferrule.definitions.stubs.languages.rust.text import (
    documentation,
    lines,
    literal,
    member_names,
    rest_name,
    shown,
    variant_names,
)

_DERIVED = "#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]\n"
_DEFAULTED = "#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]\n"
_BARE = "#[derive(Debug, Clone, PartialEq)]\n"
_CHOSEN = "#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash{})]\n"
_U64 = 2**64 - 1


def declared(each: Declaration, shapes: Shapes, document: str) -> str:
    """The text of a declaration. `document`: what the schema is called that its pointers lead into."""
    match each:
        case Record():
            return _record(each, shapes)
        case Enumeration():
            return _texts(each) if each.kind == "string" else _integers(each, shapes)
        case Union():
            return _union(each, shapes, document)
        case Alias():
            return _alias(each, shapes)


def constants(shapes: Shapes) -> str:
    """The module of the types that have one value each; nothing where there are none."""
    if not shapes.constants:
        return ""
    made = "".join(
        f"    wire::constant! {{ {name} = {value_literal(constant.value)} }}\n"
        for name, constant in shapes.constants.items()
    )
    return f"/// Types with one value each.\npub mod constants {{\n    use super::wire;\n\n{made}}}\n"


def arrays(shapes: Shapes) -> str:
    """The structs of arrays by place. Types inside may need more of them."""
    made: list[str] = []
    done = 0
    while done < len(shapes.arrays):
        name, kind = list(shapes.arrays.values())[done]
        made.append(_array(name, kind, shapes))
        done += 1
    return "\n".join(made)


def told(words: Words, kind: Type | None = None, indent: int = 0) -> str:
    """What a reader is told of a type or a member."""
    facts = [*words.limits]
    inner = kind.inner if isinstance(kind, Nullable) else kind
    if isinstance(inner, Text) and inner.format and not any(inner.format in limit for limit in facts):
        facts.insert(0, f"format {inner.format}")
    if words.has_default:
        facts.append(f"default {shown(words.default)}, which nobody fills in")
    said = [" ".join(lines(f"{fact[:1].upper()}{fact[1:]}.")) for fact in facts]
    examples = [" ".join(lines(f"Example: {shown(example)}")) for example in words.examples[:3]]
    deprecated = ["Deprecated."] if words.is_deprecated else []
    return documentation([lines(words.description), deprecated], indent, kept=(*said, *examples))


def _record(record: Record, shapes: Shapes) -> str:
    rest = rest_name(each.name for each in record.members) if record.openness == "open" else ""
    names = member_names((each.name for each in record.members), [rest] if rest else [])
    fields = [_field(each, names[each.name], record.name, shapes) for each in record.members]
    if rest and record.extra is not None:
        kept = Shape("BTreeMap", (Shape("String"), shapes.of(record.extra, "", f"{record.name}Extra")))
        way = "flatten" if isinstance(record.extra, Anything) else 'flatten, deserialize_with = "wire::rest"'
        fields.append(f"    /// Members without a field.\n{attribute(way)}{typed(f'pub {rest}:', kept, ',', 4)}\n")
    is_free = all(not each.is_required or isinstance(each.type, Constant) for each in record.members)
    head = braced(f"pub struct {record.name}")
    body = "".join(fields)
    return f"{told(record.words)}{_DEFAULTED if is_free else _DERIVED}{head}{f'{chr(10)}{body}' if body else ''}}}\n"


def _field(member: Member, name: str, home: str, shapes: Shapes) -> str:
    attributes = attribute(f"rename = {literal(member.name)}") if name != member.name else ""
    shape = shapes.of(member.type, home, f"{home}{_pascal(name)}")
    if not member.is_required:
        shape = Shape("Option", (shape,))
        if shapes.may_be_null(member.type):
            attributes += attribute('default, deserialize_with = "wire::present"')
            attributes += attribute('skip_serializing_if = "Option::is_none"')
        else:
            attributes += attribute('default, skip_serializing_if = "Option::is_none"')
    elif isinstance(member.type, Nullable):
        attributes += attribute('deserialize_with = "wire::nullable"')
    return f"{told(member.words, member.type, 4)}{attributes}{typed(f'pub {name}:', shape, ',', 4)}\n"


def _pascal(name: str) -> str:
    return "".join(word[:1].upper() + word[1:] for word in name.split("_"))


def _texts(enumeration: Enumeration) -> str:
    names = variant_names(each.word for each in enumeration.choices)
    choices = "".join(
        f"{attribute(f'rename = {literal(str(each.value))}')}    {names[each.word]},\n" for each in enumeration.choices
    )
    derived = _CHOSEN.format(", Serialize, Deserialize")
    return f"{told(enumeration.words)}{derived}{braced(f'pub enum {enumeration.name}')}\n{choices}}}\n"


def _integers(enumeration: Enumeration, shapes: Shapes) -> str:
    values = [int(each.value) for each in enumeration.choices]
    is_signed = min(values) >= I64[0] and max(values) <= I64[1]
    if not is_signed and not (min(values) >= 0 and max(values) <= _U64):
        shapes.notes.append(
            Note(enumeration.pointer, "64 bits do not hold some of these integers; any number is taken")
        )
        return f"{told(enumeration.words)}pub type {enumeration.name} = serde_json::Number;\n"
    number = "i64" if is_signed else "u64"
    names = variant_names(each.word for each in enumeration.choices)
    choices = "".join(f"    {names[each.word]} = {int(each.value)},\n" for each in enumeration.choices)
    listed = "".join(f"        {names[each.word]},\n" for each in enumeration.choices)
    return (
        f"{told(enumeration.words)}{_CHOSEN.format('')}#[repr({number})]\n"
        f"{braced(f'pub enum {enumeration.name}')}\n{choices}}}\n\n"
        f"wire::integers! {{\n    {enumeration.name}: {number} {{\n{listed}    }}\n}}\n"
    )


def _union(union: Union, shapes: Shapes, document: str) -> str:
    names = variant_names(each.word for each in union.variants)
    made = "".join(
        variant(names[each.word], shapes.of(each.type, union.name, f"{union.name}{names[each.word]}"))
        for each in union.variants
    )
    if union.tag is not None:
        head = f"wire::tagged! {{\n    {union.name} by {literal(union.tag)} {{\n"
        ways = [f"{names[each.word]}: {' | '.join(map(value_literal, each.tags))}" for each in union.variants]
    else:
        head = f"wire::untagged! {{\n    {union.name} in {document} {{\n"
        ways = [f"{names[each.word]} at {literal(each.pointer)}" for each in union.variants]
    listed = "".join(f"        {way},\n" for way in ways)
    enum = f"{told(union.words)}{_BARE}{braced(f'pub enum {union.name}')}\n{made}}}\n"
    return f"{enum}\n{head}{listed}    }}\n}}\n"


def _alias(alias: Alias, shapes: Shapes) -> str:
    documented = told(alias.words, alias.type)
    if shapes.is_wrapped(alias):
        shape = shapes.of(alias.type, alias.name, alias.name)
        return f"{documented}{_DERIVED}#[serde(transparent)]\n{wrapper(alias.name, shape)}"
    shape = shapes.of(alias.type, alias.name, alias.name)
    return f"{documented}{typed(f'pub type {alias.name} =', shape, ';', 0)}\n"


def _array(name: str, kind: TupleOf, shapes: Shapes) -> str:
    fields = [f"item{at}" for at in range(1, len(kind.items) + 1)]
    body = ""
    for at, (field, item) in enumerate(zip(fields, kind.items, strict=True)):
        shape = shapes.of(item, "", f"{name}{at + 1}")
        made = shape if at < kind.required else Shape("Option", (shape,))
        body += f"{typed(f'pub {field}:', made, ',', 4)}\n"
    if kind.rest is not None:
        kept = Shape("Vec", (shapes.of(kind.rest, "", f"{name}Rest"),))
        body += f"    /// What follows.\n{typed('pub rest:', kept, ',', 4)}\n"
    needed, maybe = ", ".join(fields[: kind.required]), ", ".join(fields[kind.required :])
    rest = "{ rest }" if kind.rest is not None else "{}"
    return (
        f"/// An array whose places have types of their own.\n{_BARE}{braced(f'pub struct {name}')}\n{body}}}\n\n"
        f"wire::places! {{\n    {name} {_listed(needed)} maybe {_listed(maybe)} rest {rest}\n}}\n"
    )


def _listed(names: str) -> str:
    return f"{{ {names} }}" if names else "{}"
