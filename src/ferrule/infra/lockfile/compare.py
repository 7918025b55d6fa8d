"""What a server says now against what was pinned: changed, vanished, new, and the same tool under another name. Pure."""

from __future__ import annotations

import difflib
import json
from collections.abc import Iterable, Mapping
from typing import Any, Literal

import msgspec

from ferrule.infra.lockfile.file import Native, digest, shown

Kind = Literal["changed", "renamed", "vanished", "new"]
_ALIKE = 0.6
"""From this likeness on (0 to 1), a tool that vanished and one that is new are told as one that was renamed."""
_LONGEST = 20_000
_MOST_CHANGES = 50


class Change(msgspec.Struct, frozen=True):
    """One member that differs. A side that does not have it is None in text."""

    path: str
    """`description`, `inputSchema.properties.to.type`."""
    before: str | None
    """As JSON, with whatever is unseen escaped."""
    after: str | None


class Difference(msgspec.Struct, frozen=True, kw_only=True):
    """One tool that is not as it was accepted."""

    kind: Kind
    tool: str
    """Its name: the accepted one, or of `new` the server's."""
    now: str = ""
    """Of `renamed`: what the server calls it now."""
    changes: tuple[Change, ...] = ()

    @property
    def text(self) -> str:
        """In a few words, with the members that differ."""
        where = ", ".join(change.path for change in self.changes[:8])
        match self.kind:
            case "changed":
                return f"its definition changed ({where})"
            case "renamed" if where:
                return f"it was renamed to {shown(self.now)} and edited ({where})"
            case "renamed":
                return f"it was renamed to {shown(self.now)}"
            case "vanished":
                return "the server does not have it any more"
            case "new":
                return "nobody has accepted it yet"


def differences(pinned: Mapping[str, Native], live: Iterable[Native], key: str = "name") -> tuple[Difference, ...]:
    """Everything that differs, in the order of names. A name that the server lists twice has changed.

    `key`: the member that tools go by: `name`, of OXP tools `id`.
    """
    now: dict[str, Native] = {}
    twice: set[str] = set()
    for definition in live:
        name = str(definition.get(key))
        if name in now:
            twice.add(name)
        now.setdefault(name, definition)
    found = [
        Difference(kind="changed", tool=name, changes=_changes(pinned[name], now[name], is_twice=name in twice))
        for name in sorted(pinned.keys() & now.keys())
        if name in twice or digest(pinned[name]) != digest(now[name])
    ]
    gone = {name: pinned[name] for name in sorted(pinned.keys() - now.keys())}
    new = {name: now[name] for name in sorted(now.keys() - pinned.keys())}
    for name, definition in gone.items():
        other = _nearest(definition, new)
        if other is None:
            found.append(Difference(kind="vanished", tool=name))
        else:
            edits = changes_between(_nameless(definition), _nameless(new.pop(other)))
            found.append(Difference(kind="renamed", tool=name, now=other, changes=edits))
    found += [Difference(kind="new", tool=name) for name in new]
    return tuple(found)


def changes_between(before: Any, after: Any) -> tuple[Change, ...]:
    """The members that differ, from the outside in; at most fifty, the rest is told as one."""
    found = list(_walk(before, after, ""))
    if len(found) > _MOST_CHANGES:
        rest = len(found) - _MOST_CHANGES
        found = [*found[:_MOST_CHANGES], Change(f"and {rest} more", None, None)]
    return tuple(found)


def _changes(before: Native, after: Native, *, is_twice: bool) -> tuple[Change, ...]:
    found = changes_between(before, after)
    return (*found, Change("listed twice", None, None)) if is_twice else found


def _walk(before: Any, after: Any, path: str) -> Iterable[Change]:
    if isinstance(before, dict) and isinstance(after, dict):
        for key in dict.fromkeys((*before, *after)):
            inner = f"{path}.{_step(key)}" if path else _step(key)
            if key not in after:
                yield Change(inner, shown(before[key]), None)
            elif key not in before:
                yield Change(inner, None, shown(after[key]))
            else:
                yield from _walk(before[key], after[key], inner)
    elif _text(before) != _text(after):
        yield Change(path or "(all of it)", shown(before), shown(after))


def _step(key: str) -> str:
    return shown(key)[1:-1]


def _nearest(definition: Native, candidates: Mapping[str, Native]) -> str | None:
    """The name of the candidate that is most alike, if it is alike enough."""
    wanted = _text(_nameless(definition))[:_LONGEST]
    best: tuple[float, str] | None = None
    for name, candidate in candidates.items():
        likeness = _likeness(wanted, _text(_nameless(candidate))[:_LONGEST])
        if likeness >= _ALIKE and (best is None or likeness > best[0]):
            best = (likeness, name)
    return best[1] if best else None


def _likeness(one: str, other: str) -> float:
    if one == other:
        return 1.0
    matcher = difflib.SequenceMatcher(None, one, other, autojunk=True)
    if matcher.real_quick_ratio() < _ALIKE or matcher.quick_ratio() < _ALIKE:
        return 0.0
    return matcher.ratio()


def _nameless(definition: Native) -> Native:
    return {key: value for key, value in definition.items() if key not in ("name", "title")}


def _text(value: Any) -> str:
    return json.dumps(value, sort_keys=True)
