"""Where events go. A sink follows the ledger at its own pace: it never slows a call and never loses a result.

`ferrule.app.follower` reads the rows after the sink's cursor, works the events out and hands them over in batches, in order.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any, Protocol

from ferrule.model.event import Event


class Sink(Protocol):
    """One destination of events."""

    name: str

    async def cursor(self) -> int | None:
        """The last ledger row it has whole; None to begin with what happens from now on."""

    async def write(self, events: Sequence[Event]) -> None:
        """Take a batch; whole rows at a time. An exception means it was not taken: the same batch comes again later."""

    async def aclose(self) -> None:
        """Let go."""


class SinkBusy(Exception):
    """Another process brings the events there now. Nothing is wrong: whoever is told so waits for its turn."""


class SinkMaker(Protocol):
    """One kind of sink: what a shelf or a package registers (entry points of the group `ferrule.sinks`)."""

    def __call__(self, options: Mapping[str, Any], folder: Path) -> Sink:
        """A sink from its settings. Nothing is opened yet; `folder` is the workspace. Raises SettingsError."""
