"""Functions with types of every kind, in a module whose annotations are texts."""

from __future__ import annotations

import enum
from dataclasses import dataclass
from datetime import date, datetime
from decimal import Decimal
from pathlib import Path
from typing import Annotated, Any, Literal, NamedTuple, TypedDict
from uuid import UUID

import msgspec

from ferrule.contracts.executor import Context
from ferrule.runtime.functions import tool


class Colour(enum.Enum):
    """What it looks like."""

    RED = "red"
    BLUE = "blue"


@dataclass
class Line:
    """One line of an order."""

    sku: str
    count: int = 1
    inner: Line | None = None


class Address(TypedDict, total=False):
    city: str


class Point(NamedTuple):
    x: int
    y: int


class Note(msgspec.Struct):
    text: str


@tool(read_only=True, destructive=False, open_world=False)
async def everything(
    colour: Colour,
    kind: Literal["a", "b"],
    lines: list[Line],
    address: Address,
    point: Point,
    note: Note,
    when: datetime,
    day: date,
    number: UUID,
    price: Decimal,
    data: bytes,
    path: Path,
    tags: set[str],
    amount: Annotated[int, msgspec.Meta(ge=1, description="In cents.")],
    who: Annotated[str, "Whose it is."],
    context: Context,
    from_: str = "here",
    extra: dict[str, Any] | None = None,
) -> list[Line]:
    """Take everything
    there is.

    And more words that a model need not read.

    Args:
        kind: Which of the two.
        lines (list of Line): The lines
            of the order.
    """
    assert isinstance(lines[0], Line)
    assert isinstance(path, Path)
    return lines


EXAMPLE: dict[str, Any] = {
    "colour": "red",
    "kind": "a",
    "lines": [{"sku": "x", "count": 2.0}],
    "address": {"city": "Ulm"},
    "point": [1, 2],
    "note": {"text": "hi"},
    "when": "2026-01-31T12:00:00Z",
    "day": "2026-01-31",
    "number": "12345678-1234-5678-1234-567812345678",
    "price": "1.50",
    "data": "aGk=",
    "path": "/tmp/x",
    "tags": ["t"],
    "amount": 3,
    "who": "me",
    "from": "there",
}
