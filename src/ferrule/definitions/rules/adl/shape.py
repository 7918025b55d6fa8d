"""A shorthand for tables of whole mappings: one `shape` gives the rows of a block and of its members."""

from __future__ import annotations

from collections.abc import Iterator, Mapping

from ferrule.contracts.expect import boolean, mapping, sequence, show, string
from ferrule.contracts.rule import Closed, Expectation, Required, Row
from ferrule.model.value import JsonValue, is_integer, is_number, type_name

TEXT = string()
FLAG = boolean()
REQUIRED = Required(blank_ok=True)
"""Written and not null; the schema of the language lets a required string be empty."""


class ListOf:
    """A list whose items all meet one expectation."""

    def __init__(self, item: Expectation) -> None:
        self.item = item


class MapOf:
    """A mapping with free keys whose values all meet one expectation."""

    def __init__(self, member: Expectation) -> None:
        self.member = member


TEXTS = ListOf(TEXT)
TEXT_MAP = MapOf(TEXT)


def whole(minimum: int | None = None, maximum: int | None = None) -> Expectation:
    """A whole number as JSON Schema counts them: `8080.0` is one too."""

    def check(value: JsonValue) -> str | None:
        if not (is_integer(value) or (isinstance(value, float) and value.is_integer())):
            return f"must be an integer, not {type_name(value)}"
        return _outside(value, minimum, maximum)

    check.describe = "an integer"  # type: ignore[attr-defined]  # functions take attributes
    return check


def number(minimum: float, maximum: float) -> Expectation:
    """Any number within bounds."""

    def check(value: JsonValue) -> str | None:
        if not is_number(value):
            return f"must be a number, not {type_name(value)}"
        return _outside(value, minimum, maximum)

    check.describe = f"a number from {minimum} to {maximum}"  # type: ignore[attr-defined]  # functions take attributes
    return check


def _outside(value: JsonValue, minimum: float | None, maximum: float | None) -> str | None:
    assert is_number(value)
    if minimum is not None and not value >= minimum:
        return f"must be at least {minimum}, not {show(value)}"
    if maximum is not None and not value <= maximum:
        return f"must be at most {maximum}, not {show(value)}"
    return None


def shape(
    path: str,
    rule: str,
    members: Mapping[str, Expectation | ListOf | MapOf],
    *,
    required: tuple[str, ...] = (),
    closed: bool = False,
    hint: str | None = None,
) -> tuple[Row, ...]:
    """The rows of one mapping: that it is one, which members it must have, what they hold, and whether it takes others."""
    return tuple(_rows(path, rule, members, required, closed, hint))


def _rows(
    path: str,
    rule: str,
    members: Mapping[str, Expectation | ListOf | MapOf],
    required: tuple[str, ...],
    closed: bool,
    hint: str | None,
) -> Iterator[Row]:
    yield Row(path, mapping(), rule)
    if closed:
        yield Row(path, Closed(frozenset(members)), rule)
    for name in required:
        yield Row(f"{path}.{name}", REQUIRED, rule)
    for name, expected in members.items():
        yield from member(f"{path}.{name}", rule, expected, hint)


def member(path: str, rule: str, expected: Expectation | ListOf | MapOf, hint: str | None = None) -> Iterator[Row]:
    """The rows of one member."""
    if isinstance(expected, ListOf):
        yield Row(path, sequence(), rule)
        yield Row(f"{path}[]", expected.item, rule, hint=hint)
    elif isinstance(expected, MapOf):
        yield Row(path, mapping(), rule)
        yield Row(f"{path}.*", expected.member, rule, hint=hint)
    else:
        yield Row(path, expected, rule, hint=hint)
