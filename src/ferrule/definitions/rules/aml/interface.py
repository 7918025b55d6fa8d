"""The schemas of a tool's interface, walked once and shared by the rules about them."""

from __future__ import annotations

from collections.abc import Collection, Iterable
from typing import NamedTuple, cast

from ferrule.contracts.rule import Subject
from ferrule.model.diagnostic import Severity
from ferrule.model.value import Path
from ferrule.schema.inlining import REFUSED_BY_AML
from ferrule.schema.walk import SchemaPosition, positions

SIDES = ("input", "output")
_LATER = frozenset({"contentSchema", "dependentSchemas", "prefixItems", "unevaluatedItems", "unevaluatedProperties"})
_UNREAD = REFUSED_BY_AML | _LATER
"""Keywords whose operands are not walked: AML refuses them, or draft-07 knows no schema there."""
_NAME = "interface"


class _Interface(NamedTuple):
    schemas: list[SchemaPosition]
    keywords: set[str]


def list_schemas(subject: Subject) -> Iterable[SchemaPosition]:
    """Returns the schemas of the interface, from the roots inwards, without those inside a reported error."""
    found = _read_interface(subject).schemas
    if not subject.has_errors:
        return found
    return (position for position in found if not subject.is_reported(position.path))


def list_keywords(subject: Subject) -> set[str]:
    """Returns every keyword of those schemas, so that a rule about rare keywords need not walk them."""
    return _read_interface(subject).keywords


def collect_error_paths(subject: Subject) -> Collection[Path]:
    """Returns the paths at or below which an error was reported so far: a set, because files may have many errors."""
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


def _read_interface(subject: Subject) -> _Interface:
    known = cast("_Interface | None", subject.memo.get(_NAME))
    if known is None:
        found: list[SchemaPosition] = []
        for side in SIDES:
            schema = subject.get("interface", side)
            if isinstance(schema, dict):
                found += positions(schema, ("interface", side), skip=_UNREAD)
        known = subject.memo[_NAME] = _Interface(found, set().union(*[position.schema for position in found]))
    return known
