"""PostgreSQL's types: which come as texts, how columns become JSON, and how an input's values become parameters."""

from __future__ import annotations

import base64
import binascii
from collections.abc import Mapping, Sequence
from typing import Any

from ferrule.runtime.executors.database.values import (
    Convert,
    binary,
    floating,
    json_text,
    json_value,
    plain,
    scalar_text,
    whole,
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
"""By their numbers, which are the same in every PostgreSQL."""
_TEXTS = (*_SCALARS, *_RANGES)
"""Types whose own text says everything (infinity, years before ours, every digit), and which Python's types would lose."""
_AS_THEY_ARE = frozenset({"int2", "int4", "bool", "text", "varchar", "bpchar", "name", "char"})
_SPACED = frozenset({"timestamp", "timestamptz"})


class BadValue(ValueError):
    """A value that its parameter cannot take. The message does not repeat it."""

    def __init__(self, name: str) -> None:
        super().__init__(f"the value of {name!r} does not fit its parameter")
        self.name = name


async def set_codecs(connection: Any) -> None:
    """Have the types that Python has no equal for exchanged as texts. Asks the server nothing."""
    settings = connection._protocol.get_settings()
    for name, number in _RANGES.items():  # the driver's own function takes no ranges
        settings.add_python_codec(number, name, "pg_catalog", [], "scalar", str, str, "text")
    for name in _SCALARS:
        decode = _moment if name in _SPACED else str
        await connection.set_type_codec(name, schema="pg_catalog", encoder=str, decoder=decode, format="text")


def _moment(text: str) -> str:
    """`2024-05-01 10:00:00+00` as RFC 3339 has it; infinity and years before ours stay as PostgreSQL writes them."""
    day, blank, clock = text.partition(" ")
    if not blank or text.endswith("BC"):
        return text
    at = max(clock.rfind("+"), clock.rfind("-"))
    if at > 0 and len(clock) - at == 3:
        clock += ":00"
    return f"{day}T{clock}"


def converts_of(attributes: Sequence[Any]) -> list[Convert | None]:
    """How each column becomes JSON."""
    return [_CONVERTS.get(attribute.type.name, _inner(attribute)) for attribute in attributes]


def _inner(attribute: Any) -> Convert:
    if attribute.type.name in ("json[]", "jsonb[]"):
        return _json_list
    return _with_ranges


def _json_list(value: Any) -> Any:
    if isinstance(value, list):
        return [_json_list(member) for member in value]
    return None if value is None else json_value(value)


def _with_ranges(value: Any) -> Any:
    if hasattr(value, "lower_inc"):  # a range of a type of its own
        lower, upper = ("" if end is None else str(plain(end)) for end in (value.lower, value.upper))
        bounds = "[" if value.lower_inc else "(", "]" if value.upper_inc else ")"
        return "empty" if value.isempty else f"{bounds[0]}{lower},{upper}{bounds[1]}"
    if isinstance(value, list):
        return [_with_ranges(member) for member in value]
    return plain(value)


_CONVERTS: dict[str, Convert | None] = {
    **dict.fromkeys(_AS_THEY_ARE),
    **dict.fromkeys(_TEXTS),
    "int8": whole,
    "float4": floating,
    "float8": floating,
    "bytea": binary,
    "json": json_value,
    "jsonb": json_value,
    "uuid": str,
}


def parameters_of(names: Sequence[str], types: Sequence[Any], given: Mapping[str, Any]) -> list[Any]:
    """Values of an input as the parameters' types. Raises BadValue."""
    made = []
    for name, kind in zip(names, types, strict=True):
        value = given.get(name)
        try:
            made.append(None if value is None else _parameter(value, kind.name))
        except (ValueError, TypeError, OverflowError, binascii.Error):
            raise BadValue(name) from None
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
        return _whole(value)
    if kind in ("float4", "float8"):
        return _float(value)
    if kind == "bool":
        return _boolean(value)
    if kind == "bytea":
        return base64.b64decode(value, validate=True)
    return scalar_text(value)


def _element(value: Any, kind: str) -> Any:
    return [_element(member, kind) for member in value] if isinstance(value, list) else _parameter(value, kind[:-2])


def _whole(value: Any) -> int:
    if isinstance(value, bool) or (isinstance(value, float) and value != int(value)):
        raise TypeError
    if isinstance(value, str) and not value.strip().lstrip("+-").isdecimal():
        raise ValueError
    return int(value)


def _float(value: Any) -> float:
    if isinstance(value, bool) or not isinstance(value, int | float | str):
        raise TypeError
    return float(value)


def _boolean(value: Any) -> bool:
    if isinstance(value, bool):
        return value
    if isinstance(value, str) and value.lower() in ("true", "t", "yes", "on", "1", "false", "f", "no", "off", "0"):
        return value.lower() in ("true", "t", "yes", "on", "1")
    if value in (0, 1):
        return bool(value)
    raise TypeError
