"""The time, and the ids of new things. Engines get both passed in; tests pass in their own."""

from __future__ import annotations

import os
import time
from collections.abc import Callable
from random import Random

MakeId = Callable[[str], str]


class Clock:
    """The machine's clocks."""

    def now(self) -> int:
        """Returns microseconds since 1970."""
        return time.time_ns() // 1000

    tick: Callable[[], int] = staticmethod(time.perf_counter_ns)
    """A clock that never goes back, in nanoseconds. Read about twenty times a call, so no wrapper surrounds it."""

    def seconds(self) -> float:
        """Returns the same clock in seconds."""
        return self.tick() / 1e9


def id_maker(clock: Clock) -> MakeId:
    """Returns a maker of ids that sort by time: `inv_` and 24 hexadecimal digits, 10 of them random."""
    bits = Random(os.urandom(16)).getrandbits
    now = clock.now

    def make(prefix: str) -> str:
        return f"{prefix}_{now():014x}{bits(40):010x}"

    return make
