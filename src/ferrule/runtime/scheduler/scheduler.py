"""The scheduler: lanes of calls in order, with resource locks and limits across them. One event loop, no clock, no chance.

A call passes three gates. In its lane, calls that may not overlap go alone and in order. At its resource locks, calls
that share a key go one after another, in the order they passed the first gate. At the limits, the longest waiting
call of each source goes next, sources take turns, and priorities go first. Nothing is held while a call waits, so
nothing can deadlock; only calls that a running tool makes can want what waits for them, and those raise `Deadlock`.
"""

from __future__ import annotations

from collections import OrderedDict
from collections.abc import Iterator
from typing import cast, get_args
from weakref import WeakValueDictionary

from ferrule.model.scheduling import DEFAULT_POLICY, Claim, ParallelClass, SchedulerPolicy
from ferrule.model.value import JsonObject
from ferrule.runtime.scheduler.locks import SharedGates, normalize_locks, would_deadlock
from ferrule.runtime.scheduler.queue import Deadlock, LanePlace, Limit, QueueFull, QueueLeft

__all__ = ["Deadlock", "Lane", "LanePlace", "QueueFull", "QueueLeft", "Scheduler"]

CLASSES: frozenset[str] = frozenset(get_args(ParallelClass))
_SLIPPED = cast(LanePlace, object())
"""Stands in for the place of a call that runs alone without one."""


class Scheduler(SharedGates):
    """The lanes of one process, and the locks and limits they share."""

    __slots__ = ("_lanes", "policy")

    def __init__(self, policy: SchedulerPolicy = DEFAULT_POLICY) -> None:
        super().__init__()
        self.policy = policy
        self._lanes: WeakValueDictionary[str, Lane] = WeakValueDictionary()

    def get_lane(self, key: str, policy: SchedulerPolicy | None = None) -> Lane:
        """Returns the lane of that name, the same one as long as a call is in it or a session keeps it.

        A policy given later replaces the lane's, for the calls that enter from then on.
        """
        lane = self._lanes.get(key)
        if lane is None:
            lane = self._lanes[key] = Lane(self, key, policy or self.policy)
        elif policy is not None and policy != lane.policy:
            lane.adopt_policy(policy)
        return lane

    def describe(self) -> JsonObject:
        """Describes running and waiting calls by lane and lock. Names of locks may hold members of inputs."""
        lanes = {key: lane.describe() for key, lane in sorted(self._lanes.items()) if not lane.is_idle}
        locks = {
            name: {
                "mode": "exclusive" if key.exclusive else "shared",
                "held": len(key.holders),
                "waiting": len(key.waiting) + key.granted_shared + key.granted_exclusive + key.nested_count,
            }
            for name, key in sorted(self.locks.keys.items())
        }
        return {
            "lanes": lanes,
            "running": sum(lane["running"] for lane in lanes.values()),
            "waiting": sum(lane["waiting"] for lane in lanes.values()),
            "announced": sum(lane["announced"] for lane in lanes.values()),
            "locks": locks,
            "limits": {
                f"{kind}:{name}": {"running": limit.running, "most": limit.most, "waiting": len(limit.queue or ())}
                for (kind, name), limit in sorted(self._limits.items())
            },
        }


