"""The result of fitting: the fitted schema, its changes, and the steps that decode an answer, as data.

Steps are a table and point at one another by number. The first step is for the whole of the arguments; no step at all
means that the answer is already in the tool's form. A table can be stored and sent (msgspec), and needs neither the
fitted schema nor the original. Steps in a circle belong to a schema that refers to itself. `drop_idle_steps` drops
steps that do nothing.
"""

from __future__ import annotations

from typing import Any, TypeAlias

import msgspec

from ferrule.model.loss import Instead

KEEP = -1
"""The number of no step: the value stays as it is."""


class FittedMember(msgspec.Struct, frozen=True, omit_defaults=True):
    """A property of an object."""

    name: str
    """Its name in the fitted schema."""
    was: str | None = None
    """Its own name, where that is another."""
    step: int = KEEP
    """The step for its value."""
    is_absent_null: bool = False
    """True where null means that it was left out."""


class Members(msgspec.Struct, frozen=True, omit_defaults=True, tag="members"):
    """An object whose members are decoded."""

    members: tuple[FittedMember, ...] = ()
    """Those with something to do; all of them where `others` is set."""
    is_open: bool = False
    """True where undeclared members are possible; their names must not be mistaken for changed ones."""
    others: str | None = None
    """The property with a list of pairs of a key and a value, for undeclared members."""
    others_step: int = KEEP
    """The step for their values."""


class Items(msgspec.Struct, frozen=True, omit_defaults=True, tag="items"):
    """A list whose items are decoded."""

    first: tuple[int, ...] = ()
    """The steps for the first items, by position."""
    rest: int = KEEP
    """The step for the other items."""


class Pairs(msgspec.Struct, frozen=True, omit_defaults=True, tag="pairs"):
    """A map that is sent as a list of `{"key": …, "value": …}`."""

    step: int = KEEP
    """The step for each value."""


class JsonText(msgspec.Struct, frozen=True, tag="text"):
    """Any value, sent as JSON in a text."""


class Wrapped(msgspec.Struct, frozen=True, omit_defaults=True, tag="wrapped"):
    """A value that is sent as the only member of an object."""

    name: str
    step: int = KEEP


class FittedShape(msgspec.Struct, frozen=True, omit_defaults=True):
    """The visible shape of a fitted schema; a value without it does not fit."""

    types: frozenset[str]
    """The JSON types it takes; `integer` is written as `number`."""
    required: frozenset[str] = frozenset()
    """The required members of an object."""
    allowed: frozenset[str] | None = None
    """All that an object may have; None: anything."""
    constants: dict[str, tuple[Any, ...]] = {}
    """Members that take a few values only."""


class Option(msgspec.Struct, frozen=True, omit_defaults=True):
    """One branch of a union."""

    shape: FittedShape
    """The shape of the fitted branch."""
    was: frozenset[str]
    """The JSON types that the original branch takes."""
    step: int = KEEP
    accepts: str = ""
    """The original branch as JSON, standing alone; empty where types are enough to tell it."""


class UnionChoice(msgspec.Struct, frozen=True, omit_defaults=True, tag="choice"):
    """A union whose branches are decoded in different ways."""

    options: tuple[Option, ...]


class Same(msgspec.Struct, frozen=True, tag="same"):
    """Nothing to do, where a number was needed before that was known."""


Step: TypeAlias = Members | Items | Pairs | JsonText | Wrapped | UnionChoice | Same
"""One step of turning an answer back."""
Steps: TypeAlias = tuple[Step, ...]

KEY, VALUE = "key", "value"
"""The members of a pair."""


class FittingChange(msgspec.Struct, frozen=True, omit_defaults=True):
    """One thing that the fitted schema expresses in another way, or not at all."""

    path: str
    """The place in the original schema: `properties/when/format`; empty for the whole."""
    why: str
    """Why, in a sentence without a full stop."""
    instead: Instead = "dropped"
    """The replacement; `rewritten` is reversed when an answer is decoded."""
    put: str = ""
    """The words or the name that was put there."""


class FittedSchema(msgspec.Struct, frozen=True):
    """A schema as a provider takes it. Shared by all callers: read it, do not change it."""

    schema: dict[str, Any]
    steps: tuple[Step, ...] = ()
    """How an answer is decoded; empty where it is already in the tool's form."""
    changes: tuple[FittingChange, ...] = ()


class CannotFit(Exception):
    """A schema that cannot be fitted to a provider in any way; the message says where, why, and what to do."""

    def __init__(self, reason: str, path: str = "") -> None:
        super().__init__(f"{path}: {reason}" if path else reason)
        self.reason = reason
        self.path = path


def drop_idle_steps(steps: list[Step], first: int) -> tuple[Step, ...]:
    """Returns the steps that do something, starting with the given one."""
    if first == KEEP:
        return ()
    # The common case, kept quick: an object with a few renamed members.
    if len(steps) == 1 and isinstance(only := steps[0], Members) and not _is_still(only):
        return (only,)
    idle = _idle(steps)
    if first in idle:
        return ()
    order = [first]
    numbers = {first: 0}
    # `order` grows while it is walked.
    for number in order:
        for below in _below(steps[number]):
            if below not in idle and below not in numbers:
                numbers[below] = len(order)
                order.append(below)
    return tuple(_renumber(steps[number], numbers) for number in order)


def _idle(steps: list[Step]) -> set[int]:
    """Returns the steps that leave every value as it is: all that are not known to do otherwise."""
    # Begins with all of them: steps in a circle are idle as long as none of them does anything.
    idle = {KEEP, *range(len(steps))}
    was = -1
    while was != len(idle):
        was = len(idle)
        for number, step in enumerate(steps):
            if number in idle and not (_is_still(step) and idle.issuperset(_below(step))):
                idle.discard(number)
    return idle


def _is_still(step: Step) -> bool:
    match step:
        case JsonText() | Pairs() | Wrapped():
            return False
        case Members():
            return step.others is None and not any(one.is_absent_null or one.was is not None for one in step.members)
        case Items() | UnionChoice() | Same():
            return True


def _below(step: Step) -> tuple[int, ...]:
    match step:
        case Members():
            return (*(member.step for member in step.members), step.others_step)
        case Items():
            return (*step.first, step.rest)
        case Pairs() | Wrapped():
            return (step.step,)
        case UnionChoice():
            return tuple(option.step for option in step.options)
        case JsonText() | Same():
            return ()


def _renumber(step: Step, numbers: dict[int, int]) -> Step:
    match step:
        case Members():
            members = tuple(
                FittedMember(one.name, one.was, numbers.get(one.step, KEEP), one.is_absent_null)
                for one in step.members
                if step.others is not None or one.is_absent_null or one.was is not None or one.step in numbers
            )
            return Members(members, step.is_open, step.others, numbers.get(step.others_step, KEEP))
        case Items():
            return Items(tuple(numbers.get(one, KEEP) for one in step.first), numbers.get(step.rest, KEEP))
        case Pairs():
            return Pairs(numbers.get(step.step, KEEP))
        case Wrapped():
            return Wrapped(step.name, numbers.get(step.step, KEEP))
        case UnionChoice():
            return UnionChoice(
                tuple(Option(one.shape, one.was, numbers.get(one.step, KEEP), one.accepts) for one in step.options)
            )
        case JsonText() | Same():
            return step
