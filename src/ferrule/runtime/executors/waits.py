"""How long a request may still take: as long as its call, and no longer than a bound of its own."""

from __future__ import annotations

import asyncio

from ferrule.contracts.executor import Context

_A_MOMENT = 0.001


def seconds_left(context: Context, at_most: float) -> float:
    """Seconds until the call's deadline, at most the bound."""
    if context.deadline is None:
        return at_most
    return max(min(context.deadline - asyncio.get_running_loop().time(), at_most), _A_MOMENT)
