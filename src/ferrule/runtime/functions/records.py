"""Reads JSON into the types of generated stubs, and writes it back: dataclasses, msgspec structs and pydantic models.

A member of another name on the wire has it in `field(metadata={"name": …})`, `msgspec.field(name=…)` or an alias of
pydantic; `{"rest": True}` marks what holds the members that a record does not name. Unlike `msgspec.convert` it reads
any union: a value becomes the first of its types that it fits and that loses least of it. Nothing here judges a
value: schemas do.
"""

from __future__ import annotations

import dataclasses
import types
from collections.abc import Callable
from functools import cache
from typing import Annotated, Any, Literal, NamedTuple, Union, get_args, get_origin, get_type_hints

import msgspec
from msgspec import UNSET, UnsetType, ValidationError

Read = Callable[[Any], Any]
_UNIONS = (Union, types.UnionType)
_SCALARS: dict[Any, tuple[type, ...]] = {str: (str,), bool: (bool,), float: (float, int), type(None): (type(None),)}


class RecordField(NamedTuple):
    """One member of a record."""

    attribute: str
    name: str
    """On the wire."""
    annotation: Any
    is_required: bool
    keeps_null: bool
    """False where None means that it is left out."""


class RecordShape(NamedTuple):
    """The members of a record."""

    fields: tuple[RecordField, ...]
    rest: RecordField | None
    """The field for members that the record does not name; None where they are dropped."""
    is_closed: bool


def is_record(kind: object) -> bool:
    """Returns True when values of a type are read member by member."""
    return isinstance(kind, type) and (
        issubclass(kind, msgspec.Struct) or dataclasses.is_dataclass(kind) or hasattr(kind, "model_fields")
    )


@cache
def read_shape(kind: Any) -> RecordShape:
    """Reads the members of a record."""
    if issubclass(kind, msgspec.Struct):
        return _read_struct_shape(kind)
    return _read_model_shape(kind) if hasattr(kind, "model_fields") else _read_dataclass_shape(kind)


def _read_struct_shape(kind: Any) -> RecordShape:
    fields: list[RecordField] = []
    rest: RecordField | None = None
    for each in msgspec.structs.fields(kind):
        marks = _read_marks(each.type)
        name = marks.get("name", each.encode_name)
        field = RecordField(each.name, name, each.type, each.required, each.default is UNSET)
        rest, fields = (field, fields) if marks.get("rest") else (rest, [*fields, field])
    return RecordShape(tuple(fields), rest, kind.__struct_config__.forbid_unknown_fields)


def _read_marks(annotation: object) -> dict[str, Any]:
    notes = get_args(annotation)[1:] if get_origin(annotation) is Annotated else ()
    return {key: mark for note in notes for key, mark in (getattr(note, "extra", None) or {}).items()}


def _read_dataclass_shape(kind: Any) -> RecordShape:
    hints = get_type_hints(kind, include_extras=True)
    fields: list[RecordField] = []
    rest: RecordField | None = None
    for each in dataclasses.fields(kind):
        is_required = each.default is dataclasses.MISSING and each.default_factory is dataclasses.MISSING
        name = each.metadata.get("name", each.name)
        field = RecordField(each.name, name, hints[each.name], is_required, each.default is UNSET)
        rest, fields = (field, fields) if each.metadata.get("rest") else (rest, [*fields, field])
    return RecordShape(tuple(fields), rest, is_closed=False)


def _read_model_shape(kind: Any) -> RecordShape:
    kind.model_rebuild()  # a class may name others that were declared after it
    fields = tuple(
        RecordField(
            name,
            name if each.serialization_alias is None else each.serialization_alias,
            each.annotation,
            each.is_required(),
            bool((each.json_schema_extra or {}).get("nullable")),
        )
        for name, each in kind.model_fields.items()
    )
    openness = kind.model_config.get("extra")
    rest = RecordField("__pydantic_extra__", "", dict[str, Any], is_required=False, keeps_null=True)
    return RecordShape(fields, rest if openness == "allow" else None, openness == "forbid")


@cache
def make_type_reader(annotation: object) -> Read:
    """Makes the reader of a type's values. The reader raises msgspec.ValidationError for other values."""
    origin, inside = get_origin(annotation), get_args(annotation)
    if annotation is Any:
        return _read_anything
    if origin is Annotated:
        return make_type_reader(inside[0])
    if origin is Literal:
        return _make_literal_reader(inside)
    if origin in _UNIONS:
        return _make_union_reader([each for each in inside if each is not UnsetType])
    if origin is list:
        return _make_list_reader(make_type_reader(inside[0]))
    if origin is dict:
        return _make_dict_reader(make_type_reader(inside[1]))
    if origin is tuple:
        return _make_tuple_reader([make_type_reader(each) for each in inside])
    if is_record(annotation):
        return _make_record_reader(annotation)
    return (
        _read_integer
        if annotation is int
        else _make_scalar_reader(_SCALARS[type(None) if annotation is None else annotation])
    )


def _read_anything(value: object) -> object:
    return value


