"""Resource locks, and the gates of locks and limits: calls that share a key do not overlap, unless both only share it.

A call takes all of its locks at once, when it starts, or none: no call holds one lock while it waits for another.
Waiting calls stand in the line of each of their keys, all joined in one step, so the oldest can always go once the
holders have left. A nested call goes before calls that have not begun: its parent may hold what those wait for. All
lanes share one `SharedGates`, which starts a place, takes back what a leaving one held, and admits the next.
"""

from __future__ import annotations

from collections import OrderedDict
from collections.abc import Iterator

from ferrule.runtime.scheduler.queue import LanePlace, Limit, Locks, RemovableQueue, try_limits


class QueueLine(RemovableQueue):
    """Places in the order they came."""

    __slots__ = ("places",)

    def __init__(self) -> None:
        self.places: OrderedDict[LanePlace, None] = OrderedDict()

    def push(self, place: LanePlace) -> None:
        """Appends a place."""
        self.places[place] = None
        place.queue = self

    def remove(self, place: LanePlace) -> None:
        """Removes a place."""
        del self.places[place]
        place.queue = None

    @property
    def head(self) -> LanePlace:
        """The first place."""
        return next(iter(self.places))


class LockKey:
    """One lock: its holders, the places whose turn it is, and those that wait."""

    __slots__ = ("exclusive", "granted_exclusive", "granted_shared", "holders", "name", "nested", "shared", "stalled",
                 "waiting")  # fmt: skip

    def __init__(self, name: str) -> None:
        self.name = name
        self.holders: dict[LanePlace, bool] = {}
        """Running places, each with True when it shares."""
        self.exclusive = 0
        self.shared = 0
        self.granted_exclusive = 0
        """Places whose turn it is at this key, while they wait for something else."""
        self.granted_shared = 0
        self.waiting: OrderedDict[LanePlace, bool] = OrderedDict()
        self.stalled = QueueLine()
        """Places whose turn it was until a nested call overtook them."""
        self.nested: dict[tuple[LanePlace | None, bool], QueueLine] = {}
        """Nested places that wait for holders, by the ancestor that holds the key too, and by mode."""

    @property
    def nested_count(self) -> int:
        """The number of nested places that wait."""
        return sum(len(line.places) for line in self.nested.values())

    @property
    def is_idle(self) -> bool:
        """True when no place holds the key, has a turn at it or waits."""
        return not (self.holders or self.granted_exclusive or self.granted_shared or self.waiting or self.nested_count)

    def may_be_granted(self, shared: bool) -> bool:
        """Returns True when the first place in line may have its turn."""
        # Waiting nested places go first: their parent may hold what the others wait for.
        if self.exclusive or self.granted_exclusive or self.nested:
            return False
        return shared or not (self.shared or self.granted_shared)

    def stalls(self, shared: bool) -> bool:
        """Returns True when a place whose turn it is cannot start, because a nested call overtook it."""
        return bool(self.exclusive or self.nested or (self.shared and not shared))

    def find_conflicts(self, place: LanePlace, shared: bool) -> Iterator[LanePlace]:
        """Yields the holders that block a nested place; its ancestors do not count."""
        line = set(place.iter_ancestors())
        for holder, shares in self.holders.items():
            if not (shared and shares) and holder is not place and holder not in line:
                yield holder

    def admits(self, place: LanePlace, shared: bool) -> bool:
        """Returns True when a nested place conflicts with no holder but its ancestors."""
        exclusive, sharing = self.exclusive, self.shared
        for ancestor in place.iter_ancestors():
            if ancestor in self.holders:
                if self.holders[ancestor]:
                    sharing -= 1
                else:
                    exclusive -= 1
        return not (exclusive or (sharing and not shared))


