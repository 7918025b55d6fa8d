"""Constraints of other libraries in annotations: what a schema can say it says, and what it cannot is refused."""

from __future__ import annotations

import dataclasses
import enum
import re
from datetime import datetime
from decimal import Decimal
from typing import Annotated, Any, NamedTuple, NewType, TypedDict

import annotated_types
import msgspec
import pydantic
import pytest

from ferrule.errors import BindingError
from ferrule.runtime.functions.binding import Binding

Age = NewType("Age", int)


def properties(function: Any) -> dict[str, Any]:
    tool = Binding(function).tool
    assert tool is not None
    found: dict[str, Any] = msgspec.json.decode(tool.input_schema)["properties"]
    return found


def test_numbers_texts_and_lists_have_their_bounds() -> None:
    def order(
        count: Annotated[int, annotated_types.Gt(0), annotated_types.Le(9)],
        share: Annotated[float, annotated_types.Interval(ge=0, lt=1)],
        code: Annotated[str, annotated_types.Len(2, 5)],
        names: Annotated[list[str], annotated_types.MinLen(1)],
        step: pydantic.PositiveInt = 1,
        age: Annotated[Age, annotated_types.Ge(18)] = Age(18),
    ) -> str:
        """Order something."""
        return ""

    found = properties(order)
    assert found["count"] == {"type": "integer", "exclusiveMinimum": 0, "maximum": 9}
    assert found["share"] == {"type": "number", "minimum": 0, "exclusiveMaximum": 1}
    assert found["code"] == {"type": "string", "minLength": 2, "maxLength": 5}
    assert found["names"] == {"type": "array", "items": {"type": "string"}, "minItems": 1}
    assert found["step"] == {"type": "integer", "exclusiveMinimum": 0, "default": 1}
    assert found["age"] == {"type": "integer", "minimum": 18, "default": 18}


def test_a_field_of_pydantic_says_its_pattern_and_its_description() -> None:
    def order(
        code: Annotated[str, pydantic.Field(pattern="^[A-Z]+$", max_length=3, description="Its code.")],
        other: Annotated[str, pydantic.StringConstraints(pattern=re.compile("a+"))] = "a",
        maybe: Annotated[int | None, pydantic.Field(ge=2)] = None,
    ) -> str:
        """Order something."""
        return ""

    found = properties(order)
    assert found["code"] == {"type": "string", "pattern": "^[A-Z]+$", "maxLength": 3, "description": "Its code."}
    assert found["other"]["pattern"] == "a+"
    assert found["maybe"] == {"anyOf": [{"type": "integer"}, {"type": "null"}], "minimum": 2, "default": None}


@dataclasses.dataclass
class Street:
    """Where somebody lives.

    In one country
    alone.

    Attributes:
        name: What it is called,
            in full.
        number (int): Not said here.
        town: Where it is.
    """

    name: str
    number: Annotated[int, msgspec.Meta(description="The house.")]
    town: Town


class Town(msgspec.Struct, rename="camel"):
    """A town.

    :ivar post_code: Its code.
    """

    post_code: str


class Speed(enum.Enum):
    """How fast.

    Never too fast.
    """

    SLOW = "slow"


class Point(NamedTuple):
    """A point.

    Attributes:
        x: To the right.
    """

    x: int


class Order(pydantic.BaseModel):
    """An order.

    Attributes:
        sku: What is ordered.
    """

    sku: str


