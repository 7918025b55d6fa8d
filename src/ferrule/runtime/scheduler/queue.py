"""Places of calls in a queue, and limits: how many calls run at once, and which goes next when many wait.

A lane moves the place of a call; its owner awaits the turn and reports its end. Higher priority goes first, sources
take turns, and no call is starved. `locks` and the lanes of `scheduler` use it. It counts, and reads no clock.
"""

from __future__ import annotations

import asyncio
from bisect import bisect_left, insort
from collections import OrderedDict
from collections.abc import Hashable, Iterator
from typing import TYPE_CHECKING, Literal

from ferrule.model.scheduling import Claim

if TYPE_CHECKING:
    from ferrule.runtime.scheduler.scheduler import Lane


PlaceState = Literal["announced", "waiting", "running", "gone"]
Locks = tuple[tuple[str, bool], ...]


class QueueFull(Exception):
    """Raised when a lane's queue is full; the call has no place."""


class QueueLeft(Exception):
    """Raised for a call that was withdrawn while it waited; it never runs."""


class Deadlock(Exception):
    """Raised when the call would wait for a lock whose holder waits, in the end, for this very call."""


class LanePlace:
    """One call's place in a lane."""

    __slots__ = (
        "_turn",
        "claim",
        "inner",
        "is_exclusive",
        "lane",
        "limits",
        "locks",
        "missing",
        "moves",
        "parent",
        "queue",
        "state",
        "taken",
    )

    def __init__(self, lane: Lane, parent: LanePlace | None = None) -> None:
        self.state: PlaceState = "announced"
        self.claim: Claim | None = None
        """The claim of the call; None until it has entered."""
        self.lane = lane
        self.parent = parent
        """The place of the call whose tool makes this one."""
        self.inner: Lane | None = None
        """The lane of the calls that this call's tool makes."""
        self.is_exclusive = False
        self.locks: Locks = ()
        self.missing = 0
        """The number of locks at which it is not its turn yet."""
        self.limits: tuple[Limit, ...] = ()
        self.taken = 0
        """How many of its limits, in their order, count this place."""
        self.moves = 0
        """How often it moved from one limit to another."""
        self.queue: RemovableQueue | None = None
        """The queue it stands in, besides those of its locks."""
        self._turn: asyncio.Future[None] | None = None

    async def wait_turn(self) -> None:
        """Waits until the call may run. Raises QueueLeft when it was withdrawn meanwhile.

        A caller that is canceled here calls `leave`, as after any other ending; no turn is lost by that.
        """
        while self.state == "waiting":
            if self._turn is None or self._turn.done():
                self._turn = asyncio.get_running_loop().create_future()
            await self._turn
        if self.state != "running":
            raise QueueLeft("the call was withdrawn before it could run")

    def wake(self) -> None:
        """Wakes the task that waits for the turn."""
        if self._turn is not None and not self._turn.done():
            self._turn.set_result(None)

    @property
    def is_barrier(self) -> bool:
        """True for a place without a call, which only holds later ones back."""
        return self.claim is None and self.state == "waiting"

    def iter_ancestors(self) -> Iterator[LanePlace]:
        """Yields the calls that this one is part of, the nearest first."""
        place = self.parent
        while place is not None:
            yield place
            place = place.parent


class RemovableQueue:
    """A queue from which a place can be removed at any position."""

    __slots__ = ()

    def remove(self, place: LanePlace) -> None:
        """Removes a place."""
        raise NotImplementedError


AGING_TURNS = 16
"""Every so many turns the priority served longest ago goes first, so that a low one is slow and never starved."""
MAX_MOVES = 8
"""How often a place moves from one limit to another before it keeps the limits it gets."""

_Sources = OrderedDict[Hashable, "OrderedDict[LanePlace, None]"]


