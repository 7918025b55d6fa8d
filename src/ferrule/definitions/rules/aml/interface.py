"""The schemas of a tool's interface, walked once and shared by the rules about them."""

from __future__ import annotations

from collections.abc import Collection, Iterable
from typing import NamedTuple, cast

from ferrule.contracts.rule import Subject
from ferrule.definitions.rules.aml.unremarkable import is_unremarkable
from ferrule.model.diagnostic import Severity
from ferrule.model.value import JsonObject, Path
from ferrule.schema.inlining import REFUSED_BY_AML
from ferrule.schema.walk import SchemaPosition, positions

SIDES = ("input", "output")
"""Keywords AML refuses (AML-26)."""
_LATER = frozenset({"contentSchema", "dependentSchemas", "prefixItems", "unevaluatedItems", "unevaluatedProperties"})
_UNREAD = REFUSED_BY_AML | _LATER
"""What is inside these is not looked at: it is refused, or by draft-07 no schema."""
_NAME = "interface"


class _Interface(NamedTuple):
    schemas: list[SchemaPosition]
    keywords: set[str]


def schemas(subject: Subject) -> Iterable[SchemaPosition]:
    """The schemas of the interface a rule may have something to say about, from the roots inwards.

    Left out are those inside something reported as an error, and those that are plainly unremarkable.
    """
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


def _collect(schema: JsonObject, path: Path, found: list[SchemaPosition]) -> None:
    if not is_unremarkable(schema):
        found += positions(schema, path, skip=_UNREAD)
        return
    if "properties" in schema:
        for name, member in schema["properties"].items():
            _collect(member, (*path, "properties", name), found)
    if "items" in schema:
        _collect(schema["items"], (*path, "items"), found)


def _interface(subject: Subject) -> _Interface:
    known = cast("_Interface | None", subject.memo.get(_NAME))
    if known is None:
        found: list[SchemaPosition] = []
        for side in SIDES:
            schema = subject.get("interface", side)
            if isinstance(schema, dict):
                _collect(schema, ("interface", side), found)
        known = subject.memo[_NAME] = _Interface(found, set().union(*[position.schema for position in found]))
    return known
