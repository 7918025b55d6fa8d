"""A sink that keeps what it gets."""

from __future__ import annotations

from collections.abc import Sequence

from ferrule.model.event import Event


class RecordingSink:
    """Keeps every event. Set `failing` to see what a broken sink does to you: nothing."""

    name = "recording"

    def __init__(self) -> None:
        self.events: list[Event] = []
        self.failing = False

    @property
    def types(self) -> list[str]:
        """The types of the events, in order."""
        return [event.event_type for event in self.events]

    async def cursor(self) -> int | None:
        """Everything from the ledger's first row on."""
        return self.events[-1].seq if self.events else 0

    async def write(self, events: Sequence[Event]) -> None:
        """Keep a batch."""
        if self.failing:
            raise ConnectionError("the recording sink was told to fail")
        self.events += events

    async def aclose(self) -> None:
        """Nothing to let go of."""
