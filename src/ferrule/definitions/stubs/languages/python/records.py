"""Writes records as classes: msgspec structs or pydantic models.

Members are in snake case, no keyword, and nothing that a class or an annotation needs. Where that is not their name on the
wire, the class says so in the words of its library, which `runtime/functions/records.py` reads.
"""

from __future__ import annotations

import keyword
from typing import NamedTuple

from ferrule.contracts.type_tree import Anything, RecordMember, RecordType
from ferrule.definitions.stubs.identifiers import Style, identifiers, snake
from ferrule.definitions.stubs.languages.python.annotations import PythonAnnotations, join_types
from ferrule.definitions.stubs.languages.python.source_text import (
    keep_line,
    quote,
    write_call,
    write_comment,
    write_docstring,
    write_words,
)

_LONGEST = 48
_ANNOTATIONS = frozenset(
    ["str", "int", "float", "bool", "list", "dict", "tuple", "object", "type", "msgspec", "dataclasses"]
)
"""A member of such a name would stand for it in the annotations of the members after it."""
_PYDANTIC = """
    construct copy dict fields from_orm json model_computed_fields model_config model_construct model_copy model_dump
    model_dump_json model_extra model_fields model_fields_set model_json_schema model_parametrized_name model_post_init
    model_rebuild model_validate model_validate_json model_validate_strings parse_file parse_obj parse_raw schema schema_json
    update_forward_refs validate
"""
KEYWORDS = frozenset(keyword.kwlist)
_TAKEN = KEYWORDS | _ANNOTATIONS | frozenset(_PYDANTIC.split())
_INDENT = " " * 4


class FieldText(NamedTuple):
    """One field of a class, in the words of its library."""

    name: str
    annotation: str
    default: str
    """Empty for a field that must be given."""
    arguments: list[str]
    """What is said about it beside its default."""
    words: list[str]


def member_names(record: RecordType) -> dict[str, str]:
    """Returns the name in Python of each member, by its name on the wire."""
    return identifiers([member.name for member in record.members], Style(snake, _TAKEN, longest=_LONGEST))


def write_class(record: RecordType, annotations: PythonAnnotations) -> list[str]:
    """Returns the lines of a record's class."""
    flavour = annotations.flavour
    names = member_names(record)
    members = [each for each in record.members if flavour != "msgspec" or _is_plain_name(each.name)]
    for member in record.members:
        if member not in members:
            annotations.note(record, f"msgspec cannot name the member {member.name!r}; it is among the others")
    fields = [_make_field(member, names[member.name], record, annotations) for member in members]
    is_open = record.openness == "open" or len(members) < len(record.members)
    match flavour:
        case "pydantic":
            return _write_model(record, fields, annotations, names)
        case _:
            annotations.uses.add("msgspec")
            options = ["msgspec.Struct", "kw_only=True", "omit_defaults=True"]
            options += ["forbid_unknown_fields=True"] if record.openness == "closed" and not is_open else []
            head = write_call(f"class {record.name}(", options, end="):")
    fields += [_make_rest(record, names, annotations, is_mixed=len(members) < len(record.members))] if is_open else []
    return [*head, *_write_body(record, fields, "msgspec.field(")]


def _is_plain_name(name: str) -> bool:
    """Tells whether msgspec takes a text for the name of a field: none that JSON would have to escape."""
    return bool(name) and name.isprintable() and not set(name) & set('\\"')


def _make_field(member: RecordMember, name: str, record: RecordType, annotations: PythonAnnotations) -> FieldText:
    annotation = annotations.write(member.type, record)
    default, arguments = "", []
    is_model = annotations.flavour == "pydantic"
    if annotations.has_three_states(member) and not is_model:
        annotations.uses.add("UNSET")
        annotation, default = f"{annotation} | UnsetType", "UNSET"
    elif not member.is_required:
        annotation, default = join_types([annotation.removesuffix(" | None"), "None"]), "None"
        if is_model and annotations.has_three_states(member):
            arguments = ['json_schema_extra={"nullable": True}']
    if name != member.name:
        wire = quote(member.name)
        ways = {
            "msgspec": [f"name={wire}"],
            "pydantic": [f"validation_alias={wire}", f"serialization_alias={wire}"],
        }
        arguments = [*ways[annotations.flavour], *arguments]
    return FieldText(name, annotation, default, arguments, write_words(member.words, member.type))


def _make_rest(
    record: RecordType, names: dict[str, str], annotations: PythonAnnotations, *, is_mixed: bool
) -> FieldText:
    taken = {*names, *names.values()}
    ways = ("extra", "extra_members", *(f"extra_members_{number}" for number in range(2, len(taken) + 3)))
    name = next(each for each in ways if each not in taken)
    said = annotations.write(Anything() if is_mixed or record.extra is None else record.extra, record)
    annotations.uses.add("Annotated")
    annotation = f'Annotated[dict[str, {said}], msgspec.Meta(extra={{"rest": True}})]'
    return FieldText(name, annotation, "", ["default_factory=dict"], ["Members that it does not name."])


def _write_model(
    record: RecordType, fields: list[FieldText], annotations: PythonAnnotations, names: dict[str, str]
) -> list[str]:
    annotations.uses.add("BaseModel")
    options = {"closed": ['extra="forbid"'], "silent": [], "open": ['extra="allow"']}[record.openness]
    if record.openness == "open" and not isinstance(record.extra, Anything | None):
        annotations.note(record, "the type of members that it does not name is not told")
    options = [*options, *(["populate_by_name=True"] if any(wire != name for wire, name in names.items()) else [])]
    options += ["protected_namespaces=()"] if any(name.startswith("model_") for name in names.values()) else []
    if any(each.arguments for each in fields):
        annotations.uses.add("Field")
    before: list[str] = []
    if options:
        annotations.uses.add("ConfigDict")
        before = write_call("model_config = ConfigDict(", options, _INDENT)
    return [f"class {record.name}(BaseModel):", *_write_body(record, fields, "Field(", before)]


def _write_body(
    record: RecordType, fields: list[FieldText], function: str, before: list[str] | None = None
) -> list[str]:
    lines = [line for each in fields for line in _write_field(each, function)]
    parts = [write_docstring(write_words(record.words), _INDENT), before or [], lines]
    body = [line for part in parts if part for line in ("", *part)][1:]
    return body or [f"{_INDENT}pass"]


def _write_field(field: FieldText, function: str) -> list[str]:
    head = f"{field.name}: {field.annotation}"
    words = write_comment(field.words, _INDENT)
    if field.arguments:
        default = [f"default={field.default}"] if field.default else []
        return [*words, *write_call(f"{head} = {function}", [*default, *field.arguments], _INDENT)]
    return [*words, keep_line(f"{_INDENT}{head}{f' = {field.default}' if field.default else ''}")]
