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


class Placed(NamedTuple):
    """A record, or a schema, and its path in the definition."""

    path: Path
    value: JsonObject


def record_of(subject: Subject, kind: str) -> Placed | None:
    """The record of this kind: the definition itself, or what a declaration embeds."""
    if subject.kind == f"agent_tool.{kind}":
        return Placed((), subject.value)
    if subject.kind != "agent_tool.declaration":
        return None
    key = EMBEDDED[kind]
    value = subject.get(key) if key in subject.value else None
    return Placed((key,), value) if isinstance(value, dict) else None


def records_of(subject: Subject) -> Iterator[Placed]:
    """The definition and every record embedded in it."""
    yield Placed((), subject.value)
    if subject.kind == "agent_tool.declaration":
        for key in EMBEDDED.values():
            if key in subject.value:
                value = subject.get(key)
                if isinstance(value, dict):
                    yield Placed((key,), value)


def schemas_of(subject: Subject, keys: tuple[str, ...]) -> Iterator[Placed]:
    """The schemas under some keys of the input contract, the output contract and the interface."""
    holders: list[Path] = [()] if subject.kind == "agent_tool.interface" else _HOLDERS
    for holder in holders:
        for key in keys:
            value = subject.get(*holder, key)
            if isinstance(value, dict):
                yield Placed((*holder, key), value)


_HOLDERS: list[Path] = [("input_contract",), ("output_contract",), ("tool_interface",)]
