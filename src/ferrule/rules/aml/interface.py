"""The schemas of a tool's interface, walked once and shared by the rules about them."""

from __future__ import annotations

from collections.abc import Iterable
from typing import NamedTuple, cast

from ferrule.contracts.rule import Subject
from ferrule.model.schema import Position, positions

SIDES = ("input", "output")
REFUSED = frozenset({"$ref", "$id", "definitions", "$defs", "$anchor", "$recursiveRef", "$dynamicRef"})
"""Keywords AML refuses (AML-26); what is inside them is not looked at."""
_NAME = "interface"


class _Interface(NamedTuple):
    schemas: list[Position]
    keywords: set[str]


def schemas(subject: Subject) -> Iterable[Position]:
    """Every schema of the interface from the roots inwards, without those inside something reported as an error."""
    found = _interface(subject).schemas
    if not subject.has_errors:
        return found
    return (position for position in found if not subject.is_reported(position.path))


def keywords(subject: Subject) -> set[str]:
    """Every keyword that occurs in those schemas, so that a rule about others need not look at each."""
    return _interface(subject).keywords


def _interface(subject: Subject) -> _Interface:
    known = cast("_Interface | None", subject.memo.get(_NAME))
    if known is None:
        found: list[Position] = []
        for side in SIDES:
            found += positions(subject.get("interface", side), ("interface", side), skip=REFUSED)
        known = subject.memo[_NAME] = _Interface(found, set().union(*[position.schema for position in found]))
    return known
