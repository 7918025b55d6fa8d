"""Brings Agent Tool records of 0.1.x to 0.2.0 (AT-280): the version, and spellings that have a name of today.

Ids, native mappings and unknown fields stay as they are (AT-278, AT-281).
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from ferrule.contracts.fix import Edit, Fix, Fixers, Manuscript
from ferrule.definitions.rules.agent_tool.earlier_spellings import (
    CURRENT,
    EarlierRecord,
    Spelling,
    list_earlier_records,
)
from ferrule.definitions.rules.rewriting import rename_member
from ferrule.model.value import Path

_SAME = frozenset({"0.2", "v0.2", "v0.2.0", "0.2.x"})
"""Other ways to write the current version."""


def upgrade_record(manuscript: Manuscript) -> Iterator[Fix]:
    """Upgrades a record of 0.1.x to 0.2.0, and those embedded in it.

    `input_contract.schema` becomes `model_input_schema`, `file read` `file_read`, `peer-agent` `peer_agent`.
    """
    for kind, path, value in manuscript.definitions:
        records = list(list_earlier_records(kind, value))
        if records:
            yield from _upgrade_definition(manuscript, path, records)


def _upgrade_definition(manuscript: Manuscript, base: Path, records: list[EarlierRecord]) -> Iterator[Fix]:
    paths: list[Path] = []
    edits: list[Edit | None] = []
    versions = [(*base, *record.path, "schema_version") for record in records if record.has_version]
    spellings = [found._replace(path=base + found.path) for record in records for found in record.spellings]
    for place in versions:
        paths.append(place)
        edits.append(_reword(manuscript, place, CURRENT))
    for found in spellings:
        paths.append(found.path)
        edits.append(_respell(manuscript, found))
    certain = tuple(edit for edit in edits if edit is not None)
    if len(certain) != len(edits):
        return

    def change(value: object) -> None:
        for place in versions:
            _find_holder(value, place)["schema_version"] = CURRENT
        for found in spellings:
            holder, last = _find_holder(value, found.path), found.path[-1]
            if found.is_key:
                holder[found.word] = holder.pop(last)
            else:
                holder[last] = found.word

    yield Fix("AT-280", tuple(paths), certain, change)


def _respell(manuscript: Manuscript, found: Spelling) -> Edit | None:
    if found.is_key:
        return rename_member(manuscript, found.path, found.word)
    return _reword(manuscript, found.path, found.word)


def complete_version(manuscript: Manuscript) -> Iterator[Fix]:
    """Completes `schema_version: "0.2"` to the current version."""
    for _, path, value in manuscript.definitions:
        if value.get("schema_version") in _SAME:
            place = (*path, "schema_version")

            def change(value: object, place: Path = place) -> None:
                _find_holder(value, place)["schema_version"] = CURRENT

            edit = _reword(manuscript, place, CURRENT)
            if edit is not None:
                yield Fix("AT-2", (place,), (edit,), change)


def _reword(manuscript: Manuscript, path: Path, word: str) -> Edit | None:
    node = manuscript.node(path)
    return None if node is None else manuscript.reword(node.span, word)


def _find_holder(value: Any, path: Path) -> Any:
    for step in path[:-1]:
        value = value[step]
    return value


FIXERS = Fixers(fixers=(upgrade_record, complete_version), rules=frozenset({"AT-2", "AT-280"}))
