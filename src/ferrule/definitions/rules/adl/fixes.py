"""Moves the superseded blocks of ADL manifests (ADL-6) to where they belong now, where nothing has to be guessed.

A switch that turned all assistants off, while some say they are on, stays with a person; so does a block that is
written in both places.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from ferrule.contracts.fix import Fix, Fixers, Manuscript
from ferrule.definitions.rules.adl.superseded_shape import AI, ASSISTANTS, MOVED_ROOTS
from ferrule.definitions.rules.rewriting import dropped, moved
from ferrule.model.value import JsonObject, Path, dig

_RULE = "ADL-6"


def moved_block(manuscript: Manuscript) -> Iterator[Fix]:
    """`spec.sandbox` and `spec.ai` move under `spec.development`."""
    for path in MOVED_ROOTS:
        yield from _into(manuscript, path, "development")


def flat_assistant(manuscript: Manuscript) -> Iterator[Fix]:
    """`ai.claudecode` and the other assistants move under `ai.orchestrators`."""
    for name in ASSISTANTS:
        yield from _into(manuscript, (*AI, name), "orchestrators")


def _into(manuscript: Manuscript, path: Path, home: str) -> Iterator[Fix]:
    """Offers to move a mapping into its neighbour `home`, unless something of that name is there."""
    if not isinstance(dig(manuscript.value, path), dict):
        return
    around = dig(manuscript.value, path[:-1])
    there: Any = around.get(home, {}) if isinstance(around, dict) else None
    key = str(path[-1])
    if not isinstance(there, dict) or key in there:
        return
    edits = moved(manuscript, path, home)
    if edits is None:
        return

    def change(value: Any) -> None:
        holder = dig(value, path[:-1])
        if isinstance(holder, dict):
            holder.setdefault(home, {})[key] = holder.pop(key)

    yield Fix(_RULE, (path,), edits, change)


def master_switch(manuscript: Manuscript) -> Iterator[Fix]:
    """`ai.enabled` goes when the assistants' own switches say the same: it is true, or none of them is on."""
    path = (*AI, "enabled")
    assistants = dig(manuscript.value, AI)
    if not isinstance(assistants, dict) or not isinstance(assistants.get("enabled"), bool):
        return
    switches = list(_switches(assistants))
    if not switches or (not assistants["enabled"] and any(switches)):
        return
    edit = dropped(manuscript, path)
    if edit is None:
        return

    def change(value: Any) -> None:
        holder = dig(value, AI)
        if isinstance(holder, dict):
            del holder["enabled"]

    yield Fix(_RULE, (path,), (edit,), change)


def _switches(assistants: JsonObject) -> Iterator[bool]:
    """Whether each assistant is on, wherever it is written; one that does not say so counts as on."""
    below = assistants.get("orchestrators")
    for holder in (assistants, below if isinstance(below, dict) else {}):
        for name in ASSISTANTS:
            if name in holder:
                block = holder[name]
                yield block.get("enabled") is not False if isinstance(block, dict) else True


FIXERS = Fixers(fixers=(moved_block, flat_assistant, master_switch), rules=frozenset({_RULE}))
