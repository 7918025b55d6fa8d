"""Async tests, each in an event loop of its own and within a bound."""

from __future__ import annotations

import asyncio
import functools
from collections.abc import Awaitable, Callable
from typing import ParamSpec

P = ParamSpec("P")
BOUND_SECONDS = 20.0


def driven(test: Callable[P, Awaitable[None]]) -> Callable[P, None]:
    """Run an async test to its end."""

    @functools.wraps(test)
    def run(*args: P.args, **kwargs: P.kwargs) -> None:
        async def within() -> None:
            async with asyncio.timeout(BOUND_SECONDS):
                await test(*args, **kwargs)

        asyncio.run(within())

    return run