class LockTable:
    """All locks of a scheduler that are held or wanted."""

    __slots__ = ("keys",)

    def __init__(self) -> None:
        self.keys: dict[str, LockKey] = {}

    def join(self, place: LanePlace) -> bool:
        """Joins the line of every key at once. Returns True when it is the place's turn at all of them."""
        place.missing = len(place.locks)
        for name, shared in place.locks:
            key = self._get_key(name)
            # The turns given here can only be this place's: nothing was released, so nobody before it can move up.
            key.waiting[place] = shared
            self._grant(key)
        return place.missing == 0

    def stall(self, place: LanePlace) -> bool:
        """Stalls a place whose lock a nested call holds; returns False when it can go on."""
        for name, shared in place.locks:
            key = self.keys[name]
            if key.stalls(shared):
                key.stalled.push(place)
                return True
        return False

    def block(self, place: LanePlace) -> bool:
        """Blocks a nested place until the holders of its locks leave; returns False when it can go on."""
        for name, shared in place.locks:
            key = self._get_key(name)
            if not key.admits(place, shared):
                # Places below one holder conflict with the same others, so the head of a line decides for all.
                anchor = next((each for each in place.iter_ancestors() if each in key.holders), None)
                key.nested.setdefault((anchor, shared), QueueLine()).push(place)
                return True
        return False

    def hold(self, place: LanePlace, *, is_nested: bool) -> None:
        """Takes all locks of a place that starts."""
        for name, shared in place.locks:
            key = self._get_key(name)
            key.holders[place] = shared
            if shared:
                key.shared += 1
                # A nested place never had a turn granted, so it has none to give back.
                key.granted_shared -= not is_nested
            else:
                key.exclusive += 1
                key.granted_exclusive -= not is_nested

    def drop(self, place: LanePlace, *, has_turn: bool) -> None:
        """Removes a leaving place, whether it held locks or waited. `iter_released` then yields the next ones."""
        for name, shared in place.locks:
            key = self.keys.get(name)
            if key is None:
                continue
            if key.holders.pop(place, None) is not None:
                key.shared -= shared
                key.exclusive -= not shared
            elif key.waiting.pop(place, None) is None and has_turn:
                # It neither held the lock nor stood in line: it had its turn and waited for something else.
                key.granted_shared -= shared
                key.granted_exclusive -= not shared

    def iter_released(self, locks: Locks) -> Iterator[LanePlace]:
        """Yields the places that may try to start now: nested ones, then those that were overtaken, then the next in line.

        Each has to be tried before the next one is requested.
        """
        for name, _ in locks:
            key = self.keys.get(name)
            if key is None:
                continue
            if key.nested:
                yield from _iter_nested(key)
            stalled = key.stalled
            while stalled.places and not key.stalls(_find_mode(stalled.head, name)):
                place = stalled.head
                stalled.remove(place)
                yield place
            yield from self._grant(key)
            if key.is_idle:
                self.keys.pop(name, None)

    def _get_key(self, name: str) -> LockKey:
        key = self.keys.get(name)
        if key is None:
            key = self.keys[name] = LockKey(name)
        return key

    def _grant(self, key: LockKey) -> list[LanePlace]:
        """Gives turns to the first in line as long as they are compatible; returns the places that have all of theirs."""
        ready = []
        while key.waiting:
            place, shared = next(iter(key.waiting.items()))
            if not key.may_be_granted(shared):
                break
            del key.waiting[place]
            key.granted_shared += shared
            key.granted_exclusive += not shared
            place.missing -= 1
            if place.missing == 0:
                ready.append(place)
        return ready


def _iter_nested(key: LockKey) -> Iterator[LanePlace]:
    # A copy: the caller may put a place into another line before it asks for the next one.
    for group, line in list(key.nested.items()):
        while line.places and key.admits(line.head, group[1]):
            place = line.head
            line.remove(place)
            yield place
        if not line.places and key.nested.get(group) is line:
            del key.nested[group]


def _find_mode(place: LanePlace, name: str) -> bool:
    return next(shared for key, shared in place.locks if key == name)


def normalize_locks(locks: Locks) -> Locks:
    """Sorts locks, each key once, exclusive where both modes are stated."""
    if len(locks) < 2:
        return locks
    modes: dict[str, bool] = {}
    for name, shared in locks:
        modes[name] = modes.get(name, True) and shared
    return tuple(sorted(modes.items()))


