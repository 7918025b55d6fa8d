"""JSON Schemas from Python types: of what a function takes, and of what it gives."""

from __future__ import annotations

from collections.abc import Callable
from contextlib import suppress
from pathlib import PurePath
from typing import Annotated, Any, get_args, get_origin

import msgspec

from ferrule.errors import BindingError
from ferrule.runtime.functions.constraints import divide_docstring, documented, tightened, told
from ferrule.runtime.functions.docstring import Docs
from ferrule.runtime.functions.signature import ABSENT, Parameter, Signature, bare, label

_REFERENCES = "#/$defs/{name}"


def input_schema(
    function: Callable[..., Any], signature: Signature, docs: Docs, sensitive: frozenset[str]
) -> dict[str, Any]:
    """The schema of a function's arguments. Defaults are told, never filled in. Raises BindingError."""
    if signature.takes_more:
        raise BindingError(f"{label(function)} takes **names, so its arguments cannot be told; name and type them")
    for parameter in signature.parameters:
        _refuse_untyped(function, parameter)
    places = [f"the parameter {parameter.name!r} of {label(function)}" for parameter in signature.parameters]
    schemas, shared = _schemas([parameter.annotation for parameter in signature.parameters], places)
    properties = {
        parameter.field: _described(parameter, schema, docs, parameter.field in sensitive)
        for parameter, schema in zip(signature.parameters, schemas, strict=True)
    }
    required = [parameter.field for parameter in signature.parameters if parameter.default is ABSENT]
    whole: dict[str, Any] = {"type": "object", "properties": properties, "additionalProperties": False}
    if required:
        whole["required"] = required
    return whole | ({"$defs": {name: _closed(part) for name, part in shared.items()}} if shared else {})


def output_schema(function: Callable[..., Any], signature: Signature) -> dict[str, Any] | None:
    """The schema of what a function returns; None when its annotation says nothing about it. Raises BindingError."""
    returns = bare(signature.returns)
    if returns in (ABSENT, Any, object, None, type(None)):
        return None
    schemas, shared = _schemas([signature.returns], [f"the return value of {label(function)}"])
    return schemas[0] | ({"$defs": shared} if shared else {})


def _refuse_untyped(function: Callable[..., Any], parameter: Parameter) -> None:
    place = f"the parameter {parameter.name!r} of {label(function)}"
    if parameter.annotation is ABSENT:
        hint = "bind the method of an instance instead" if parameter.name == "self" else "write its type"
        raise BindingError(f"{place} has no annotation, so its schema cannot be told; {hint}")


def _notes(annotation: Any) -> tuple[Any, ...]:
    return get_args(annotation)[1:] if get_origin(annotation) is Annotated else ()


def _schemas(annotations: list[Any], places: list[str]) -> tuple[list[dict[str, Any]], dict[str, Any]]:
    types = [told(annotation, place) for annotation, place in zip(annotations, places, strict=True)]
    hook = _Hook()
    try:
        schemas, shared = msgspec.json.schema_components(types, schema_hook=hook, ref_template=_REFERENCES)
    except (TypeError, ValueError, NotImplementedError, RecursionError, NameError) as error:
        raise _unsupported(types, places, error) from error
    for name, part in hook.shared.items():
        if shared.setdefault(name, part) != part:
            raise BindingError(f"{places[0]} and others use two different types named {name!r}; rename one of them")
    for annotation, place in zip(annotations, places, strict=True):
        tightened(shared, [annotation], place, _alone)
    documented(shared, annotations)
    for schema, place in zip(schemas, places, strict=True):
        _refuse_no_json(schema, place)
    for name, part in shared.items():
        _refuse_no_json(part, f"the class {name} ({places[0]} or another uses it)")
    return list(schemas), shared


def _refuse_no_json(schema: Any, place: str) -> None:
    try:
        msgspec.json.encode(schema)
    except (TypeError, ValueError, RecursionError) as error:
        raise BindingError(f"{place} has an example or a note that is no JSON ({error}); write it as JSON") from error


def _alone(annotation: Any) -> dict[str, Any]:
    (schema,), _ = msgspec.json.schema_components([annotation], schema_hook=_Hook(), ref_template=_REFERENCES)
    return schema


def _unsupported(types: list[Any], places: list[str], error: Exception) -> BindingError:
    """The error for the one type that has no schema."""
    for annotation, place in zip(types, places, strict=True):
        try:
            msgspec.json.schema_components([annotation], schema_hook=_Hook())
        except Exception as own:
            reason = str(own).strip().splitlines()[-1]
            return BindingError(
                f"{place} is annotated {_spelled(annotation)}, which has no JSON form ({reason}); use JSON types,"
                " dataclasses, TypedDicts, enums, or one type instead of a union"
            )
    return BindingError(f"{places[0]} and others cannot be described together: {error}")


def _spelled(annotation: Any) -> str:
    return annotation.__qualname__ if isinstance(annotation, type) else str(annotation)


class _Hook:
    """Schemas of types msgspec does not know: paths, and pydantic models where pydantic is used."""

    def __init__(self) -> None:
        self.shared: dict[str, Any] = {}

    def __call__(self, kind: Any) -> dict[str, Any]:
        if isinstance(kind, type) and issubclass(kind, PurePath):
            return {"type": "string", "format": "path"}
        if hasattr(kind, "model_json_schema"):
            schema: dict[str, Any] = kind.model_json_schema(ref_template="#/$defs/{model}")
            self.shared.update(schema.pop("$defs", {}))
            divide_docstring(schema, {})
            return schema
        raise NotImplementedError(f"{_spelled(kind)} is not supported")


def _described(parameter: Parameter, schema: dict[str, Any], docs: Docs, is_sensitive: bool) -> dict[str, Any]:
    described = dict(schema)
    text = (
        _note_text(parameter.annotation) or docs.parameters.get(parameter.name) or docs.parameters.get(parameter.field)
    )
    if text:
        described["description"] = text
    if parameter.default is not ABSENT and not is_sensitive:  # a sensitive default is a secret in the source
        with suppress(TypeError, ValueError, RecursionError):  # one that is not JSON is the function's own business
            described["default"] = msgspec.json.decode(msgspec.json.encode(parameter.default, enc_hook=_default))
    return described


def _default(value: Any) -> str:
    if isinstance(value, PurePath):
        return str(value)
    raise TypeError(type(value).__name__)


def _note_text(annotation: Any) -> str | None:
    """The text in `Annotated[str, "text"]`, or in a `Doc("text")`. What `msgspec.Meta` says is in the schema already."""
    for note in _notes(annotation):
        text = note if isinstance(note, str) else getattr(note, "documentation", None)
        if isinstance(text, str):
            return text
    return None


def _closed(schema: dict[str, Any]) -> dict[str, Any]:
    """An object schema that takes its own properties alone: unknown ones would be dropped silently."""
    return {"additionalProperties": False, **schema} if "properties" in schema else schema
