"""Compares a server's current tools with the pinned ones: changed, vanished, new, renamed. Pure."""

from __future__ import annotations

import difflib
import json
from collections.abc import Iterable, Mapping
from typing import Literal

import msgspec

from ferrule.infra.lockfile.file import Native, digest, encode_visible

Kind = Literal["changed", "renamed", "vanished", "new"]
_ALIKE = 0.6
"""From this similarity on (0 to 1), a vanished tool and a new one count as one that was renamed."""
_LONGEST = 20_000
_MOST_CHANGES = 50


class MemberChange(msgspec.Struct, frozen=True):
    """One member that differs. None in text stands for a missing member."""

    path: str
    """`description`, `inputSchema.properties.to.type`."""
    before: str | None
    """As JSON, with unseen characters escaped."""
    after: str | None


class ToolDifference(msgspec.Struct, frozen=True, kw_only=True):
    """One tool that differs from its accepted definition."""

    kind: Kind
    tool: str
    """Its accepted name; of a `new` tool the server's."""
    now: str = ""
    """Of a `renamed` tool: its current name."""
    changes: tuple[MemberChange, ...] = ()

    @property
    def text(self) -> str:
        """The difference in a few words, with the members that differ."""
        where = ", ".join(change.path for change in self.changes[:8])
        match self.kind:
            case "changed":
                return f"its definition changed ({where})"
            case "renamed" if where:
                return f"it was renamed to {encode_visible(self.now)} and edited ({where})"
            case "renamed":
                return f"it was renamed to {encode_visible(self.now)}"
            case "vanished":
                return "the server does not have it any more"
            case "new":
                return "nobody has accepted it yet"


def compare_tools(
    pinned: Mapping[str, Native], live: Iterable[Native], key: str = "name"
) -> tuple[ToolDifference, ...]:
    """Returns all differences, sorted by name. A name that the server lists twice has changed. `key`: the member that
    identifies tools: `name`, of OXP tools `id`."""
    now: dict[str, Native] = {}
    twice: set[str] = set()
    for definition in live:
        name = str(definition.get(key))
        if name in now:
            twice.add(name)
        now.setdefault(name, definition)
    found = [
        ToolDifference(
            kind="changed", tool=name, changes=_list_tool_changes(pinned[name], now[name], is_twice=name in twice)
        )
        for name in sorted(pinned.keys() & now.keys())
        if name in twice or digest(pinned[name]) != digest(now[name])
    ]
    gone = {name: pinned[name] for name in sorted(pinned.keys() - now.keys())}
    new = {name: now[name] for name in sorted(now.keys() - pinned.keys())}
    for name, definition in gone.items():
        other = _find_nearest(definition, new)
        if other is None:
            found.append(ToolDifference(kind="vanished", tool=name))
        else:
            # Taken out of the new ones: each of them is the new name of one vanished tool at most.
            edits = list_changes(_drop_name(definition), _drop_name(new.pop(other)))
            found.append(ToolDifference(kind="renamed", tool=name, now=other, changes=edits))
    found += [ToolDifference(kind="new", tool=name) for name in new]
    return tuple(found)


def list_changes(before: object, after: object) -> tuple[MemberChange, ...]:
    """Lists the members that differ, from the outside in; at most fifty, the rest as one."""
    found = list(_walk(before, after, ""))
    if len(found) > _MOST_CHANGES:
        rest = len(found) - _MOST_CHANGES
        found = [*found[:_MOST_CHANGES], MemberChange(f"and {rest} more", None, None)]
    return tuple(found)


def _list_tool_changes(before: Native, after: Native, *, is_twice: bool) -> tuple[MemberChange, ...]:
    found = list_changes(before, after)
    return (*found, MemberChange("listed twice", None, None)) if is_twice else found


def _walk(before: object, after: object, path: str) -> Iterable[MemberChange]:
    if isinstance(before, dict) and isinstance(after, dict):
        for key in dict.fromkeys((*before, *after)):
            inner = f"{path}.{_step(key)}" if path else _step(key)
            if key not in after:
                yield MemberChange(inner, encode_visible(before[key]), None)
            elif key not in before:
                yield MemberChange(inner, None, encode_visible(after[key]))
            else:
                yield from _walk(before[key], after[key], inner)
    elif _text(before) != _text(after):
        yield MemberChange(path or "(all of it)", encode_visible(before), encode_visible(after))


def _step(key: str) -> str:
    return encode_visible(key)[1:-1]


def _find_nearest(definition: Native, candidates: Mapping[str, Native]) -> str | None:
    """Returns the name of the most similar candidate, if it is similar enough."""
    wanted = _text(_drop_name(definition))[:_LONGEST]
    best: tuple[float, str] | None = None
    for name, candidate in candidates.items():
        likeness = _likeness(wanted, _text(_drop_name(candidate))[:_LONGEST])
        if likeness >= _ALIKE and (best is None or likeness > best[0]):
            best = (likeness, name)
    return best[1] if best else None


def _likeness(one: str, other: str) -> float:
    if one == other:
        return 1.0
    matcher = difflib.SequenceMatcher(None, one, other, autojunk=True)
    # Two cheap upper bounds first: the real ratio takes quadratic time.
    if matcher.real_quick_ratio() < _ALIKE or matcher.quick_ratio() < _ALIKE:
        return 0.0
    return matcher.ratio()


def _drop_name(definition: Native) -> Native:
    return {key: value for key, value in definition.items() if key not in ("name", "title")}


def _text(value: object) -> str:
    return json.dumps(value, sort_keys=True)
