"""Values of databases as JSON, without loss, and values of an input as the texts that databases read.

A JSON number is given only where every reader gets it exactly: whole numbers up to 2^53 and floating point. What is longer, and
every decimal, is a text. Where the output schema wants a number or a text, it gets one as long as nothing is lost.
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

_EXACT = 2**53
Convert = Callable[[Any], Any]


def plain(value: Any) -> Any:
    """A value of a driver as JSON."""
    convert = _BY_TYPE.get(type(value))
    if convert is not None:
        return convert(value)
    if value is None or isinstance(value, str | bool):
        return value
    if isinstance(value, Mapping) or hasattr(value, "keys"):
        return {str(name): plain(value[name]) for name in value.keys()}  # noqa: SIM118 - records of drivers iterate values
    if isinstance(value, list | tuple | set | frozenset):
        return [plain(member) for member in value]
    if isinstance(value, int):
        return whole(int(value))
    if isinstance(value, bytes | bytearray | memoryview):
        return binary(bytes(value))
    return str(value)


def whole(value: int) -> int | str:
    """A whole number; a text where a reader with floating point would lose digits."""
    return value if -_EXACT <= value <= _EXACT else str(value)


def floating(value: float) -> float | str:
    """A number; what JSON has none for is a text."""
    if math.isfinite(value):
        return value
    return "NaN" if math.isnan(value) else "Infinity" if value > 0 else "-Infinity"


def binary(value: bytes) -> str:
    """Bytes as base64."""
    return base64.b64encode(value).decode()


def moment(value: datetime) -> str:
    """A timestamp as RFC 3339 has it; without an offset where the database has none."""
    return value.isoformat()


def duration(value: timedelta) -> str:
    """A span of time as ISO 8601 has it."""
    micros = value // timedelta(microseconds=1)
    sign, micros = ("-", -micros) if micros < 0 else ("", micros)
    seconds, micros = divmod(micros, 1_000_000)
    minutes, seconds = divmod(seconds, 60)
    hours, minutes = divmod(minutes, 60)
    fraction = f".{micros:06d}".rstrip("0") if micros else ""
    parts = [f"{hours}H" if hours else "", f"{minutes}M" if minutes else ""]
    parts.append(f"{seconds}{fraction}S" if seconds or fraction or not (hours or minutes) else "")
    return f"{sign}PT{''.join(parts)}"


def json_value(text: str | bytes) -> Any:
    """A JSON value of a database; numbers that a reader could lose digits of are texts."""
    return json.loads(text, parse_float=_exact_float, parse_int=lambda digits: whole(int(digits)), parse_constant=str)


def _exact_float(text: str) -> float | str:
    found = float(text)
    return found if math.isfinite(found) and Decimal(repr(found)) == Decimal(text) else text


_BY_TYPE: dict[type, Convert] = {
    int: whole,
    float: floating,
    Decimal: str,
    bytes: binary,
    bytearray: binary,
    memoryview: binary,
    datetime: moment,
    date: date.isoformat,
    time: time.isoformat,
    timedelta: duration,
    UUID: str,
}


def wanted(value: Any, kind: str) -> Any:
    """A JSON value as the output schema wants it, where nothing is lost by that."""
    if kind in ("object", "array"):
        return _parsed(value)
    if kind == "string" and isinstance(value, int) and not isinstance(value, bool):
        return str(value)
    if kind == "boolean" and value in (0, 1):
        return bool(value)
    if kind == "integer" and isinstance(value, str) and value.removeprefix("-").isdecimal() and value.isascii():
        return int(value)
    if kind in ("number", "integer") and isinstance(value, str):
        return _number(value)
    return value


def _parsed(value: Any) -> Any:
    """A text that holds JSON, where a column has no type for it."""
    try:
        return json_value(value) if isinstance(value, str) else value
    except ValueError:
        return value


def _number(text: str) -> Any:
    try:
        exact, found = Decimal(text), float(text)
    except (ArithmeticError, ValueError):
        return text
    if not math.isfinite(found) or Decimal(repr(found)) != exact:
        return text
    return int(exact) if exact == exact.to_integral_value() and abs(exact) <= _EXACT else found


class Columns:
    """Makes objects of rows: names, how each column is converted, and what the output schema wants of it."""

    def __init__(
        self, names: Sequence[str], wants: Mapping[str, str], converts: Iterable[Convert | None] | None = None
    ) -> None:
        """`converts`: by column, None where a value is JSON already; `plain` for all of them when not said."""
        self._names = distinct(names)
        given = list(converts) if converts is not None else [plain] * len(self._names)
        self._steps = [
            (name, _joined(convert, wants.get(name)))
            for name, convert in zip(self._names, given, strict=True)
            if convert is not None or name in wants
        ]

    def rows(self, rows: Iterable[Iterable[Any]]) -> list[dict[str, Any]]:
        """Rows as JSON objects."""
        names, steps = self._names, self._steps
        made = [dict(zip(names, row, strict=False)) for row in rows]
        for row in made:
            for name, convert in steps:
                value = row[name]
                if value is not None:
                    row[name] = convert(value)
        return made


def _joined(convert: Convert | None, kind: str | None) -> Convert:
    if kind is None:
        return convert or (lambda value: value)
    if convert is None:
        return lambda value: wanted(value, kind)
    return lambda value: wanted(convert(value), kind)


def distinct(names: Sequence[str]) -> list[str]:
    """Names of columns, each once: `id`, `id_2`. An object cannot have a member twice, and a column is not lost."""
    taken: dict[str, None] = {}
    for position, given in enumerate(names, 1):
        name, count = given or f"column_{position}", 1
        while name in taken:
            count += 1
            name = f"{given}_{count}"
        taken[name] = None
    return list(taken)


def scalar_text(value: Any) -> str:
    """A value of an input as a database reads it: numbers and booleans in plain writing, objects and lists as JSON."""
    if isinstance(value, str):
        return value
    if isinstance(value, bool):
        return "true" if value else "false"
    if isinstance(value, int | float):
        return str(value)
    return json_text(value)


def json_text(value: Any) -> str:
    """A value of an input as JSON."""
    return json.dumps(value, ensure_ascii=False, separators=(",", ":"))
