"""How an answer to a fitted schema is turned back, as data: a table of steps that point at one another by number.

The first step is for the whole of the arguments; no step at all means that the answer is what the tool takes. A table can be
kept and sent (msgspec), and needs neither the fitted schema nor the original. Steps that point at one another in a circle are
those of a schema that refers to itself.
"""

from __future__ import annotations

from typing import Any, TypeAlias

import msgspec

KEEP = -1
"""The number of no step: the value stays as it is."""


class Member(msgspec.Struct, frozen=True, omit_defaults=True):
    """A property of an object."""

    name: str
    """Its name in the fitted schema."""
    was: str | None = None
    """Its own name, where that is another."""
    step: int = KEEP
    """What is done to its value."""
    is_absent_null: bool = False
    """Whether null says that it was left out."""


class Members(msgspec.Struct, frozen=True, omit_defaults=True, tag="members"):
    """An object whose members are looked at."""

    members: tuple[Member, ...] = ()
    """Those with something to do; all of them where `others` is set."""
    is_open: bool = False
    """Whether there may be members nobody named, whose names must not be taken for names that were changed."""
    others: str | None = None
    """The property with a list of pairs of a key and a value, for members nobody named."""
    others_step: int = KEEP
    """What is done to the values of those."""


class Items(msgspec.Struct, frozen=True, omit_defaults=True, tag="items"):
    """A list whose items are looked at."""

    first: tuple[int, ...] = ()
    """What is done to the first ones, by position."""
    rest: int = KEEP
    """What is done to the others."""


class Pairs(msgspec.Struct, frozen=True, omit_defaults=True, tag="pairs"):
    """A map that is sent as a list of `{"key": …, "value": …}`."""

    step: int = KEEP
    """What is done to each value."""


class Text(msgspec.Struct, frozen=True, tag="text"):
    """Any value, sent as JSON in a text."""


class Wrapped(msgspec.Struct, frozen=True, omit_defaults=True, tag="wrapped"):
    """A value that is sent as the only member of an object."""

    name: str
    step: int = KEEP


class Shape(msgspec.Struct, frozen=True, omit_defaults=True):
    """What can be seen of a fitted schema at a glance; a value without it does not fit."""

    types: frozenset[str]
    """The JSON types it takes; `integer` is written as `number`."""
    required: frozenset[str] = frozenset()
    """What an object must have."""
    allowed: frozenset[str] | None = None
    """All that an object may have; None: anything."""
    constants: dict[str, tuple[Any, ...]] = {}
    """Members that take a few values only."""


class Option(msgspec.Struct, frozen=True, omit_defaults=True):
    """One branch of a union."""

    shape: Shape
    """What the fitted branch looks like."""
    was: frozenset[str]
    """The JSON types that the original branch takes."""
    step: int = KEEP
    accepts: str = ""
    """The original branch as JSON, standing alone; empty where types are enough to tell it."""


class Choice(msgspec.Struct, frozen=True, omit_defaults=True, tag="choice"):
    """A union whose branches are turned back in different ways."""

    options: tuple[Option, ...]


class Same(msgspec.Struct, frozen=True, tag="same"):
    """Nothing to do, where a number was needed before that was known."""


Step: TypeAlias = Members | Items | Pairs | Text | Wrapped | Choice | Same
"""One step of turning an answer back."""
Steps: TypeAlias = tuple[Step, ...]

KEY, VALUE = "key", "value"
"""The members of a pair."""
