"""Lanes and calls for the tests of this folder."""

from __future__ import annotations

from ferrule.model.scheduling import Claim, SchedulerPolicy
from ferrule.runtime.scheduler.scheduler import Lane, LanePlace, Scheduler

SAFE = Claim("look", "ann", is_concurrency_safe=True, is_read_only=True, is_destructive=False, is_open_world=False)
ALONE = Claim("write", "ann")


def safe(*locks: str, tool: str = "look", principal: str = "ann", priority: int = 0, shared: bool = False) -> Claim:
    """A call that may overlap, with locks."""
    return Claim(
        tool, principal, is_concurrency_safe=True, locks=tuple((key, shared) for key in locks), priority=priority
    )


def lane_of(**policy: object) -> Lane:
    return Scheduler(SchedulerPolicy(**policy)).get_lane("surface")  # type: ignore[arg-type]  # whatever the test says


def states(*places: LanePlace) -> str:
    """One letter each: a, w, r, g."""
    return "".join(place.state[0] for place in places)
