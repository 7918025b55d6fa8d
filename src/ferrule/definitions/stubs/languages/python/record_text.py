"""Records as classes, in each of the flavours."""

from __future__ import annotations

import re
from typing import NamedTuple

from ferrule.definitions.stubs.languages.python.annotations import Annotations
from ferrule.definitions.stubs.languages.python.member_names import KEYWORDS, extra_name, member_names
from ferrule.definitions.stubs.languages.python.source_text import (
    SKIP,
    call,
    comment,
    definition,
    docstring,
    fits,
    kept,
    quoted,
)
from ferrule.definitions.stubs.languages.python.tags import Tag, is_plain_name
from ferrule.definitions.stubs.languages.python.words import told
from ferrule.model.type_tree import Member, Record

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
