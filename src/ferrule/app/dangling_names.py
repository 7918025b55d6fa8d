"""Agents, roles and surfaces that keys and grants name. Whoever comes by one that the catalog does not have is refused, so it is
told before anybody comes. What access tokens of an issuer name is known only when they come."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterable, Iterator, Sequence
from pathlib import Path

from ferrule.access.keys import KEYS_FOLDER, TOKENS_FILE, Access
from ferrule.access.tokens import Token
from ferrule.errors import FerruleError
from ferrule.model.hints import nearest
from ferrule.model.serving import GrantSettings
from ferrule.runtime.surface.roles import listed
from ferrule.workspace.catalog_file import load_catalog
from ferrule.workspace.workspace import Workspace

Known = Callable[[str], Iterable[str]]
"""The names of one kind of record that there are."""
_RECORDS = {"agent": ("agent", "manifest"), "role": ("role",), "surface": ("surface",)}
"""Where the names of each kind stand in a catalog."""
_GRANTS = "[[serve.grants]]"


def unknown_names(known: Sequence[Known], grants: Iterable[GrantSettings], tokens: Iterable[Token]) -> list[str]:
    """What keys and grants name in vain, each name once, with what was probably meant. `known`: asked in this order."""
    named: dict[tuple[str, str], list[str]] = {}
    for kind, name, where in (*_in_grants(grants), *_in_keys(tokens)):
        by = named.setdefault((kind, name), [])
        if where not in by:
            by.append(where)
    return [
        f"there is no {kind} {name!r} in the catalog, and {' and '.join(by)} {'names' if len(by) == 1 else 'name'} it: whoever"
        f" comes by that is refused; {hint}"
        for (kind, name), by in named.items()
        if (hint := hint_for(kind, name, known))
    ]


def hint_for(kind: str, name: str, known: Sequence[Known]) -> str:
    """What there is instead of a name that there is not; empty when there is one."""
    names: list[str] = []
    for source in known:
        names = sorted({one for record in _RECORDS[kind] for one in source(record)})
        if name in names:
            return ""
    return " ".join(filter(None, (nearest(name, names), listed(f"{kind}s", names))))


def names_here(workspace: Workspace) -> tuple[Known, Known]:
    """The names in the catalog as it was built, and in the definitions as they are now, which take longer to read."""

    def built(kind: str) -> Iterator[str]:
        try:
            yield from (record.record_id for record in load_catalog(workspace).records(kind))
        except FerruleError:  # not built yet, or not readable
            return

    def defined(kind: str) -> Iterator[str]:
        for file in workspace.compile():
            for compiled in file.compiled:
                yield from (record.record_id for record in compiled.records if record.kind == kind)

    return built, defined


def keys_of(root: Path) -> tuple[Token, ...]:
    """The keys of a workspace that still count. None are made for the sake of looking."""
    try:
        kept = Access(root).tokens() if (root / KEYS_FOLDER / TOKENS_FILE).exists() else ()
    except FerruleError:  # whoever needs them says so
        return ()
    return tuple(token for token in kept if not token.is_over(time.time()))


def _in_grants(grants: Iterable[GrantSettings]) -> Iterator[tuple[str, str, str]]:
    for grant in grants:
        yield from ((kind, name, _GRANTS) for kind in _RECORDS if (name := getattr(grant, kind)) and not grant.refuse)


def _in_keys(tokens: Iterable[Token]) -> Iterator[tuple[str, str, str]]:
    for token in tokens:
        where = f"the key {token.id} of {token.person}"
        yield from ((kind, name, where) for kind in _RECORDS if (name := getattr(token, kind)))
