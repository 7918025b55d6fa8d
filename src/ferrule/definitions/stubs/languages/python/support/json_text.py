"""JSON as bytes: read strictly, written compactly."""

from __future__ import annotations

import json
from math import isfinite
from typing import Any, NoReturn


class DecodeError(ValueError):
    """A text that is no JSON, or a value that does not fit its schema."""

    def __init__(self, place: str, expected: str) -> None:
        super().__init__(f"{place or 'the value'}: {expected}")
        self.place = place
        """A JSON pointer to what is wrong (`/items/0/name`); empty for all of it."""
        self.expected = expected
        """What should have been there."""


def parsed(data: bytes | str) -> Any:
    """The value of a JSON text. Raises DecodeError, also for NaN and for numbers that
    no float can hold."""
    try:
        text = data if isinstance(data, str) else data.decode()
        return json.loads(text, parse_constant=_refuse, parse_float=_finite)
    except DecodeError:
        raise
    except RecursionError:
        raise DecodeError("", "is nested too deeply") from None
    except ValueError as error:
        raise DecodeError("", f"must be JSON: {error}") from None


def written(value: Any) -> bytes:
    """A value as JSON. Raises ValueError for NaN and the infinities."""
    try:
        return _dumped(value, is_ascii=False).encode()
    except UnicodeEncodeError:  # half of a surrogate pair has to be escaped
        return _dumped(value, is_ascii=True).encode()


def _dumped(value: Any, *, is_ascii: bool) -> str:
    return json.dumps(
        value, ensure_ascii=is_ascii, allow_nan=False, separators=(",", ":")
    )


def _refuse(word: str) -> NoReturn:
    raise DecodeError("", f"must be JSON, which has no {word}")


def _finite(text: str) -> float:
    number = float(text)
    if not isfinite(number):
        raise DecodeError("", f"has the number {text[:40]}, which no float can hold")
    return number