def test_docstrings_of_classes_describe_them_and_their_fields() -> None:
    def order(street: Street, point: Point, order: Order, speed: Speed) -> Town:
        """Order something."""
        return street.town

    tool = Binding(order).tool
    assert tool is not None
    assert tool.output_schema is not None
    whole = msgspec.json.decode(tool.input_schema)
    street = whole["$defs"]["Street"]
    assert street["description"] == "Where somebody lives.\n\nIn one country alone."
    said = {name: member["description"] for name, member in street["properties"].items()}
    assert said == {"name": "What it is called, in full.", "number": "The house.", "town": "Where it is."}
    for town in (whole["$defs"]["Town"], msgspec.json.decode(tool.output_schema)["$defs"]["Town"]):
        assert town["description"] == "A town."
        assert town["properties"]["postCode"] == {"type": "string", "description": "Its code."}
    assert whole["$defs"]["Point"]["description"] == "A point.\n\nAttributes:\n    x: To the right."
    assert whole["$defs"]["Speed"]["description"] == "How fast.\n\nNever too fast."
    assert whole["properties"]["order"]["description"] == "An order."
    assert whole["properties"]["order"]["properties"]["sku"]["description"] == "What is ordered."


def test_examples_and_titles_are_said() -> None:
    def order(
        code: Annotated[str, pydantic.Field(examples=["AB", "C"], title="Code of it")],
        count: Annotated[int, msgspec.Meta(examples=[1], title="How many")],
        size: int = pydantic.Field(3, examples=[4], ge=1),
        age: int = pydantic.Field(description="In years."),
    ) -> str:
        """Order something."""
        return ""

    found = properties(order)
    assert found["code"] == {"type": "string", "examples": ["AB", "C"], "title": "Code of it"}
    assert found["count"] == {"type": "integer", "examples": [1], "title": "How many"}
    assert found["size"] == {"type": "integer", "examples": [4], "minimum": 1, "default": 3}
    assert found["age"] == {"type": "integer", "description": "In years."}


@pytest.mark.parametrize("note", [msgspec.Meta(examples=[object()]), pydantic.Field(examples=[object()])])
def test_an_example_that_is_no_json_is_refused(note: Any) -> None:
    def order(value: Any) -> str:
        """Order something."""
        return ""

    order.__annotations__["value"] = Annotated[int, note]
    with pytest.raises(BindingError, match=r"'value'.*no JSON"):
        properties(order)


@dataclasses.dataclass
class Item:
    sku: Annotated[str, annotated_types.MinLen(3)]
    when: datetime | None = None
    parts: list[Item] = dataclasses.field(default_factory=list)


class Prices(TypedDict):
    net: Annotated[float, pydantic.Field(gt=0, description="Without tax.")]


class Box(msgspec.Struct, rename="camel"):
    item_count: Annotated[int, annotated_types.Ge(1)]


def test_constraints_inside_lists_and_classes_count_too() -> None:
    def order(items: list[Item], prices: Prices, box: Box, ids: list[Annotated[int, annotated_types.Ge(1)]]) -> str:
        """Order something."""
        return ""

    tool = Binding(order).tool
    assert tool is not None
    whole = msgspec.json.decode(tool.input_schema)
    assert whole["properties"]["ids"]["items"] == {"type": "integer", "minimum": 1}
    assert whole["$defs"]["Item"]["properties"]["sku"] == {"type": "string", "minLength": 3}
    assert whole["$defs"]["Item"]["properties"]["when"]["anyOf"][0] == {"type": "string", "format": "date-time"}
    assert whole["$defs"]["Prices"]["properties"]["net"] == {
        "type": "number",
        "exclusiveMinimum": 0,
        "description": "Without tax.",
    }
    assert whole["$defs"]["Box"]["properties"] == {"itemCount": {"type": "integer", "minimum": 1}}


@pytest.mark.parametrize(
    "annotation",
    [
        Annotated[str, annotated_types.Predicate(str.isupper)],
        Annotated[Decimal, annotated_types.Gt(Decimal(1))],
        Annotated[bytes, annotated_types.MinLen(3)],
        Annotated[str, pydantic.StringConstraints(to_lower=True)],
        Annotated[list[str], pydantic.AfterValidator(sorted)],
    ],
)
def test_what_a_schema_cannot_say_is_refused_and_not_lost(annotation: Any) -> None:
    def order(value: Any) -> str:
        """Order something."""
        return ""

    order.__annotations__["value"] = annotation
    with pytest.raises(BindingError, match=r"'value'.*would be lost"):
        properties(order)
