"""The schemas of a tool's interface, walked once and shared by the rules about them."""

from __future__ import annotations

from collections.abc import Collection, Iterable
from typing import NamedTuple, cast

from ferrule.contracts.rule import Subject
from ferrule.model.diagnostic import Severity
from ferrule.model.schema import Position, positions
from ferrule.model.value import Path

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


def unsound(subject: Subject) -> Collection[Path]:
    """The paths at or below which an error has been reported so far: one look-up each, however many errors there are."""
    if not subject.has_errors:
        return ()
    found: set[Path] = set()
    for finding in subject.findings:
        if finding.severity is Severity.ERROR:
            path = finding.path
            while path and path not in found:
                found.add(path)
                path = path[:-1]
    return found


def _interface(subject: Subject) -> _Interface:
    known = cast("_Interface | None", subject.memo.get(_NAME))
    if known is None:
        found: list[Position] = []
        for side in SIDES:
            found += positions(subject.get("interface", side), ("interface", side), skip=REFUSED)
        known = subject.memo[_NAME] = _Interface(found, set().union(*[position.schema for position in found]))
    return known
