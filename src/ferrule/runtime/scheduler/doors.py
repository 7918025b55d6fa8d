"""The doors of locks and limits, which all lanes share: who begins, what whoever leaves gives back, and who goes on then."""

from __future__ import annotations

from ferrule.runtime.scheduler.limits import Limit, takes_all
from ferrule.runtime.scheduler.locks import LockTable
from ferrule.runtime.scheduler.place import Place


class Doors:
    """Locks and limits across lanes."""

    __slots__ = ("_limits", "locks")

    def __init__(self) -> None:
        self.locks = LockTable()
        self._limits: dict[tuple[str, str], Limit] = {}

    def limit(self, kind: str, name: str, most: int) -> Limit:
        """A limit that lanes share. While it is in use, the strictest lane's number holds."""
        limit = self._limits.get((kind, name))
        if limit is None:
            limit = self._limits[kind, name] = Limit(kind, name, most)
        elif most < limit.most:
            limit.most = most
        limit.users += 1
        return limit

    def forget(self, limits: tuple[Limit, ...]) -> None:
        """Drop the limits that nobody uses any more."""
        for limit in limits:
            limit.users -= 1
            if not limit.users:
                self._limits.pop((limit.kind, limit.name), None)

    def admit(self, place: Place) -> None:
        """Take a place that its lane lets go to the doors of locks and limits."""
        if place.parent is not None:
            self._begin_nested(place, None)
        elif not place.locks or self.locks.join(place):
            self._begin(place, None)

    def release(self, place: Place) -> None:
        """Give back what a place had, and let go whoever can go now, in order."""
        has_turn = place.state == "waiting" and place.parent is None
        freed, place.taken = place.limits[: place.taken], 0
        if place.queue is not None:
            place.queue.remove(place)
        for limit in freed:
            limit.running -= 1
        if place.locks:
            self.locks.drop(place, has_turn=has_turn)
            for other in self.locks.released(place.locks):
                if other.parent is None:
                    self._begin(other, None)
                elif not self.locks.block(other):
                    self._start(other)
        for limit in freed:
            self.refill(limit)

    def refill(self, limit: Limit) -> None:
        """Let those go that a limit held back, as far as it allows."""
        while limit.queue and limit.running < limit.most:
            place = limit.queue.pop()
            if place.parent is None:
                self._begin(place, limit)
            else:
                self._begin_nested(place, limit)

    def _begin(self, place: Place, freed: Limit | None) -> None:
        """Start a place whose turn it is at its locks, if its limits allow."""
        if (not place.locks or not self.locks.stall(place)) and takes_all(place, freed):
            self._start(place)

    def _begin_nested(self, place: Place, freed: Limit | None) -> None:
        """A nested place first has a number among its siblings, then waits for those that hold its locks."""
        if takes_all(place, freed) and (not place.locks or not self.locks.block(place)):
            self._start(place)

    def _start(self, place: Place) -> None:
        if place.locks:
            self.locks.hold(place, is_nested=place.parent is not None)
        place.state = "running"
        place.lane.waiting -= 1
        place.wake()
