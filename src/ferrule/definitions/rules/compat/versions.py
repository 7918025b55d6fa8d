"""What the version rules of this folder share: which changes count, and how to name the version that would do."""

from __future__ import annotations

from collections.abc import Iterator

import msgspec

from ferrule.model.change import Comparison, SchemaChange, ToolChange
from ferrule.model.semver import Bump, parse_version
from ferrule.model.value import JsonValue

VERSION = ("version",)


def changed_aml_tools(comparison: Comparison) -> Iterator[ToolChange]:
    """AML tools on both sides whose front matter differs and whose versions can be compared."""
    for change in comparison.changes:
        if change.word == "changed" and change.made is not None and change.part.outline.dialect == "aml":
            yield change


def is_stale(change: ToolChange) -> bool:
    """True when the version was not raised, which is the only thing then said about it (AML-82)."""
    return change.made is Bump.NONE


def next_version(text: str | None, bump: Bump) -> str:
    """The smallest version that makes this bump; below 1.0.0 a minor one counts as major."""
    version = parse_version(text)
    if version is None:
        return "a higher one"
    major, minor, patch = version[:3]
    if bump is Bump.MAJOR and major > 0:
        return f"{major + 1}.0.0"
    if bump in (Bump.MAJOR, Bump.MINOR):
        return f"{major}.{minor + 1}.0"
    return f"{major}.{minor}.{patch + 1}" if version.is_release else f"{major}.{minor}.{patch}"


def listed(changes: tuple[SchemaChange, ...]) -> str:
    """The first few changes in words."""
    texts = [change.text for change in changes[:3]]
    more = f" (and {len(changes) - 3} more)" if len(changes) > 3 else ""
    return ", ".join(texts) + more


def shown(value: JsonValue) -> str:
    """A counterexample short enough for a message."""
    text = msgspec.json.encode(value).decode()
    return text if len(text) <= 120 else text[:117] + "…"
