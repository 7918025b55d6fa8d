"""Calls for programs that know no asyncio."""

from __future__ import annotations

import asyncio
from collections.abc import Coroutine
from typing import Any, TypeVar

T = TypeVar("T")


class Blocking:
    """Runs what the asynchronous client does, and waits for it."""

    def __init__(self) -> None:
        self._runner = asyncio.Runner()

    def run(self, work: Coroutine[Any, Any, T]) -> T:
        """The result of the work. Ctrl-C cancels it, at the server too."""
        return self._runner.run(work)

    def close(self) -> None:
        """Let go of the event loop."""
        self._runner.close()
