"""The time left for a request: until its call's deadline, and no longer than a limit of its own."""

from __future__ import annotations

import asyncio

from ferrule.contracts.executor import Context

_A_MOMENT = 0.001


def seconds_left(context: Context, at_most: float) -> float:
    """Returns the seconds until the call's deadline, at most `at_most`; never zero, which some clients take for no timeout."""
    if context.deadline is None:
        return at_most
    return max(min(context.deadline - asyncio.get_running_loop().time(), at_most), _A_MOMENT)
