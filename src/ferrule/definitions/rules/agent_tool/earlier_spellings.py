"""Finds the spellings of Agent Tool 0.1.x that 0.2.0 replaced. A rule reports them and a fix rewrites them.

Ids and native mappings are nobody's to rename (AT-257, AT-264, AT-281): both spellings of those stay as they are.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import Any, NamedTuple

from ferrule.definitions.rules.agent_tool.profile_fields import ACCESS_KINDS, WRITE_EFFECTS
from ferrule.definitions.rules.agent_tool.records import EMBEDDED
from ferrule.model.value import JsonObject, Path

CURRENT = "0.2.0"
_EARLIER = re.compile(r"0\.1\.(0|[1-9][0-9]{0,5})")
_LISTS = {"access_kinds": ACCESS_KINDS, "write_effects": WRITE_EFFECTS}


class Spelling(NamedTuple):
    """An earlier spelling in a record of 0.1.x."""

    path: Path
    """In the definition."""
    word: str
    """What is written today."""
    is_key: bool
    """The key is renamed, not its value."""


class EarlierRecord(NamedTuple):
    """A record of 0.1.x: a definition, or one embedded in it."""

    path: Path
    has_version: bool
    """False for an embedded record that inherits it."""
    spellings: tuple[Spelling, ...]


def list_earlier_records(kind: str, value: JsonObject) -> Iterator[EarlierRecord]:
    """Yields the definition, if it is of 0.1.x, and each such record embedded in it."""
    version = value.get("schema_version")
    for path, record_kind, record in _list_records(kind.removeprefix("agent_tool."), value):
        written = record.get("schema_version", version)
        if isinstance(written, str) and _EARLIER.fullmatch(written):
            yield EarlierRecord(path, "schema_version" in record, tuple(_list_spellings(record_kind, path, record)))


def _list_records(kind: str, value: JsonObject) -> Iterator[tuple[Path, str, JsonObject]]:
    yield (), kind, value
    if kind == "declaration":
        for embedded, key in EMBEDDED.items():
            record = value.get(key)
            if isinstance(record, dict):
                yield (key,), embedded, record


def _list_spellings(kind: str, path: Path, record: JsonObject) -> Iterator[Spelling]:
    if kind == "declaration":
        contract: Any = record.get("input_contract")
        is_old = isinstance(contract, dict) and "model_input_schema" not in contract
        if is_old and isinstance(contract.get("schema"), dict):
            yield Spelling((*path, "input_contract", "schema"), "model_input_schema", is_key=True)
    elif kind == "permission_profile":
        for key, known in _LISTS.items():
            words = record.get(key)
            for index, word in enumerate(words if isinstance(words, list) else ()):
                if isinstance(word, str) and " " in word and word.replace(" ", "_") in known:
                    yield Spelling((*path, key, index), word.replace(" ", "_"), is_key=False)
    elif kind == "surface" and record.get("scope") == "peer-agent":
        yield Spelling((*path, "scope"), "peer_agent", is_key=False)
