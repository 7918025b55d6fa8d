"""Writes records as classes, in each of the flavours, with their members' names and tags.

Members are in snake case, no keyword, and nothing that a class or an annotation needs. Records that msgspec itself tells
apart by their tag have classes that stand for the tag, which is no member then.
"""

from __future__ import annotations

import keyword
import re
from typing import NamedTuple

from ferrule.contracts.type_tree import Constant, Declaration, Member, Named, Record, TypeTree, Union
from ferrule.definitions.stubs.identifiers import Style, identifiers, snake
from ferrule.definitions.stubs.languages.python.annotations import Annotations
from ferrule.definitions.stubs.languages.python.source_text import (
    SKIP,
    call,
    comment,
    definition,
    docstring,
    fits,
    kept,
    quoted,
    told,
)

Tag = tuple[str, str | int]


def native_tags(tree: TypeTree) -> dict[str, Tag]:
    """The tag of each such record, by its name."""
    declared: dict[str, Declaration] = {each.name: each for each in tree.declarations}
    unions = [each for each in tree.declarations if isinstance(each, Union) and each.tag is not None]
    found: dict[str, Tag] = {}
    refused: set[str] = set()
    for union in unions:
        tags = _tags_of(union, declared)
        names = [each.type.name for each in union.variants if isinstance(each.type, Named)]
        if tags is None or any(found.get(name, tag) != tag for name, tag in tags.items()):
            refused.update(names)
        else:
            found |= tags
    return _without(found, refused, unions)


def _without(found: dict[str, Tag], refused: set[str], unions: list[Union]) -> dict[str, Tag]:
    """A union needs the tags of all of its variants, so what one cannot have its others cannot either."""
    is_settled = False
    while not is_settled:
        is_settled = True
        for union in unions:
            names = {each.type.name for each in union.variants if isinstance(each.type, Named)}
            if not names.isdisjoint(refused) and not names <= refused:
                refused |= names
                is_settled = False
    return {name: tag for name, tag in found.items() if name not in refused}


def _tags_of(union: Union, declared: dict[str, Declaration]) -> dict[str, Tag] | None:
    """The tags of its variants; None where msgspec cannot say them."""
    tag = union.tag or ""
    values = [value for variant in union.variants for value in variant.tags]
    kinds = {type(value) for value in values}
    if len(values) != len(union.variants) or kinds not in ({str}, {int}) or not is_plain_name(tag):
        return None
    found: dict[str, Tag] = {}
    for variant in union.variants:
        record = declared.get(variant.type.name) if isinstance(variant.type, Named) else None
        if not isinstance(record, Record) or record.openness == "open":
            return None
        value = variant.tags[0]
        kind = next((member.type for member in record.members if member.name == tag), None)
        if not isinstance(kind, Constant) or type(kind.value) is not type(value) or kind.value != value:
            return None
        found[record.name] = (tag, value)
    return found if len(found) == len(union.variants) else None


def is_plain_name(name: str) -> bool:
    """Whether msgspec takes a text for the name of a field: none that JSON would have to escape."""
    return bool(name) and name.isprintable() and not set(name) & set('\\"')


_LONGEST = 48
_ANNOTATIONS = frozenset(["str", "int", "float", "bool", "list", "dict", "tuple", "object", "type"])
"""A member of such a name would stand for it in the annotations of the members after it."""
_PYDANTIC = """
    construct copy dict fields from_orm json model_computed_fields model_config model_construct model_copy model_dump
    model_dump_json model_extra model_fields model_fields_set model_json_schema model_parametrized_name model_post_init
    model_rebuild model_validate model_validate_json model_validate_strings parse_file parse_obj parse_raw schema schema_json
    update_forward_refs validate
"""
_OF_FLAVOUR = {
    "msgspec": frozenset({"msgspec"}),
    "pydantic": frozenset(_PYDANTIC.split()),
    "dataclass": frozenset({"dataclasses"}),
    "typeddict": frozenset[str](),
}
KEYWORDS = frozenset(keyword.kwlist)


def member_names(record: Record, flavour: str) -> dict[str, str]:
    """The name in Python of each member, by its name on the wire."""
    names = [member.name for member in record.members]
    if flavour == "typeddict":
        return {name: name for name in names}
    style = Style(snake, KEYWORDS | _ANNOTATIONS | _OF_FLAVOUR[flavour], longest=_LONGEST)
    return identifiers(names, style)