class Lane:
    """A sequence of calls that are ordered among themselves."""

    __slots__ = ("__weakref__", "_forbidden", "_holds_all", "_is_open", "_limit", "_own_limits", "_pending", "_present",
                 "_scheduler", "_slipped", "_sole", "key", "parent", "policy", "waiting")  # fmt: skip

    def __init__(
        self, scheduler: Scheduler, key: str, policy: SchedulerPolicy, parent: LanePlace | None = None
    ) -> None:
        self.key = key
        self.parent = parent
        """The call that the calls in here are part of."""
        self.waiting = 0
        """Places that have not begun, including announced ones."""
        self._scheduler = scheduler
        self._limit = Limit("lane", key, policy.max_parallel, is_of_lane=True)
        self._pending: OrderedDict[LanePlace, None] = OrderedDict()
        """Places that the order holds back, and announced ones."""
        self._present: dict[LanePlace, None] = {}
        """Places that the order lets go, running or not."""
        self._sole: LanePlace | None = None
        """The exclusive place among them; then it is the only one."""
        self._slipped = 0
        self._apply_policy(policy)

    def adopt_policy(self, policy: SchedulerPolicy) -> None:
        """Replaces the policy."""
        self._apply_policy(policy)
        self._limit.most = policy.max_parallel
        self._scheduler.refill(self._limit)

    def _apply_policy(self, policy: SchedulerPolicy) -> None:
        self.policy = policy
        is_limited = policy.max_parallel_per_tool is not None or policy.max_parallel_per_principal is not None
        self._forbidden = CLASSES - set(policy.parallel_classes)
        self._holds_all = policy.ordering_policy == "serial"
        # Nested calls are counted among their siblings alone (decision 0014).
        self._own_limits = None if is_limited and self.parent is None else (self._limit,)
        # `slip_in` sees no claim, so this must hold for every call that only reads: no order, no limit but the lane's.
        self._is_open = self._own_limits is not None and not self._holds_all and self._forbidden <= {"write"}

    @property
    def is_idle(self) -> bool:
        """True when the lane has no calls."""
        return not (self._present or self._slipped or self._pending)

    def announce(self, *, parent: LanePlace | None = None) -> LanePlace:
        """Reserves the next place for a call whose facts are not known yet; later ones wait until it enters or leaves."""
        lane = self._find_lane(parent)
        place = LanePlace(lane, lane.parent)
        lane._pending[place] = None
        lane.waiting += 1
        return place

    def enter(self, claim: Claim, place: LanePlace | None = None, *, parent: LanePlace | None = None) -> LanePlace:
        """Takes a place, or the announced one: `running` at once when nothing is in the way, else `waiting`.

        `parent` is the place of the call whose tool makes this one. Raises QueueFull, and Deadlock for a nested call
        that
        waits for itself; then the call has no place any more.
        """
        if place is None:
            lane = self if parent is None else self._find_lane(parent)
            place = LanePlace(lane, lane.parent)
            lane.waiting += 1
            is_first = not lane._pending
        elif place.state != "announced":
            raise QueueLeft("the call left before it entered") if place.state == "gone" else ValueError("entered twice")
        else:
            lane, is_first = place.lane, False
        place.claim = claim
        place.state = "waiting"
        place.is_exclusive = lane._is_exclusive(claim)
        place.limits = lane._own_limits or lane._build_limits(claim)
        if claim.locks:
            place.locks = normalize_locks(claim.locks)
            if place.parent is not None and would_deadlock(place, lane._scheduler.locks.keys):
                lane.leave(place)
                raise Deadlock(
                    f"tool {claim.tool_id!r} waits for a lock whose holder waits for the tool that calls it;"
                    " call it without holding a lock, or in another order"
                )
        # The common case by hand: nothing is ahead of it, so it need not pass through the order.
        if is_first and lane._sole is None and not (place.is_exclusive and (lane._present or lane._slipped)):
            lane._admit(place)
        else:
            lane._pending[place] = None  # an announced place stays where it is
            lane._advance()
        # Checked after the attempt to start: a call that runs at once needs no room in the queue.
        if place.state == "waiting" and lane.waiting > lane.policy.max_queued:
            lane.leave(place)
            raise QueueFull(f"{lane.policy.max_queued} calls wait already; try again later")
        return place

    def leave(self, place: LanePlace) -> None:
        """Gives up a place of a call that ended, was parked or withdrawn; admits the next ones in order. Idempotent."""
        if place.state == "gone":
            return
        lane = place.lane
        if place in lane._present:
            del lane._present[place]
            if lane._sole is place:
                lane._sole = None
            is_waiting = place.state == "waiting"
            # Before the state changes: `release` tells from it whether the place held its locks or waited for them.
            lane._scheduler.release(place)
        else:
            lane._pending.pop(place, None)
            is_waiting = True
        place.state = "gone"
        if len(place.limits) > 1:
            # The last one is the lane's own, which lives as long as the lane.
            lane._scheduler.drop_limits(place.limits[:-1])
        # Breaks the cycle of a place and the lane inside of it, unless calls are still in there.
        if place.inner is not None and place.inner.is_idle:
            place.inner = None
        if is_waiting:
            lane.waiting -= 1
            place.wake()
        if lane._pending:
            lane._advance()

    def add_barrier(self) -> None:
        """Makes all calls that enter from now on wait until those that are here now have left."""
        last = next(reversed(self._pending), None)
        if not self.is_idle and (last is None or not last.is_barrier):
            barrier = LanePlace(self)
            barrier.state = "waiting"
            self._pending[barrier] = None

    @property
    def running(self) -> int:
        """The number of calls that run here now, without nested ones."""
        return self._limit.running

    @property
    def is_crowded(self) -> bool:
        """True when any call that runs here now has run beside others, ended ones included."""
        return self._limit.crowd > 1

    def may_slip(self, claim: Claim) -> bool:
        """Returns True when calls with this claim may ever run without a place of their own."""
        return self._is_open and claim.is_read_only and not claim.locks and not self._is_exclusive(claim)

    def may_slip_alone(self, claim: Claim) -> bool:
        """Returns True when calls with this claim may run without a place, but only when the lane is empty."""
        return claim.is_read_only and not claim.locks and self._is_exclusive(claim)

    def slip_in(self) -> bool:
        """Starts a concurrency-safe, read-only call without locks right now, without a place; returns False when it needs one."""
        limit = self._limit
        if self._pending or self._sole is not None or limit.running >= limit.most or not self._is_open:
            return False
        limit.crowd = limit.crowd + 1 if limit.running else 1
        limit.running += 1
        self._slipped += 1
        return True

    def slip_in_alone(self) -> bool:
        """Starts an exclusive, read-only call without locks, without a place, when the lane is empty; else returns False."""
        limit = self._limit
        if self._pending or self._present or self._slipped or limit.running >= limit.most or self._own_limits is None:
            return False
        limit.running = limit.crowd = 1
        self._slipped = 1
        self._sole = _SLIPPED
        return True

    def slip_out(self) -> None:
        """Ends a call that slipped in."""
        limit = self._limit
        limit.running -= 1
        self._slipped -= 1
        # Only a call that slipped in alone can be the sole one now: exclusive places wait until none has slipped in.
        self._sole = None
        if limit.queue:
            self._scheduler.refill(limit)
        if self._pending:
            self._advance()

    def settle(self, claim: Claim) -> LanePlace:
        """Gives a call that slipped in a place after all, so that its tool can make calls; it ends with `leave`."""
        place = LanePlace(self, self.parent)
        place.claim, place.state = claim, "running"
        place.limits, place.taken = (self._limit,), 1
        self._present[place] = None
        self._slipped -= 1
        if self._sole is not None:
            self._sole, place.is_exclusive = place, True
        return place

    def iter_places(self) -> Iterator[LanePlace]:
        """Yields all places, in no particular order."""
        yield from self._present
        yield from self._pending

    def describe(self) -> JsonObject:
        """Describes running and waiting calls of this lane, without nested ones."""
        running = [place for place in self._present if place.state == "running"]
        announced = sum(place.state == "announced" for place in self._pending)
        nested = [place.inner.describe() for place in running if place.inner is not None and not place.inner.is_idle]
        return {
            "running": len(running) + self._slipped,
            "waiting": self.waiting - announced,
            "announced": announced,
            "max_parallel": self._limit.most,
            "tools": sorted(place.claim.tool_id for place in running if place.claim is not None),
            "nested": nested,
        }

    def _find_lane(self, parent: LanePlace | None) -> Lane:
        """Returns the lane inside the nearest ancestor that still runs; this lane without one."""
        while parent is not None and parent.state != "running":
            parent = parent.parent
        if parent is None:
            return self
        if parent.inner is None:
            parent.inner = Lane(self._scheduler, self.key, parent.lane.policy, parent)
        return parent.inner

    def _is_exclusive(self, claim: Claim) -> bool:
        if not claim.is_concurrency_safe or claim.requires_exclusive_context or self._holds_all:
            return True
        forbidden = self._forbidden
        return bool(forbidden) and (
            ("read_only" if claim.is_read_only else "write") in forbidden
            or (claim.is_destructive and "destructive" in forbidden)
            or (claim.is_open_world and "open_world" in forbidden)
        )

    def _build_limits(self, claim: Claim) -> tuple[Limit, ...]:
        """Lists the limits of a place, in the order in which a place that moved too often takes them."""
        policy, limits = self.policy, [self._limit]
        if policy.max_parallel_per_principal is not None:
            limits.insert(0, self._scheduler.use_limit("principal", claim.principal, policy.max_parallel_per_principal))
        if policy.max_parallel_per_tool is not None:
            limits.insert(0, self._scheduler.use_limit("tool", claim.tool_id, policy.max_parallel_per_tool))
        return tuple(limits)

    def _advance(self) -> None:
        """Lets the first places go that the order holds back no longer."""
        pending, present = self._pending, self._present
        while pending and self._sole is None:
            place = next(iter(pending))
            # It keeps the order: what comes behind it waits until its facts are known (decision 0014).
            if place.state == "announced":
                return
            if (place.is_exclusive or place.is_barrier) and (present or self._slipped):
                return
            del pending[place]
            if not place.is_barrier:
                self._admit(place)

    def _admit(self, place: LanePlace) -> None:
        self._present[place] = None
        if place.is_exclusive:
            self._sole = place
        self._scheduler.admit(place)
