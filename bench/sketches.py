"""Tools before they are written in any dialect: drawn from small vocabularies by a seeded generator."""

from __future__ import annotations

import random
from collections.abc import Iterator
from typing import Any, NamedTuple

SEED = 20250401
FAULTY_PERCENT = 2
"""Share of definitions that carry one planted mistake, as real folders do."""

VERBS = {
    "retrieval": ("find", "look-up", "list", "read", "search", "check", "fetch", "count"),
    "action": ("create", "send", "cancel", "update", "refund", "book", "assign", "delete"),
    "function": ("compute", "convert", "format", "score"),
    "human": ("review", "approve", "ask"),
}
NOUNS = (
    "invoice", "order", "shipment", "customer", "ticket", "employee", "contract", "payment", "article", "supplier",
    "appointment", "parcel", "subscription", "campaign", "warehouse", "vehicle", "policy", "claim", "meeting", "asset",
)  # fmt: skip
TEAMS = ("billing", "logistics", "support", "people", "legal", "sales", "platform", "warehouse")
PURPOSES = (
    "a delivery is about to be promised to somebody",
    "the customer asks for the current state",
    "an amount has to be checked before it is quoted",
    "a colleague needs the record for an answer",
    "the case cannot go on without the reference number",
)
EXCLUSIONS = (
    "the record is older than seven years and lives in the archive",
    "the customer only asks for general terms",
    "the reference number is a guess",
    "another tool has returned the same record in this run",
)


class Field(NamedTuple):
    name: str
    schema: dict[str, Any]


FIELDS = (
    Field(
        "reference",
        {
            "type": "string",
            "pattern": "^[A-Z]{2}-[0-9]{6}$",
            "description": "Reference number, as printed on the letter.",
        },
    ),
    Field("email", {"type": "string", "format": "email", "description": "Address of the person it concerns."}),
    Field(
        "amount", {"type": "number", "minimum": 0, "maximum": 100000, "description": "Amount in euros, taxes included."}
    ),
    Field("quantity", {"type": "integer", "minimum": 1, "description": "How many pieces; at least one."}),
    Field("urgent", {"type": "boolean", "description": "True when it has to happen today."}),
    Field(
        "status",
        {
            "type": "string",
            "enum": ["open", "waiting", "closed"],
            "description": "State to filter by, open when unsure.",
        },
    ),
    Field("since", {"type": "string", "format": "date", "description": "First day to look at, such as 2025-04-01."}),
    Field(
        "labels",
        {"type": "array", "items": {"type": "string"}, "maxItems": 20, "description": "Labels that all have to match."},
    ),
    Field("note", {"type": ["string", "null"], "maxLength": 500, "description": "A line for the record, or null."}),
    Field(
        "page", {"type": "integer", "minimum": 1, "default": 1, "description": "Page of the list, counted from one."}
    ),
    Field(
        "country", {"type": "string", "minLength": 2, "maxLength": 2, "description": "Country as two capital letters."}
    ),
    Field(
        "address",
        {
            "type": "object",
            "description": "Where it should go.",
            "properties": {
                "street": {"type": "string", "description": "Street and house number."},
                "city": {"type": "string", "description": "Town, without the postcode."},
            },
            "required": ["street", "city"],
            "additionalProperties": False,
        },
    ),
)


class Sketch(NamedTuple):
    """A tool before it is written in any dialect."""

    number: int
    kind: str
    verb: str
    noun: str
    owner: str
    inputs: tuple[Field, ...]
    outputs: tuple[Field, ...]
    transport: str
    version: str
    is_faulty: bool
    case: int
    """A number of its own, worked into its texts. Real definitions share keys, not sentences, and a reader that remembers
    lines must not profit from ours being alike."""

    @property
    def slug(self) -> str:
        return f"{self.verb}-{self.noun}-{self.number:06d}"

    @property
    def symbol(self) -> str:
        return self.slug.replace("-", "_")

    @property
    def title(self) -> str:
        return f"{self.verb.replace('-', ' ').capitalize()} {self.noun}"

    @property
    def sentences(self) -> tuple[str, str]:
        return (
            f"{self.title} records of the {self.owner} team by what is known of case {self.case}.",
            f"Use it when the {self.noun} matters to the answer and its reference is known.",
        )


def sketches(count: int, seed: int = SEED, faulty_percent: int = FAULTY_PERCENT) -> Iterator[Sketch]:
    """`count` different tools."""
    draw = random.Random(seed)
    for number in range(count):
        kind = draw.choices(("retrieval", "action", "function", "human"), (50, 35, 10, 5))[0]
        transports = ("rest-api", "lambda", "mcp", "message-queue", "database")
        transport = draw.choices(transports, (50, 15, 15, 8, 12))[0]
        if kind == "function":
            transport = ""
        yield Sketch(
            number,
            kind,
            draw.choice(VERBS[kind]),
            draw.choice(NOUNS),
            draw.choice(TEAMS),
            _told(draw, draw.sample(FIELDS, draw.randint(1, 3))),
            _told(draw, draw.sample(FIELDS, draw.randint(1, 2))),
            transport,
            f"{draw.randint(1, 4)}.{draw.randint(0, 9)}.{draw.randint(0, 9)}",
            draw.randrange(100) < faulty_percent,
            draw.randrange(10**7),
        )


def _told(draw: random.Random, fields: list[Field]) -> tuple[Field, ...]:
    """Fields with descriptions of their own."""
    return tuple(
        Field(
            field.name,
            {**field.schema, "description": f"{field.schema['description']} See note {draw.randrange(10**6)}."},
        )
        for field in fields
    )


def object_schema(fields: tuple[Field, ...], required: int) -> dict[str, Any]:
    """A closed object of the given fields."""
    return {
        "type": "object",
        "properties": {field.name: field.schema for field in fields},
        "required": [field.name for field in fields[:required]],
        "additionalProperties": False,
    }
