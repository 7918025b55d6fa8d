"""The schemas of a tool's interface, walked once and shared by the rules about them."""

from __future__ import annotations

from collections.abc import Iterable
from typing import cast

from ferrule.contracts.rule import Subject
from ferrule.model.schema import Position, positions

SIDES = ("input", "output")
REFUSED = frozenset({"$ref", "$id", "definitions", "$defs", "$anchor", "$recursiveRef", "$dynamicRef"})
"""Keywords AML refuses (AML-26); what is inside them is not looked at."""
_NAME = "interface schemas"


def schemas(subject: Subject) -> Iterable[Position]:
    """Every schema of the interface from the roots inwards, without those inside something reported as an error."""
    found = cast("list[Position] | None", subject.memo.get(_NAME))
    if found is None:
        found = []
        for side in SIDES:
            found += positions(subject.get("interface", side), ("interface", side), skip=REFUSED)
        subject.memo[_NAME] = found
    if not subject.has_errors:
        return found
    return (position for position in found if not subject.is_reported(position.path))
