"""Converts values of databases to JSON without loss, and values of an input to the text that databases read.

A JSON number is used only where every reader gets it exactly: integers up to 2^53 and floating point. Longer integers, and
every decimal, become strings. The output schema's type is honoured as long as nothing is lost. All engines use this.
"""

from __future__ import annotations

import base64
import json
import math
from collections.abc import Callable, Iterable, Mapping, Sequence
from datetime import date, datetime, time, timedelta
from decimal import Decimal
from typing import Any
from uuid import UUID

from ferrule.model.value import JsonObject

_EXACT = 2**53
Convert = Callable[[Any], Any]


def to_json(value: Any) -> Any:
    """Converts a value of a driver to JSON."""
    convert = _BY_TYPE.get(type(value))
    if convert is not None:
        return convert(value)
    if value is None or isinstance(value, str | bool):
        return value
    if isinstance(value, Mapping) or hasattr(value, "keys"):
        return {str(name): to_json(value[name]) for name in value.keys()}  # noqa: SIM118 - records of drivers iterate values
    if isinstance(value, list | tuple | set | frozenset):
        return [to_json(member) for member in value]
    if isinstance(value, int):
        return integer_json(int(value))
    if isinstance(value, bytes | bytearray | memoryview):
        return base64_text(bytes(value))
    return str(value)


def integer_json(value: int) -> int | str:
    """Returns an integer, as a string where a reader with floating point would lose digits."""
    return value if -_EXACT <= value <= _EXACT else str(value)


def float_json(value: float) -> float | str:
    """Returns a number; as a string when JSON has none for it: NaN and infinity."""
    if math.isfinite(value):
        return value
    return "NaN" if math.isnan(value) else "Infinity" if value > 0 else "-Infinity"


def base64_text(value: bytes) -> str:
    """Encodes bytes as base64."""
    return base64.b64encode(value).decode()


def timestamp_text(value: datetime) -> str:
    """Formats a timestamp as RFC 3339, without an offset where the database has none."""
    return value.isoformat()


def duration_text(value: timedelta) -> str:
    """Formats a duration as ISO 8601."""
    micros = value // timedelta(microseconds=1)
    sign, micros = ("-", -micros) if micros < 0 else ("", micros)
    seconds, micros = divmod(micros, 1_000_000)
    minutes, seconds = divmod(seconds, 60)
    hours, minutes = divmod(minutes, 60)
    fraction = f".{micros:06d}".rstrip("0") if micros else ""
    parts = [f"{hours}H" if hours else "", f"{minutes}M" if minutes else ""]
    parts.append(f"{seconds}{fraction}S" if seconds or fraction or not (hours or minutes) else "")
    return f"{sign}PT{''.join(parts)}"


def parse_json(text: str | bytes) -> Any:
    """Parses JSON from a database; numbers of which a reader could lose digits become strings."""
    return json.loads(
        text, parse_float=_exact_float, parse_int=lambda digits: integer_json(int(digits)), parse_constant=str
    )


def _exact_float(text: str) -> float | str:
    found = float(text)
    # `repr` is the shortest text that reads back as this number, so equality means that no digit was lost.
    return found if math.isfinite(found) and Decimal(repr(found)) == Decimal(text) else text


_BY_TYPE: dict[type, Convert] = {
    int: integer_json,
    float: float_json,
    Decimal: str,
    bytes: base64_text,
    bytearray: base64_text,
    memoryview: base64_text,
    datetime: timestamp_text,
    date: date.isoformat,
    time: time.isoformat,
    timedelta: duration_text,
    UUID: str,
}


def convert_to(value: object, kind: str) -> Any:
    """Converts a JSON value to the type that the output schema wants, where nothing is lost."""
    if kind in ("object", "array"):
        return _parse_json(value)
    if kind == "string" and isinstance(value, int) and not isinstance(value, bool):
        return str(value)
    if kind == "boolean" and value in (0, 1):
        return bool(value)
    # `isdecimal` takes the digits of other scripts too.
    if kind == "integer" and isinstance(value, str) and value.removeprefix("-").isdecimal() and value.isascii():
        return int(value)
    if kind in ("number", "integer") and isinstance(value, str):
        return _parse_number(value)
    return value


def _parse_json(value: object) -> Any:
    """Parses a string that holds JSON, for databases without a type for it."""
    try:
        return parse_json(value) if isinstance(value, str) else value
    except ValueError:
        return value


def _parse_number(text: str) -> Any:
    try:
        exact, found = Decimal(text), float(text)
    except (ArithmeticError, ValueError):
        return text
    if not math.isfinite(found) or Decimal(repr(found)) != exact:
        return text
    return int(exact) if exact == exact.to_integral_value() and abs(exact) <= _EXACT else found


class Columns:
    """Converter of rows to objects, by the columns' names, converters and the types that the output schema wants."""

    def __init__(
        self, names: Sequence[str], wants: Mapping[str, str], converts: Iterable[Convert | None] | None = None
    ) -> None:
        """`converts`: one per column, None where values are JSON already; `to_json` for every column by default."""
        self._names = distinct_names(names)
        given = list(converts) if converts is not None else [to_json] * len(self._names)
        self._steps = [
            (name, _compose(convert, wants.get(name)))
            for name, convert in zip(self._names, given, strict=True)
            if convert is not None or name in wants
        ]

    def rows(self, rows: Iterable[Iterable[object]]) -> list[JsonObject]:
        """Converts rows to JSON objects."""
        names, steps = self._names, self._steps
        made = [dict(zip(names, row, strict=False)) for row in rows]
        for row in made:
            for name, convert in steps:
                value = row[name]
                if value is not None:
                    row[name] = convert(value)
        return made


def _compose(convert: Convert | None, kind: str | None) -> Convert:
    if kind is None:
        return convert or (lambda value: value)
    if convert is None:
        return lambda value: convert_to(value, kind)
    return lambda value: convert_to(convert(value), kind)


def distinct_names(names: Sequence[str]) -> list[str]:
    """Makes names of columns distinct (`id`, `id_2`), since an object cannot have a member twice and no column may be lost."""
    taken: dict[str, None] = {}
    for position, given in enumerate(names, 1):
        name, count = given or f"column_{position}", 1
        while name in taken:
            count += 1
            name = f"{given}_{count}"
        taken[name] = None
    return list(taken)


def scalar_text(value: object) -> str:
    """Converts a value of an input to the text that a database reads: numbers and booleans as usual, the rest as JSON."""
    if isinstance(value, str):
        return value
    if isinstance(value, bool):
        return "true" if value else "false"
    if isinstance(value, int | float):
        return str(value)
    return json_text(value)


def json_text(value: object) -> str:
    """Encodes a value of an input as JSON."""
    return json.dumps(value, ensure_ascii=False, separators=(",", ":"))