def would_deadlock(place: LanePlace, keys: dict[str, LockKey]) -> bool:
    """Returns True when a nested place would wait, in the end, for a call that it is part of."""
    # Calls that have not begun hold nothing, so only calls that run, and what is nested in them, can close a circle.
    line = set(place.iter_ancestors())
    seen: set[LanePlace] = set()
    stack = [place]
    while stack:
        waiting = stack.pop()
        for name, shared in waiting.locks:
            key = keys.get(name)
            if key is None:
                continue
            for holder in key.find_conflicts(waiting, shared):
                if holder in line:
                    return True
                if holder not in seen:
                    seen.add(holder)
                    stack.extend(_iter_waiting(holder))
    return False


def _iter_waiting(place: LanePlace) -> Iterator[LanePlace]:
    """Yields the calls below a running one that wait for locks, or will."""
    stack = [place]
    while stack:
        inner = stack.pop().inner
        for child in inner.iter_places() if inner is not None else ():
            if child.state == "running":
                stack.append(child)
            elif child.locks:
                yield child


class SharedGates:
    """Locks and limits across lanes."""

    __slots__ = ("_limits", "locks")

    def __init__(self) -> None:
        self.locks = LockTable()
        self._limits: dict[tuple[str, str], Limit] = {}

    def use_limit(self, kind: str, name: str, most: int) -> Limit:
        """Returns a limit that lanes share. While it is in use, the strictest lane's number holds."""
        limit = self._limits.get((kind, name))
        if limit is None:
            limit = self._limits[kind, name] = Limit(kind, name, most)
        elif most < limit.most:
            limit.most = most
        limit.users += 1
        return limit

    def drop_limits(self, limits: tuple[Limit, ...]) -> None:
        """Drops the limits that are not used any more."""
        for limit in limits:
            limit.users -= 1
            if not limit.users:
                self._limits.pop((limit.kind, limit.name), None)

    def admit(self, place: LanePlace) -> None:
        """Sends a place that its lane lets go to its locks and limits."""
        if place.parent is not None:
            self._begin_nested(place, None)
        elif not place.locks or self.locks.join(place):
            self._begin(place, None)

    def release(self, place: LanePlace) -> None:
        """Returns a place's locks and limits, and admits the next places in order."""
        has_turn = place.state == "waiting" and place.parent is None
        freed, place.taken = place.limits[: place.taken], 0
        if place.queue is not None:
            place.queue.remove(place)
        # All are freed before one is refilled: the next place may need several of them at once.
        for limit in freed:
            limit.running -= 1
        if place.locks:
            self.locks.drop(place, has_turn=has_turn)
            for other in self.locks.iter_released(place.locks):
                if other.parent is None:
                    self._begin(other, None)
                elif not self.locks.block(other):
                    # A nested place passed its limits before it came to the locks; it is not counted twice.
                    self._start(other)
        for limit in freed:
            self.refill(limit)

    def refill(self, limit: Limit) -> None:
        """Admits the places that a limit held back, as far as it allows."""
        while limit.queue and limit.running < limit.most:
            place = limit.queue.pop()
            if place.parent is None:
                self._begin(place, limit)
            else:
                self._begin_nested(place, limit)

    def _begin(self, place: LanePlace, freed: Limit | None) -> None:
        """Starts a place whose turn it is at its locks, if its limits allow."""
        if (not place.locks or not self.locks.stall(place)) and try_limits(place, freed):
            self._start(place)

    def _begin_nested(self, place: LanePlace, freed: Limit | None) -> None:
        """Starts a nested place: first counts it among its siblings, then waits for the holders of its locks."""
        if try_limits(place, freed) and (not place.locks or not self.locks.block(place)):
            self._start(place)

    def _start(self, place: LanePlace) -> None:
        if place.locks:
            self.locks.hold(place, is_nested=place.parent is not None)
        place.state = "running"
        place.lane.waiting -= 1
        place.wake()
