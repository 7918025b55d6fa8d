"""Moves the superseded blocks of ADL manifests (ADL-6) to where they belong now, where nothing has to be guessed.

A switch that turned all assistants off, while some say they are on, stays with a person; so does a block that is
written in both places.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from ferrule.contracts.fix import Fix, Fixers, Manuscript
from ferrule.definitions.rules.adl.superseded_shape import AI, ASSISTANTS, MOVED_ROOTS
from ferrule.definitions.rules.rewriting import drop_member, move_member
from ferrule.model.value import JsonObject, Path, dig

_RULE = "ADL-6"


def move_block(manuscript: Manuscript) -> Iterator[Fix]:
    """Moves `spec.sandbox` and `spec.ai` under `spec.development`."""
    for path in MOVED_ROOTS:
        yield from _move_into(manuscript, path, "development")


def move_assistant(manuscript: Manuscript) -> Iterator[Fix]:
    """Moves `ai.claudecode` and the other assistants under `ai.orchestrators`."""
    for name in ASSISTANTS:
        yield from _move_into(manuscript, (*AI, name), "orchestrators")


def _move_into(manuscript: Manuscript, path: Path, home: str) -> Iterator[Fix]:
    """Offers to move a mapping into its neighbour `home`, unless something of that name is there."""
    if not isinstance(dig(manuscript.value, path), dict):
        return
    around = dig(manuscript.value, path[:-1])
    there: Any = around.get(home, {}) if isinstance(around, dict) else None
    key = str(path[-1])
    if not isinstance(there, dict) or key in there:
        return
    edits = move_member(manuscript, path, home)
    if edits is None:
        return

    def change(value: object) -> None:
        holder = dig(value, path[:-1])
        if isinstance(holder, dict):
            holder.setdefault(home, {})[key] = holder.pop(key)

    yield Fix(_RULE, (path,), edits, change)


def drop_master_switch(manuscript: Manuscript) -> Iterator[Fix]:
    """Drops `ai.enabled` when the assistants' own switches agree with it: it is true, or none of them is on."""
    path = (*AI, "enabled")
    assistants = dig(manuscript.value, AI)
    if not isinstance(assistants, dict) or not isinstance(assistants.get("enabled"), bool):
        return
    switches = list(_list_switches(assistants))
    if not switches or (not assistants["enabled"] and any(switches)):
        return
    edit = drop_member(manuscript, path)
    if edit is None:
        return

    def change(value: object) -> None:
        holder = dig(value, AI)
        if isinstance(holder, dict):
            del holder["enabled"]

    yield Fix(_RULE, (path,), (edit,), change)


def _list_switches(assistants: JsonObject) -> Iterator[bool]:
    """Yields True for each assistant that is on, in either place; one without `enabled` counts as on."""
    below = assistants.get("orchestrators")
    for holder in (assistants, below if isinstance(below, dict) else {}):
        for name in ASSISTANTS:
            if name in holder:
                block = holder[name]
                yield block.get("enabled") is not False if isinstance(block, dict) else True


FIXERS = Fixers(fixers=(move_block, move_assistant, drop_master_switch), rules=frozenset({_RULE}))
