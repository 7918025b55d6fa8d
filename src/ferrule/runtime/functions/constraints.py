"""Translates constraints of annotated_types and pydantic annotations into JSON Schema.

A constraint that the schema cannot express is refused, so that none is lost silently. Neither library is imported.
"""

from __future__ import annotations

import dataclasses
import types
from collections.abc import Callable, Iterable, Iterator
from datetime import datetime
from inspect import cleandoc
from typing import Annotated, Any, Literal, Union, get_args, get_origin, get_type_hints, is_typeddict

import msgspec

from ferrule.errors import BindingError
from ferrule.model.value import JsonObject
from ferrule.runtime.functions.docstring import read_docstring
from ferrule.runtime.functions.signature import strip_annotated

_FOREIGN = ("annotated_types", "pydantic")
_UNIONS = (Union, types.UnionType)
_BOUNDS = {
    "gt": "exclusiveMinimum",
    "ge": "minimum",
    "lt": "exclusiveMaximum",
    "le": "maximum",
    "multiple_of": "multipleOf",
}
_LENGTHS = {"min_length": ("minLength", "minItems"), "max_length": ("maxLength", "maxItems")}
_IDLE = frozenset({"Unit", "Strict", "DocInfo", "Doc"})
"""Notes that take no value away: what comes is JSON, whose types are strict as they are."""
_WORDS = ("description", "title", "examples")
"""The parts of a pydantic `Field` that are no constraints."""
_DATED = msgspec.Meta(extra_json_schema={"format": "date-time"})


def translate_notes(annotation: object, place: str) -> object:
    """Returns an annotation whose foreign notes are in a form that msgspec passes on. Raises BindingError for a note
    that no schema can express. A datetime states its format: msgspec omits it unless a time zone is required."""
    if get_origin(annotation) is Annotated:
        inner, *notes = get_args(annotation)
        # msgspec's own `Meta` notes stay; msgspec reads them itself.
        kept = [note for note in notes if not _is_foreign(note) and note is not None]
        foreign = [note for note in notes if _is_foreign(note)]
        said = _translate_foreign(foreign, annotation, place)
        if said:
            kept.append(msgspec.Meta(extra_json_schema=said))
        base = translate_notes(inner, place)
        return Annotated[(base, *kept)] if kept else base
    if annotation is datetime:
        return Annotated[datetime, _DATED]
    return _replace_members(annotation, lambda member: translate_notes(member, place))


def add_field_constraints(
    shared: JsonObject, annotations: Iterable[object], place: str, schema_of: Callable[[Any], object]
) -> None:
    """Adds the constraints of classes' own fields to the classes' schemas. `schema_of` makes the schema of one
    annotation."""
    for kind in _find_classes(annotations):
        schema = shared.get(kind.__name__)
        if not isinstance(schema, dict) or not isinstance(schema.get("properties"), dict):
            continue
        names = dict(_pair_wire_names(kind))
        for field, annotation in _read_hints(kind).items():
            written = schema["properties"].get(names.get(field, field))
            made = translate_notes(annotation, f"the field {field!r} of {kind.__name__} ({place})")
            if written is not None and made is not annotation:
                written.update(schema_of(made))


def add_docstrings(shared: JsonObject, annotations: Iterable[object]) -> None:
    """Adds the prose of docstrings to the classes' schemas, and the texts of attributes to their properties."""
    names = {kind.__name__: dict(_pair_wire_names(kind)) for kind in _find_classes(annotations)}
    for name, schema in shared.items():
        split_docstring(schema, names.get(name, {}))


def split_docstring(schema: JsonObject, names: dict[str, str]) -> None:
    """Moves a docstring's lines about attributes from an object's description to its properties. `names`: their JSON
    names."""
    text, properties = schema.get("description"), schema.get("properties")
    if not isinstance(text, str):
        return
    if not isinstance(properties, dict):  # a tuple has nowhere else to say what its members are
        schema["description"] = cleandoc(text)
        return
    docs = read_docstring(text)
    if docs.prose or not docs.parameters:
        schema["description"] = docs.prose or cleandoc(text)
    else:
        del schema["description"]
    for attribute, said in docs.parameters.items():
        member = properties.get(names.get(attribute, attribute))
        if isinstance(member, dict) and said:
            member.setdefault("description", said)


def find_unused_aliases(name: str, annotation: object) -> Iterator[tuple[str, str]]:
    """Yields the `Field` aliases of a parameter, or of a class it leads to, that nothing here goes by."""
    places = [(name, annotation)]
    places += [
        (f"{kind.__name__}.{field}", hint)
        for kind in _find_classes([annotation])
        for field, hint in _read_hints(kind).items()
    ]
    for place, each in places:
        for note in get_args(each)[1:] if get_origin(each) is Annotated else ():
            alias = _is_foreign(note) and (getattr(note, "validation_alias", None) or getattr(note, "alias", None))
            if alias and alias != place.rpartition(".")[2]:
                yield place, alias if isinstance(alias, str) else str(alias)


