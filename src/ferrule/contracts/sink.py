"""The contract of a sink, where events go. A sink follows the ledger at its own pace: it never slows a call or loses a
result.

`ferrule.app.follower` reads the rows after the sink's cursor, derives the events and passes them on in batches, in
order.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Protocol

from ferrule.model.event import Event


class Sink(Protocol):
    """One destination of events."""

    name: str

    async def cursor(self) -> int | None:
        """Returns the last ledger row it has completely; None to begin with what happens from now on."""

    async def write(self, events: Sequence[Event]) -> None:
        """Stores a batch of complete rows. An exception means it was not stored: the same batch comes again later."""

    async def aclose(self) -> None:
        """Closes the sink."""


class SinkBusy(Exception):
    """Another process delivers the events there now. Nothing is wrong; the caller waits for its turn."""


class SinkMaker(Protocol):
    """The factory of one kind of sink: registered in the built-in table or by a package (entry points of the group
    `ferrule.sinks`)."""

    def __call__(self, options: Mapping[str, object], folder: Path) -> Sink:
        """Makes a sink from its settings. Opens nothing yet; `folder` is the workspace. Raises SettingsError."""