def extra_name(record: Record, names: dict[str, str]) -> str:
    """What holds the members that a record does not name."""
    taken = {*names.values(), *names}
    return next(each for each in _candidates() if each not in taken)


def _candidates() -> list[str]:
    return ["extra", "extra_members", *(f"extra_members_{number}" for number in range(2, 5_000))]


_IDENTIFIER = re.compile(r"[A-Za-z][A-Za-z0-9_]*|_[A-Za-z0-9][A-Za-z0-9_]*|_")
_SHADOWING = frozenset(
    ["str", "int", "float", "bool", "list", "dict", "tuple", "Any", "Literal", "NotRequired", "TypedDict", "Union"]
)
_INDENT = " " * 4
_OPENNESS = {"closed": "forbid", "silent": "ignore", "open": "allow"}


class RecordText(NamedTuple):
    """One record to write."""

    record: Record
    annotations: Annotations
    names: dict[str, str]
    """Its members' names in Python."""
    extra: str
    """What holds the other members; empty where they are not kept."""
    tag: Tag | None

    @property
    def members(self) -> list[Member]:
        """Those that its class has: not the one that it stands for."""
        return [each for each in self.record.members if self.tag is None or each.name != self.tag[0]]


def record_of(record: Record, annotations: Annotations, tag: Tag | None) -> RecordText:
    """A record with the names of its members."""
    names = member_names(record, annotations.flavour)
    extra = ""
    if annotations.flavour == "typeddict":
        extra = "" if record.openness == "closed" else "kept"
    elif record.openness == "open":
        extra = "model_extra" if annotations.flavour == "pydantic" else extra_name(record, names)
    return RecordText(record, annotations, names, extra, tag)


def class_of(text: RecordText) -> list[str]:
    """The lines of a record's class."""
    return {"msgspec": _struct, "pydantic": _model, "dataclass": _dataclass, "typeddict": _typed_dict}[
        text.annotations.flavour
    ](text)


def _struct(text: RecordText) -> list[str]:
    text.annotations.uses.add("msgspec")
    options = ["msgspec.Struct", "kw_only=True", "omit_defaults=True"]
    if text.record.openness == "closed":
        options.append("forbid_unknown_fields=True")
    if text.tag is not None:
        options += [f"tag_field={quoted(text.tag[0])}", f"tag={text.tag[1]!r}"]
        options[-1] = f"tag={quoted(text.tag[1])}" if isinstance(text.tag[1], str) else f"tag={text.tag[1]}"
    head = definition(f"class {text.record.name}(", options, "):")
    renamed = _wire_names(text)
    body: list[str] = []
    for member in text.members:
        name, wire = text.names[member.name], renamed[member.name]
        arguments = [f"name={quoted(wire)}"] if wire != name else []
        body += _field(text, member, "msgspec.field(", arguments, "UNSET")
    if text.extra:
        body += _extra(text, "msgspec.field(default_factory=dict)")
    return head + _body(text, body)


def _wire_names(text: RecordText) -> dict[str, str]:
    """What msgspec calls each member in JSON: its name there, but for names that msgspec does not take."""
    found = {each.name: each.name for each in text.members if is_plain_name(each.name)}
    used = {*found, *([text.extra] if text.extra else []), *([text.tag[0]] if text.tag else [])}
    for member in text.members:
        if member.name not in found:
            name = text.names[member.name]
            while name in used:
                name += "_"
            used.add(name)
            found[member.name] = name
    return found


def _model(text: RecordText) -> list[str]:
    text.annotations.uses |= {"BaseModel", "ConfigDict"}
    extra = _OPENNESS[text.record.openness]
    config = ["extra=" + quoted(extra), "populate_by_name=True", "protected_namespaces=()"]
    body = [*call("model_config = ConfigDict(", config, _INDENT), ""]
    for member in text.members:
        name = text.names[member.name]
        wire = quoted(member.name)
        aliases = [f"validation_alias={wire}", f"serialization_alias={wire}"]
        body += _field(text, member, "Field(", aliases if member.name != name else [], "None")
    return [*definition(f"class {text.record.name}(", ["BaseModel"], "):"), *_body(text, body)]


def _dataclass(text: RecordText) -> list[str]:
    text.annotations.uses.add("dataclasses")
    body: list[str] = []
    for member in text.members:
        body += _field(text, member, "", [], "UNSET")
    if text.extra:
        body += _extra(text, "dataclasses.field(default_factory=dict)")
    return ["@dataclasses.dataclass(kw_only=True)", f"class {text.record.name}:", *_body(text, body)]


