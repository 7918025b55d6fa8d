"""Waiting: how long a request may still take (as long as its call, and no longer than a bound of its own), and tasks that nobody
waits for any more."""

from __future__ import annotations

import asyncio
from typing import Any

from ferrule.contracts.executor import Context

_A_MOMENT = 0.001


def seconds_left(context: Context, at_most: float) -> float:
    """Seconds until the call's deadline, at most the bound."""
    if context.deadline is None:
        return at_most
    return max(min(context.deadline - asyncio.get_running_loop().time(), at_most), _A_MOMENT)


def heard(task: asyncio.Future[Any]) -> None:
    """To be called when a task is done: nobody may be left to hear of its failure, and that is no reason to complain about it."""
    if not task.cancelled():
        task.exception()
