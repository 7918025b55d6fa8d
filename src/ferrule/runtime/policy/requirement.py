"""Requirements of a policy: several asks joined into one that satisfies each, and durations as people write
them (`30m`, `1d 12h`).
"""

from __future__ import annotations

import re
from collections.abc import Sequence

from ferrule.model.decision import Requirement
from ferrule.runtime.policy.compiled import Groups
from ferrule.runtime.policy.records import GROUP, Demand


def combined(demands: Sequence[Demand], groups: Groups, expires_seconds: int) -> Requirement | None:
    """The union of the demands; None when no person could satisfy all of them.

    Approvers must be acceptable to every rule, the highest number of people counts, one rule that excludes the requester
    excludes them, a channel needs the word of every rule, and the shortest time counts.
    """
    lists = [demand.approvers for demand in demands if demand.approvers]
    approvers = lists[0] if lists else ()
    for other in lists[1:]:
        approvers = _common(approvers, other, groups)
        if not approvers:
            return None
    stated = [demand.expires_seconds for demand in demands if demand.expires_seconds is not None]
    channels = [demand.channels for demand in demands]
    return Requirement(
        approvers=approvers,
        people=max((demand.people for demand in demands), default=1),
        not_requester=any(demand.not_requester for demand in demands),
        channels=tuple(name for name in channels[0] if all(name in each for each in channels)) if channels else (),
        expires_seconds=min(stated, default=expires_seconds),
    )


def _common(left: tuple[str, ...], right: tuple[str, ...], groups: Groups) -> tuple[str, ...]:
    """Whoever is on both lists: names and groups written on both, and members of the groups of one who are on the other."""
    if set(left) == set(right):
        return left
    shared = [name for name in left if name in right]
    on_right = set(_people(right, groups))
    people = [name for name in _people(left, groups) if name in on_right and name not in shared]
    covered = set(_people(tuple(shared), groups))
    return (*shared, *(name for name in dict.fromkeys(people) if name not in covered))


def _people(names: tuple[str, ...], groups: Groups) -> list[str]:
    return [
        person
        for name in names
        for person in (groups.get(name.removeprefix(GROUP), ()) if name.startswith(GROUP) else (name,))
    ]


_UNITS = {"s": 1, "m": 60, "h": 3600, "d": 86400, "w": 604800}
_PART = re.compile(r"(\d{1,9})\s*([smhdw])\s*")
LONGEST = 366 * 86400


def seconds_of(text: str) -> int | None:
    """The duration in seconds; None when it is not one, is nothing, or is longer than a year."""
    at = total = 0
    while at < len(text) and (part := _PART.match(text, at)):
        total += int(part[1]) * _UNITS[part[2]]
        at = part.end()
    return total if at == len(text) and 0 < total <= LONGEST else None
