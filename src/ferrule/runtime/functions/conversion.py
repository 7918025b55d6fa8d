"""Converts JSON to a parameter's type, and a function's return value to JSON. Plain JSON passes untouched."""

from __future__ import annotations

import types
from collections.abc import Callable, Mapping, Sequence
from pathlib import PurePath
from typing import Any, Literal, Union, get_args, get_origin

import msgspec

from ferrule.runtime.functions.records import make_type_reader, to_plain
from ferrule.runtime.functions.signature import ABSENT, FunctionParameter, FunctionSignature, strip_annotated, takes_all

_SCALARS = (str, bool, float, type(None), None)
_UNIONS = (Union, types.UnionType)

Read = Callable[[Any], Any]
"""Makes a parameter's value of its JSON. Raises msgspec.ValidationError."""


def takes_whole_number(parameter: FunctionParameter) -> bool:
    """Returns True for `int` and `int | None`: JSON's 3.0 is a whole number too, and has to arrive as 3."""
    annotation = strip_annotated(parameter.annotation)
    members = get_args(annotation) if get_origin(annotation) in _UNIONS else (annotation,)
    return int in members and all(member in (int, str, bool, type(None)) for member in members)


def make_reader(parameter: FunctionParameter) -> Read | None:
    """Makes the reader of a parameter's value; None when its JSON needs no conversion."""
    annotation = strip_annotated(parameter.annotation)
    if takes_all(parameter.annotation):
        return make_type_reader(annotation)
    if annotation is ABSENT or takes_whole_number(parameter) or is_plain(annotation, known=False):
        return None

    def read(value: object) -> object:
        try:
            return msgspec.convert(value, annotation, dec_hook=_decode_custom)
        except msgspec.ValidationError:
            # JSON Schema takes 3.0 for an integer, msgspec does not.
            return msgspec.convert(_restore_integers(value), annotation, dec_hook=_decode_custom)

    return read


def is_plain(annotation: object, *, known: bool) -> bool:
    """Returns True when values of a type are JSON already. `known`: only if that is certain for everything inside."""
    annotation = strip_annotated(annotation)
    if annotation in _SCALARS:
        return True
    if annotation is int:
        return known
    if annotation in (Any, object, list, dict, Sequence, Mapping):
        return not known
    origin, members = get_origin(annotation), get_args(annotation)
    if origin is Literal:
        return all(type(member) in (str, int, bool) for member in members)
    if origin in _UNIONS or origin is list or (origin is Sequence and not known):
        return all(is_plain(member, known=known) for member in members)
    if origin is dict or (origin is Mapping and not known):
        return members[0] is str and is_plain(members[1], known=known)
    return False


def make_writer(signature: FunctionSignature) -> Callable[[Any], object]:
    """Makes the writer of a function's return value, with records for a function that takes one record."""
    return (lambda value: to_json(to_plain(value))) if signature.whole is not None else to_json


def to_json(value: object) -> object:
    """Converts a return value to plain JSON values. Raises TypeError for a value without a JSON form."""
    return msgspec.to_builtins(value, str_keys=True, enc_hook=_encode_custom)


def _restore_integers(value: object) -> object:
    """Returns a value with floats that are whole numbers as integers."""
    if isinstance(value, float):
        return int(value) if value.is_integer() else value
    if isinstance(value, list):
        return [_restore_integers(member) for member in value]
    if isinstance(value, dict):
        return {name: _restore_integers(member) for name, member in value.items()}
    return value


def _decode_custom(kind: Any, value: Any) -> object:
    if isinstance(kind, type) and issubclass(kind, PurePath):
        return kind(value)
    if hasattr(kind, "model_validate"):  # pydantic
        return kind.model_validate(value)
    raise NotImplementedError(f"there is no conversion from JSON to {kind}")


def _encode_custom(value: object) -> object:
    if isinstance(value, PurePath):
        return str(value)
    if hasattr(value, "model_dump"):  # pydantic
        return value.model_dump(mode="json")
    raise TypeError(f"a {type(value).__qualname__} is not JSON")