class FairQueue(RemovableQueue):
    """Places by priority, and within one priority by their sources in turn. It counts and reads no clock."""

    __slots__ = ("_by_lane", "_levels", "_order", "_served")

    def __init__(self, *, by_lane: bool) -> None:
        self._by_lane = by_lane
        self._levels: OrderedDict[int, _Sources] = OrderedDict()
        self._order: list[int] = []
        self._served = 0

    def __bool__(self) -> bool:
        return bool(self._levels)

    def __len__(self) -> int:
        return sum(len(places) for sources in self._levels.values() for places in sources.values())

    def push(self, place: LanePlace) -> None:
        """Appends a place."""
        priority, source = self._rank(place)
        sources = self._levels.get(priority)
        if sources is None:
            sources = self._levels[priority] = OrderedDict()
            insort(self._order, priority)
        places = sources.get(source)
        if places is None:
            places = sources[source] = OrderedDict()
        places[place] = None
        place.queue = self

    def pop(self) -> LanePlace:
        """Removes and returns the next place."""
        self._served += 1
        priority = self._order[-1]
        if len(self._order) > 1 and self._served % AGING_TURNS == 0:
            priority = next(iter(self._levels))
        sources = self._levels[priority]
        source, places = sources.popitem(last=False)
        place, _ = places.popitem(last=False)
        if places:
            sources[source] = places  # behind the other sources
        # Keeps the priority that was served longest ago at the front, for the aging turn.
        self._levels.move_to_end(priority)
        if not sources:
            self._drop(priority)
        place.queue = None
        return place

    def remove(self, place: LanePlace) -> None:
        """Removes a place that was withdrawn."""
        priority, source = self._rank(place)
        sources = self._levels[priority]
        places = sources[source]
        del places[place]
        if not places:
            del sources[source]
            if not sources:
                self._drop(priority)
        place.queue = None

    def _rank(self, place: LanePlace) -> tuple[int, Hashable]:
        claim = place.claim
        assert claim is not None  # only places that have entered wait for a limit
        return claim.priority, place.lane if self._by_lane else claim.principal

    def _drop(self, priority: int) -> None:
        del self._levels[priority]
        del self._order[bisect_left(self._order, priority)]


class Limit:
    """A limit of places at once, and the queue of those that wait for one of them to leave."""

    __slots__ = ("crowd", "is_of_lane", "kind", "most", "name", "queue", "running", "users")

    def __init__(self, kind: str, name: str, most: int, *, is_of_lane: bool = False) -> None:
        self.kind = kind
        self.name = name
        self.most = most
        self.running = 0
        self.crowd = 0
        """The number of places counted since the limit was last idle."""
        self.users = 0
        """Places that count here or will; not kept for a lane's own limit."""
        self.is_of_lane = is_of_lane
        self.queue: FairQueue | None = None

    def push(self, place: LanePlace) -> None:
        """Queues a place."""
        if self.queue is None:
            self.queue = FairQueue(by_lane=not self.is_of_lane)
        self.queue.push(place)

    def add_running(self) -> None:
        """Counts one more running place."""
        self.crowd = self.crowd + 1 if self.running else 1
        self.running += 1

    def refuses(self, freed: Limit | None) -> bool:
        """Returns True when a place has to wait here: the limit is reached, or others are in line before it.

        `freed` is the limit whose line the place has just come to the head of.
        """
        return self.running >= self.most or (self is not freed and bool(self.queue))


def try_limits(place: LanePlace, freed: Limit | None) -> bool:
    """Counts a place in all of its limits, or queues it at the first that refuses.

    A place that moved too often keeps the limits it gets, always in the same order: that rules out both a deadlock and
    a
    place that never finds everything free at the same moment.
    """
    limits = place.limits
    if place.moves < MAX_MOVES:
        # All or none: a slot counted for a place that still waits elsewhere would be lost to the others.
        for limit in limits:
            if limit.refuses(freed):
                place.moves += 1
                limit.push(place)
                return False
        for limit in limits:
            limit.add_running()
        place.taken = len(limits)
        return True
    for limit in limits[place.taken :]:
        if limit.refuses(freed):
            limit.push(place)
            return False
        limit.add_running()
        place.taken += 1
    return True
