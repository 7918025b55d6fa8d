"""Where the records of a definition stand: alone, or embedded in a declaration (AT-25). Shared by the rules."""

from __future__ import annotations

from collections.abc import Iterator
from typing import NamedTuple

from ferrule.contracts.rule import Subject
from ferrule.model.value import JsonObject, Path

EMBEDDED = {
    "interface": "tool_interface",
    "execution_profile": "execution_profile",
    "permission_profile": "permission_profile",
}
"""The key under which a declaration may hold a record of a kind."""


class PlacedRecord(NamedTuple):
    """A record, or a schema, and its path in the definition."""

    path: Path
    value: JsonObject


def find_record(subject: Subject, kind: str) -> PlacedRecord | None:
    """Returns the record of this kind: the definition itself, or the one a declaration embeds."""
    if subject.kind == f"agent_tool.{kind}":
        return PlacedRecord((), subject.value)
    if subject.kind != "agent_tool.declaration":
        return None
    key = EMBEDDED[kind]
    value = subject.get(key) if key in subject.value else None
    return PlacedRecord((key,), value) if isinstance(value, dict) else None


def list_records(subject: Subject) -> Iterator[PlacedRecord]:
    """Yields the definition and every record embedded in it."""
    yield PlacedRecord((), subject.value)
    if subject.kind == "agent_tool.declaration":
        for key in EMBEDDED.values():
            if key in subject.value:
                value = subject.get(key)
                if isinstance(value, dict):
                    yield PlacedRecord((key,), value)


def list_schemas(subject: Subject, keys: tuple[str, ...]) -> Iterator[PlacedRecord]:
    """Yields the schemas under some keys of the input contract, the output contract and the interface."""
    holders: list[Path] = [()] if subject.kind == "agent_tool.interface" else _HOLDERS
    for holder in holders:
        for key in keys:
            value = subject.get(*holder, key)
            if isinstance(value, dict):
                yield PlacedRecord((*holder, key), value)


_HOLDERS: list[Path] = [("input_contract",), ("output_contract",), ("tool_interface",)]
