"""A classifier for the tests of this folder."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable
from typing import Any

from ferrule.contracts.policy import Classification
from ferrule.model.surface import SurfaceEntry


class FakeClassifier:
    """A classifier that says what it was told to, or fails, or takes its time."""

    name = "says"

    def __init__(self, behavior: str = "allow", *, error: Exception | None = None, is_slow: bool = False) -> None:
        self.behavior = behavior
        self.error = error
        self.is_slow = is_slow
        self.subjects: list[Any] = []

    def classify(self, entry: SurfaceEntry, subject: Any) -> Classification | Awaitable[Classification]:
        self.subjects.append(subject)
        if self.is_slow:
            return self._later()
        if self.error is not None:
            raise self.error
        return Classification(self.behavior, 0.9, "so it thinks")

    async def _later(self) -> Classification:
        await asyncio.sleep(0)
        if self.error is not None:
            raise self.error
        return Classification(self.behavior, 0.9, "so it thinks")
