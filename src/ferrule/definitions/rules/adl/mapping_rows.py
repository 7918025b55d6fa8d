"""A shorthand for tables: `build_rows` makes the rows of a mapping and of its members."""

from __future__ import annotations

from collections.abc import Mapping

from ferrule.contracts.expect import boolean, mapping, sequence, show, string
from ferrule.contracts.rule import Closed, Expectation, Required, Row
from ferrule.model.value import JsonValue, is_integer, is_number, type_name

TEXT = string()
FLAG = boolean()
REQUIRED = Required(blank_ok=True)
"""Written and not null; the schema of the language lets a required string be empty."""


class EachItem:
    """A list whose items all meet one expectation."""

    def __init__(self, item: Expectation) -> None:
        self.item = item


class EachMember:
    """A mapping with free keys whose values all meet one expectation."""

    def __init__(self, member: Expectation) -> None:
        self.member = member


TEXTS = EachItem(TEXT)
TEXT_MAP = EachMember(TEXT)


def whole_number(minimum: int | None = None, maximum: int | None = None) -> Expectation:
    """Expects a whole number as JSON Schema counts them: `8080.0` is one too."""

    def check(value: JsonValue) -> str | None:
        if not (is_integer(value) or (isinstance(value, float) and value.is_integer())):
            return f"must be an integer, not {type_name(value)}"
        return _why_outside(value, minimum, maximum)

    check.describe = "an integer"  # type: ignore[attr-defined]  # functions take attributes
    return check


def number(minimum: float, maximum: float) -> Expectation:
    """Expects a number within bounds."""

    def check(value: JsonValue) -> str | None:
        if not is_number(value):
            return f"must be a number, not {type_name(value)}"
        return _why_outside(value, minimum, maximum)

    check.describe = f"a number from {minimum} to {maximum}"  # type: ignore[attr-defined]  # functions take attributes
    return check


def _why_outside(value: JsonValue, minimum: float | None, maximum: float | None) -> str | None:
    assert is_number(value)
    if minimum is not None and not value >= minimum:
        return f"must be at least {minimum}, not {show(value)}"
    if maximum is not None and not value <= maximum:
        return f"must be at most {maximum}, not {show(value)}"
    return None


def build_rows(
    path: str,
    rule: str,
    members: Mapping[str, Expectation | EachItem | EachMember],
    *,
    required: tuple[str, ...] = (),
    closed: bool = False,
    hint: str | None = None,
) -> tuple[Row, ...]:
    """Returns the rows of one mapping: its type, required members, their values, and, if `closed`, no others."""
    rows = [Row(path, mapping(), rule)]
    if closed:
        rows.append(Row(path, Closed(frozenset(members)), rule))
    rows += [Row(f"{path}.{name}", REQUIRED, rule) for name in required]
    for name, expected in members.items():
        rows += build_member_rows(f"{path}.{name}", rule, expected, hint)
    return tuple(rows)


def build_member_rows(
    path: str, rule: str, expected: Expectation | EachItem | EachMember, hint: str | None = None
) -> tuple[Row, ...]:
    """Returns the rows of one member."""
    if isinstance(expected, EachItem):
        return Row(path, sequence(), rule), Row(f"{path}[]", expected.item, rule, hint=hint)
    if isinstance(expected, EachMember):
        return Row(path, mapping(), rule), Row(f"{path}.*", expected.member, rule, hint=hint)
    return (Row(path, expected, rule, hint=hint),)