def _replace_members(annotation: Any, change: Callable[[Any], Any]) -> object:
    """Returns a union, list, mapping or tuple with its members replaced."""
    origin, members = get_origin(annotation), get_args(annotation)
    if not members or origin is Literal or not (origin in _UNIONS or isinstance(origin, type)):
        return annotation
    changed = tuple(member if member is Ellipsis else change(member) for member in members)
    if all(one is other for one, other in zip(members, changed, strict=True)):
        return annotation
    if origin in _UNIONS:
        return Union[changed]  # noqa: UP007  # made when the program runs
    try:
        return origin[changed]
    except TypeError:
        return annotation


def _is_foreign(note: object) -> bool:
    return type(note).__module__.partition(".")[0] in _FOREIGN


def _translate_foreign(notes: Iterable[object], annotation: object, place: str) -> JsonObject:
    found: JsonObject = {}
    for note in notes:
        parts = _list_constraints(note)
        if parts is None:
            _refuse_note(place, note)
        for key, value in parts or ():
            found.update(_translate_constraint(key, value, annotation, place, note))
    return found


def _list_constraints(note: object) -> list[tuple[str, Any]] | None:
    """Lists a note's constraints by the names both libraries use; None when the note is unknown."""
    # Notes are recognised by their class names, since neither library may be imported.
    if type(note).__name__ in _IDLE:
        return []
    if hasattr(note, "metadata") and hasattr(note, "description"):  # pydantic's Field
        inner = [_list_constraints(one) for one in note.metadata]
        words = [(key, getattr(note, key)) for key in _WORDS if getattr(note, key, None)]
        return None if None in inner else [*(pair for pairs in inner if pairs for pair in pairs), *words]
    if isinstance(note, Iterable) and not isinstance(note, type):  # several in one
        inner = [_list_constraints(one) for one in note]
        return None if None in inner else [pair for pairs in inner if pairs for pair in pairs]
    said = vars(note) if hasattr(note, "__dict__") else {}
    if dataclasses.is_dataclass(note):
        said = {field.name: getattr(note, field.name) for field in dataclasses.fields(note)}
    return [(key, value) for key, value in said.items() if value is not None and value is not False] or None


def _translate_constraint(key: str, value: object, annotation: object, place: str, note: object) -> JsonObject:
    kinds = set(_list_kinds(annotation))
    if key in _BOUNDS and kinds & {int, float} and isinstance(value, int | float) and not isinstance(value, bool):
        return {_BOUNDS[key]: value}
    if key in _LENGTHS and isinstance(value, int) and kinds & {str, list}:
        of_text, of_list = _LENGTHS[key]
        return ({of_text: value} if str in kinds else {}) | ({of_list: value} if list in kinds else {})
    if key == "pattern" and str in kinds:
        return {"pattern": getattr(value, "pattern", value)}
    if (key in ("description", "title") and isinstance(value, str)) or (key == "examples" and isinstance(value, list)):
        return {key: value}
    if key == "strict":
        return {}
    _refuse_note(place, note)
    return {}


def _refuse_note(place: str, note: object) -> None:
    advice = "check it in the function instead, or write it as msgspec.Meta(…)"
    raise BindingError(
        f"{place} has the constraint {note!r}, which JSON Schema cannot express, so it would be lost; {advice}"
    )


def _list_kinds(annotation: object) -> Iterator[type]:
    """Yields the scalar and list types that a constraint may apply to."""
    kind = strip_annotated(annotation)
    while hasattr(kind, "__supertype__"):  # typing.NewType
        kind = strip_annotated(kind.__supertype__)
    if get_origin(kind) in _UNIONS:
        for member in get_args(kind):
            yield from _list_kinds(member)
    elif kind in (int, float, str):
        yield kind
    elif (get_origin(kind) or kind) in (list, tuple, set, frozenset):
        yield list


def _find_classes(annotations: Iterable[object]) -> Iterator[type]:
    """Yields each class with fields that the annotations lead to."""
    found: set[type] = set()
    waiting = list(annotations)
    while waiting:
        annotation = strip_annotated(waiting.pop())
        waiting += [member for member in get_args(annotation) if get_origin(annotation) is not Literal]
        if isinstance(annotation, type) and annotation not in found and _list_fields(annotation):
            found.add(annotation)
            yield annotation
            waiting += _read_hints(annotation).values()


def _list_fields(kind: object) -> tuple[str, ...]:
    if dataclasses.is_dataclass(kind):
        return tuple(field.name for field in dataclasses.fields(kind))
    if isinstance(kind, type) and issubclass(kind, msgspec.Struct):
        return kind.__struct_fields__
    return tuple(kind.__annotations__) if is_typeddict(kind) else tuple(getattr(kind, "_fields", ()))


def _pair_wire_names(kind: object) -> Iterator[tuple[str, str]]:
    """Pairs the fields of a class with their JSON names."""
    fields = _list_fields(kind)
    return zip(fields, getattr(kind, "__struct_encode_fields__", fields), strict=False)


def _read_hints(kind: type) -> dict[str, object]:
    try:
        hints = get_type_hints(kind, include_extras=True)
    except Exception:  # msgspec tells what is wrong with it
        return {}
    return {field: hints[field] for field in _list_fields(kind) if field in hints}
