"""Makes JSON Schemas from Python types: of a function's arguments, and of its return value."""

from __future__ import annotations

from collections.abc import Callable
from contextlib import suppress
from pathlib import PurePath
from typing import Annotated, Any, get_args, get_origin

import msgspec

from ferrule.errors import BindingError
from ferrule.model.value import JsonObject
from ferrule.runtime.functions.constraints import (
    add_docstrings,
    add_field_constraints,
    split_docstring,
    translate_notes,
)
from ferrule.runtime.functions.docstring import Docs
from ferrule.runtime.functions.signature import (
    ABSENT,
    FunctionParameter,
    FunctionSignature,
    format_label,
    strip_annotated,
)

_REFERENCES = "#/$defs/{name}"


def make_input_schema(
    function: Callable[..., object], signature: FunctionSignature, docs: Docs, sensitive: frozenset[str]
) -> JsonObject:
    """Makes the schema of a function's arguments. Defaults are documented, never filled in. Raises BindingError."""
    if signature.takes_more:
        raise BindingError(
            f"{format_label(function)} takes **names, so its arguments have no schema; name and type them"
        )
    for parameter in signature.parameters:
        _refuse_untyped(function, parameter)
    places = [f"the parameter {parameter.name!r} of {format_label(function)}" for parameter in signature.parameters]
    schemas, shared = _make_schemas([parameter.annotation for parameter in signature.parameters], places)
    properties = {
        parameter.field: _describe_parameter(parameter, schema, docs, parameter.field in sensitive)
        for parameter, schema in zip(signature.parameters, schemas, strict=True)
    }
    required = [parameter.field for parameter in signature.parameters if parameter.default is ABSENT]
    whole: JsonObject = {"type": "object", "properties": properties, "additionalProperties": False}
    if required:
        whole["required"] = required
    return whole | ({"$defs": {name: _close_object(part) for name, part in shared.items()}} if shared else {})


def make_output_schema(function: Callable[..., object], signature: FunctionSignature) -> JsonObject | None:
    """Makes the schema of a function's return value; None when its annotation says nothing. Raises BindingError."""
    returns = strip_annotated(signature.returns)
    if returns in (ABSENT, Any, object, None, type(None)):
        return None
    schemas, shared = _make_schemas([signature.returns], [f"the return value of {format_label(function)}"])
    return schemas[0] | ({"$defs": shared} if shared else {})


def _refuse_untyped(function: Callable[..., object], parameter: FunctionParameter) -> None:
    place = f"the parameter {parameter.name!r} of {format_label(function)}"
    if parameter.annotation is ABSENT:
        hint = "bind the method of an instance instead" if parameter.name == "self" else "write its type"
        raise BindingError(f"{place} has no annotation, so it has no schema; {hint}")


def _list_notes(annotation: object) -> tuple[object, ...]:
    return get_args(annotation)[1:] if get_origin(annotation) is Annotated else ()


def _make_schemas(annotations: list[Any], places: list[str]) -> tuple[list[JsonObject], JsonObject]:
    types = [translate_notes(annotation, place) for annotation, place in zip(annotations, places, strict=True)]
    hook = _SchemaHook()
    try:
        schemas, shared = msgspec.json.schema_components(types, schema_hook=hook, ref_template=_REFERENCES)
    except (TypeError, ValueError, NotImplementedError, RecursionError, NameError) as error:
        raise _explain_unsupported(types, places, error) from error
    for name, part in hook.shared.items():
        if shared.setdefault(name, part) != part:
            raise BindingError(f"{places[0]} and others use two different types named {name!r}; rename one of them")
    for annotation, place in zip(annotations, places, strict=True):
        add_field_constraints(shared, [annotation], place, _make_schema)
    add_docstrings(shared, annotations)
    for schema, place in zip(schemas, places, strict=True):
        _refuse_no_json(schema, place)
    for name, part in shared.items():
        _refuse_no_json(part, f"the class {name} ({places[0]} or another uses it)")
    return list(schemas), shared


def _refuse_no_json(schema: object, place: str) -> None:
    try:
        msgspec.json.encode(schema)
    except (TypeError, ValueError, RecursionError) as error:
        raise BindingError(f"{place} has an example or a note that is no JSON ({error}); write it as JSON") from error


def _make_schema(annotation: object) -> JsonObject:
    (schema,), _ = msgspec.json.schema_components([annotation], schema_hook=_SchemaHook(), ref_template=_REFERENCES)
    return schema


def _explain_unsupported(types: list[Any], places: list[str], error: Exception) -> BindingError:
    """Returns the error for the one type that has no schema."""
    for annotation, place in zip(types, places, strict=True):
        try:
            msgspec.json.schema_components([annotation], schema_hook=_SchemaHook())
        except Exception as own:
            reason = str(own).strip().splitlines()[-1]
            return BindingError(
                f"{place} is annotated {_format_annotation(annotation)}, which has no JSON form ({reason}); use JSON types,"
                " dataclasses, TypedDicts, enums, or one type instead of a union"
            )
    return BindingError(f"{places[0]} and others cannot be described together: {error}")


def _format_annotation(annotation: object) -> str:
    return annotation.__qualname__ if isinstance(annotation, type) else str(annotation)


class _SchemaHook:
    """Makes schemas of types that msgspec does not know: paths, and pydantic models."""

    def __init__(self) -> None:
        self.shared: JsonObject = {}

    def __call__(self, kind: object) -> JsonObject:
        if isinstance(kind, type) and issubclass(kind, PurePath):
            return {"type": "string", "format": "path"}
        if hasattr(kind, "model_json_schema"):
            schema: JsonObject = kind.model_json_schema(ref_template="#/$defs/{model}")
            self.shared.update(schema.pop("$defs", {}))
            split_docstring(schema, {})
            return schema
        raise NotImplementedError(f"{_format_annotation(kind)} is not supported")


def _describe_parameter(parameter: FunctionParameter, schema: JsonObject, docs: Docs, is_sensitive: bool) -> JsonObject:
    described = dict(schema)
    text = (
        _find_note_text(parameter.annotation)
        or docs.parameters.get(parameter.name)
        or docs.parameters.get(parameter.field)
    )
    if text:
        described["description"] = text
    if parameter.default is not ABSENT and not is_sensitive:  # a sensitive default is a secret in the source
        with suppress(TypeError, ValueError, RecursionError):  # one that is not JSON is the function's own business
            described["default"] = msgspec.json.decode(msgspec.json.encode(parameter.default, enc_hook=_encode_default))
    return described


def _encode_default(value: object) -> str:
    if isinstance(value, PurePath):
        return str(value)
    raise TypeError(type(value).__name__)


def _find_note_text(annotation: object) -> str | None:
    """Finds the text in `Annotated[str, "text"]`, or in a `Doc("text")`. A text in `msgspec.Meta` is in the schema
    already."""
    for note in _list_notes(annotation):
        text = note if isinstance(note, str) else getattr(note, "documentation", None)
        if isinstance(text, str):
            return text
    return None


def _close_object(schema: JsonObject) -> JsonObject:
    """Returns an object schema that refuses unknown properties: they would be dropped silently."""
    return {"additionalProperties": False, **schema} if "properties" in schema else schema