def _field(text: RecordText, member: Member, function: str, arguments: list[str], unset: str) -> list[str]:
    """One member: what is said about it, its type and its default."""
    annotation = text.annotations.of(member.type)
    presence = text.annotations.presence(member)
    if presence != "required":
        annotation = (
            annotation if annotation in ("Any", "None") or annotation.endswith(" | None") else f"{annotation} | None"
        )
        if annotation == "Any" or (presence == "three" and unset == "UNSET" and annotation == "None"):
            annotation = annotation if unset == "None" else f"{annotation} | UnsetType"
        elif presence == "three" and unset == "UNSET":
            annotation = f"{annotation.removesuffix(' | None')} | UnsetType | None"
    default = {"required": "", "optional": "None", "three": unset}[presence]
    text.annotations.uses.update(({"UNSET"} & {default}) | ({"Field"} if arguments and function == "Field(" else set()))
    if arguments:
        given = [*([f"default={default}"] if default else []), *arguments]
        lines = _assigned(text.names[member.name], annotation, function, given)
    else:
        lines = _annotated(text.names[member.name], annotation, default)
    return [*comment(told(member.words, member.type), _INDENT), *lines]


def _annotated(name: str, annotation: str, default: str) -> list[str]:
    end = f" = {default}" if default else ""
    line = f"{_INDENT}{name}: {annotation}{end}"
    if fits(line):
        return [line]
    head = f"{_INDENT}{name}: {annotation} = ("
    if default and fits(head):
        return [head, f"{_INDENT * 2}{default}", f"{_INDENT})"]
    inner = f"{_INDENT * 2}{annotation}"
    if " | " in annotation and not annotation.endswith("]") and fits(inner):
        return [f"{_INDENT}{name}: (", inner, f"{_INDENT}){end}"]
    return [line + SKIP]


def _assigned(name: str, annotation: str, function: str, arguments: list[str]) -> list[str]:
    return call(f"{name}: {annotation} = {function}", arguments, _INDENT)


def _extra(text: RecordText, default: str) -> list[str]:
    assert text.record.extra is not None
    line = f"{_INDENT}{text.extra}: dict[str, {text.annotations.of(text.record.extra)}] = {default}"
    return [*comment(["Members that it does not name."], _INDENT), kept(line)]


def _body(text: RecordText, fields: list[str]) -> list[str]:
    documented = docstring(told(text.record.words), _INDENT)
    while fields and not fields[-1]:
        fields.pop()
    between = [""] if documented and fields else []
    return [*documented, *between, *fields] or [f"{_INDENT}pass"]


def _typed_dict(text: RecordText) -> list[str]:
    name = text.record.name
    members = [member for member in text.members if member.name]  # no checker takes a key without a name
    text.annotations.uses.add("TypedDict")
    if not all(each.is_required for each in members):
        text.annotations.uses.add("NotRequired")
    if all(_is_attribute(text, member.name) for member in members):
        body: list[str] = []
        for member in members:
            annotation = text.annotations.of(member.type)
            annotation = annotation if member.is_required else f"NotRequired[{annotation}]"
            body += [*comment(told(member.words, member.type), _INDENT), *_annotated(member.name, annotation, "")]
        return [*definition(f"class {name}(", ["TypedDict"], "):"), *_body(text, body)]
    lines = [*comment(told(text.record.words)), f"{name} = TypedDict(", f"{_INDENT}{quoted(name)},", f"{_INDENT}{{"]
    for member in members:
        annotation = quoted(text.annotations.of(member.type))
        annotation = annotation if member.is_required else f"NotRequired[{annotation}]"
        lines += comment(told(member.words, member.type), _INDENT * 2)
        lines.append(f"{_INDENT * 2}{quoted(member.name)}: {annotation},")
    lines += [f"{_INDENT}}},", ")"]
    code = (line for line in lines if not line.lstrip().startswith("#:"))
    if not all(fits(line) for line in code):
        lines[-1] += SKIP
    return lines


def _is_attribute(text: RecordText, name: str) -> bool:
    """Whether a class may have it as it is: no keyword, nothing that would hide a type."""
    is_plain = _IDENTIFIER.fullmatch(name) is not None and name not in KEYWORDS
    return is_plain and name not in _SHADOWING and name not in text.annotations.declared
