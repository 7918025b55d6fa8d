"""One call's place among the others. The lane it is in moves it; its owner waits for its turn and says when it is over."""

from __future__ import annotations

import asyncio
from collections.abc import Iterator
from typing import TYPE_CHECKING, Literal

from ferrule.model.scheduling import Claim

if TYPE_CHECKING:
    from ferrule.runtime.scheduler.limits import Limit
    from ferrule.runtime.scheduler.scheduler import Lane

PlaceState = Literal["announced", "waiting", "running", "gone"]
Locks = tuple[tuple[str, bool], ...]


class QueueFull(Exception):
    """As many calls wait in this lane as may; this one has no place."""


class QueueLeft(Exception):
    """The call was withdrawn while it waited; it never runs."""


class Deadlock(Exception):
    """The call would wait for a lock whose holder waits, in the end, for this very call."""


class Place:
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

    def __init__(self, lane: Lane, parent: Place | None = None) -> None:
        self.state: PlaceState = "announced"
        self.claim: Claim | None = None
        """What the call claims; None until it has entered."""
        self.lane = lane
        self.parent = parent
        """The place of the call whose tool makes this one."""
        self.inner: Lane | None = None
        """Where the calls of this call's tool are ordered."""
        self.is_exclusive = False
        self.locks: Locks = ()
        self.missing = 0
        """Locks that are not its turn yet."""
        self.limits: tuple[Limit, ...] = ()
        self.taken = 0
        """How many of its limits, in their order, count this place."""
        self.moves = 0
        """How often it was sent from one limit to another."""
        self.queue: Removable | None = None
        """The queue it stands in, beside those of its locks."""
        self._turn: asyncio.Future[None] | None = None

    async def turn(self) -> None:
        """Wait until the call may run. Raises QueueLeft when it was withdrawn meanwhile.

        Whoever is cancelled here calls `leave`, as after any other ending; nobody's turn is lost by that.
        """
        while self.state == "waiting":
            if self._turn is None or self._turn.done():
                self._turn = asyncio.get_running_loop().create_future()
            await self._turn
        if self.state != "running":
            raise QueueLeft("the call was withdrawn before it could run")

    def wake(self) -> None:
        """Tell whoever waits for the turn that the state has changed."""
        if self._turn is not None and not self._turn.done():
            self._turn.set_result(None)

    @property
    def is_barrier(self) -> bool:
        """True for nobody's place, which only holds later ones back."""
        return self.claim is None and self.state == "waiting"

    def ancestors(self) -> Iterator[Place]:
        """The calls that this one is part of, the nearest first."""
        place = self.parent
        while place is not None:
            yield place
            place = place.parent


class Removable:
    """A queue that a place may be taken out of, wherever in it the place stands."""

    __slots__ = ()

    def remove(self, place: Place) -> None:
        """Take a place out."""
        raise NotImplementedError