def _read_integer(value: object) -> int:
    """Reads an integer; JSON Schema accepts 3.0 as one."""
    if type(value) is float and value.is_integer():
        return int(value)
    if type(value) is not int:
        raise ValidationError(f"Expected `int`, got `{type(value).__name__}`")
    return value


def _make_scalar_reader(kinds: tuple[type, ...]) -> Read:
    def read(value: object) -> object:
        # The exact type: in Python True is an int, too.
        if type(value) not in kinds:
            raise ValidationError(f"Expected `{kinds[0].__name__}`, got `{type(value).__name__}`")
        return value

    return read


def _make_literal_reader(values: tuple[object, ...]) -> Read:
    # In Python True equals 1; in JSON it does not.
    known = {(type(each) is bool, each): each for each in values}

    def read(value: object) -> object:
        if type(value) not in (str, int, float, bool) or (type(value) is bool, value) not in known:
            raise ValidationError("Expected one of the values that are listed")
        return known[type(value) is bool, value]

    return read


def _make_list_reader(item: Read) -> Read:
    def read(value: object) -> list[Any]:
        if not isinstance(value, list):
            raise ValidationError(f"Expected `array`, got `{type(value).__name__}`")
        return [item(each) for each in value]

    return read


def _make_dict_reader(member: Read) -> Read:
    def read(value: object) -> dict[str, Any]:
        if not isinstance(value, dict):
            raise ValidationError(f"Expected `object`, got `{type(value).__name__}`")
        return {name: member(each) for name, each in value.items()}

    return read


def _make_tuple_reader(items: list[Read]) -> Read:
    def read(value: object) -> tuple[object, ...]:
        if not isinstance(value, list) or len(value) != len(items):
            raise ValidationError(f"Expected `array` of length {len(items)}")
        return tuple(item(each) for item, each in zip(items, value, strict=True))

    return read


def _make_union_reader(members: list[Any]) -> Read:
    readers = [make_type_reader(each) for each in members]

    def read(value: object) -> object:
        made: list[Any] = []
        why = ""
        for each in readers:
            try:
                made.append(each(value))
            except ValidationError as error:
                why = why or str(error)
        if not made:
            raise ValidationError(why)
        # Several members of the union fit; the one that keeps most of the value wins.
        return made[0] if len(made) == 1 else max(made, key=lambda each: _count_values(to_plain(each)))

    return read


def _count_values(value: object) -> int:
    """Counts the values inside a value; of several equal ones `max` takes the first."""
    if isinstance(value, dict):
        value = value.values()
    elif not isinstance(value, list):
        return 1
    return 1 + sum(map(_count_values, value))


def _make_record_reader(kind: Any) -> Read:
    def read(value: Any) -> object:
        if not isinstance(value, dict):
            raise ValidationError(f"Expected `object`, got `{type(value).__name__}`")
        shape = read_shape(kind)
        given: dict[str, Any] = {}
        others = dict(value)
        for field in shape.fields:
            if field.name in others:
                given[field.attribute] = _read_member(field, others.pop(field.name))
            elif field.is_required:
                raise ValidationError(f"Object missing required field `{field.name}`")
        if others and shape.is_closed:
            raise ValidationError(f"Object contains unknown field `{next(iter(others))}`")
        if shape.rest is not None:
            given[shape.rest.attribute] = _read_member(shape.rest, others)
        return _build_model(kind, given) if hasattr(kind, "model_fields") else kind(**given)

    return read


def _read_member(field: RecordField, value: object) -> object:
    try:
        return make_type_reader(field.annotation)(value)
    except ValidationError as error:
        words, _, path = str(error).partition(" - at `$")
        raise ValidationError(f"{words} - at `$.{field.name}{path.removesuffix('`')}`") from None


def _build_model(kind: Any, given: dict[str, Any]) -> object:
    """Builds a pydantic model from members that were read already; its own constructor would mistake names for
    aliases of others."""
    made = kind.__new__(kind)
    others = given.pop("__pydantic_extra__", None)
    missing = {name: each.get_default() for name, each in kind.model_fields.items() if name not in given}
    object.__setattr__(made, "__dict__", missing | given)
    object.__setattr__(made, "__pydantic_fields_set__", set(given))
    object.__setattr__(made, "__pydantic_extra__", others)
    object.__setattr__(made, "__pydantic_private__", None)
    return made


def to_plain(value: object) -> Any:
    """Converts a record to JSON values; other values stay as they are."""
    if isinstance(value, list | tuple):
        return [to_plain(each) for each in value]
    if isinstance(value, dict):
        return {name: to_plain(each) for name, each in value.items()}
    return _dump_record(value) if is_record(type(value)) else value


def _dump_record(value: object) -> dict[str, Any]:
    kind: Any = type(value)
    shape = read_shape(kind)
    set_ones = getattr(value, "__pydantic_fields_set__", None)
    found: dict[str, Any] = {}
    for field in shape.fields:
        member = getattr(value, field.attribute)
        is_left_out = member is UNSET or (set_ones is not None and field.attribute not in set_ones)
        if field.is_required or not (is_left_out or (member is None and not field.keeps_null)):
            found[field.name] = to_plain(member)
    if shape.rest is not None:
        found |= to_plain(getattr(value, shape.rest.attribute) or {})
    return found
