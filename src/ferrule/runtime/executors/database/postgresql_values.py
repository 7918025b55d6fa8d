"""PostgreSQL's types: which are exchanged as text, how columns become JSON, and how input values become parameters."""

from __future__ import annotations

import base64
import binascii
from collections.abc import Mapping, Sequence
from typing import Any

from ferrule.runtime.executors.database.values import (
    Convert,
    base64_text,
    float_json,
    integer_json,
    json_text,
    parse_json,
    scalar_text,
    to_json,
)

_SCALARS = ("numeric", "date", "time", "timetz", "timestamp", "timestamptz", "interval", "bit", "varbit")
_RANGES = {
    "int4range": 3904,
    "numrange": 3906,
    "tsrange": 3908,
    "tstzrange": 3910,
    "daterange": 3912,
    "int8range": 3926,
}
"""Object ids of the range types, the same in every PostgreSQL."""
_TEXTS = (*_SCALARS, *_RANGES)
"""Types exchanged as text, since Python's types would lose infinity, years BC and digits."""
_UNCONVERTED = frozenset({"int2", "int4", "bool", "text", "varchar", "bpchar", "name", "char"})
_SPACED = frozenset({"timestamp", "timestamptz"})


class BadParameter(ValueError):
    """A value that its parameter cannot take. The message does not repeat the value."""

    def __init__(self, name: str) -> None:
        super().__init__(f"the value of {name!r} does not fit its parameter")
        self.name = name


async def set_codecs(connection: Any) -> None:
    """Sets the types without an equal in Python to be exchanged as text. Asks the server nothing."""
    settings = connection._protocol.get_settings()
    for name, number in _RANGES.items():  # the driver's own function takes no ranges
        settings.add_python_codec(number, name, "pg_catalog", [], "scalar", str, str, "text")
    for name in _SCALARS:
        decode = _timestamp if name in _SPACED else str
        await connection.set_type_codec(name, schema="pg_catalog", encoder=str, decoder=decode, format="text")


def _timestamp(text: str) -> str:
    """Rewrites `2024-05-01 10:00:00+00` as RFC 3339; infinity and years BC stay as PostgreSQL writes them."""
    day, blank, clock = text.partition(" ")
    if not blank or text.endswith("BC"):
        return text
    at = max(clock.rfind("+"), clock.rfind("-"))
    if at > 0 and len(clock) - at == 3:
        clock += ":00"
    return f"{day}T{clock}"


def converts_of(attributes: Sequence[Any]) -> list[Convert | None]:
    """Returns the converter to JSON of each column; None where none is needed."""
    return [_CONVERTS.get(attribute.type.name, _inner(attribute)) for attribute in attributes]


def _inner(attribute: Any) -> Convert:
    if attribute.type.name in ("json[]", "jsonb[]"):
        return _json_list
    return _with_ranges


def _json_list(value: Any) -> Any:
    if isinstance(value, list):
        return [_json_list(member) for member in value]
    return None if value is None else parse_json(value)


def _with_ranges(value: Any) -> Any:
    if hasattr(value, "lower_inc"):  # a range of a type of its own
        lower, upper = ("" if end is None else str(to_json(end)) for end in (value.lower, value.upper))
        bounds = "[" if value.lower_inc else "(", "]" if value.upper_inc else ")"
        return "empty" if value.isempty else f"{bounds[0]}{lower},{upper}{bounds[1]}"
    if isinstance(value, list):
        return [_with_ranges(member) for member in value]
    return to_json(value)


_CONVERTS: dict[str, Convert | None] = {
    **dict.fromkeys(_UNCONVERTED),
    **dict.fromkeys(_TEXTS),
    "int8": integer_json,
    "float4": float_json,
    "float8": float_json,
    "bytea": base64_text,
    "json": parse_json,
    "jsonb": parse_json,
    "uuid": str,
}


def parameters_of(names: Sequence[str], types: Sequence[Any], given: Mapping[str, Any]) -> list[Any]:
    """Converts values of an input to the parameters' types. Raises BadParameter."""
    made = []
    for name, kind in zip(names, types, strict=True):
        value = given.get(name)
        try:
            made.append(None if value is None else _parameter(value, kind.name))
        except (ValueError, TypeError, OverflowError, binascii.Error):
            raise BadParameter(name) from None
    return made


def _parameter(value: Any, kind: str) -> Any:
    if value is None:
        return None
    if kind.endswith("[]"):
        if not isinstance(value, list):
            raise TypeError
        return [_element(member, kind) for member in value]
    if kind in ("json", "jsonb"):
        return json_text(value)
    if kind in ("int2", "int4", "int8", "oid"):
        return _integer(value)
    if kind in ("float4", "float8"):
        return _float(value)
    if kind == "bool":
        return _boolean(value)
    if kind == "bytea":
        return base64.b64decode(value, validate=True)
    return scalar_text(value)


def _element(value: object, kind: str) -> Any:
    return [_element(member, kind) for member in value] if isinstance(value, list) else _parameter(value, kind[:-2])


def _integer(value: Any) -> int:
    if isinstance(value, bool) or (isinstance(value, float) and value != int(value)):
        raise TypeError
    if isinstance(value, str) and not value.strip().lstrip("+-").isdecimal():
        raise ValueError
    return int(value)


def _float(value: object) -> float:
    if isinstance(value, bool) or not isinstance(value, int | float | str):
        raise TypeError
    return float(value)


def _boolean(value: object) -> bool:
    if isinstance(value, bool):
        return value
    if isinstance(value, str) and value.lower() in ("true", "t", "yes", "on", "1", "false", "f", "no", "off", "0"):
        return value.lower() in ("true", "t", "yes", "on", "1")
    if value in (0, 1):
        return bool(value)
    raise TypeError
