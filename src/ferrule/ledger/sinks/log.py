"""A sink that writes one line per ended call to Python's logging."""

from __future__ import annotations

import logging
from collections.abc import Mapping, Sequence
from pathlib import Path

import msgspec

from ferrule.errors import SettingsError
from ferrule.model.event import TERMINAL_EVENT_TYPES, Event


class LogOptions(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """Settings of `kind = "log"`."""

    logger: str = "ferrule.calls"
    """The logger's name."""


class LogSink:
    """Logs how calls ended, from now on: succeeded ones at INFO, others at WARNING."""

    def __init__(self, logger: logging.Logger) -> None:
        self.name = f"log:{logger.name}"
        self._logger = logger
        self._seq: int | None = None

    async def cursor(self) -> int | None:
        """Returns the last row logged in this process."""
        return self._seq

    async def write(self, events: Sequence[Event]) -> None:
        """Logs one line for each call that ended. Logging reports its own errors and never raises."""
        for event in events:
            if event.event_type in TERMINAL_EVENT_TYPES and event.seq > (self._seq or 0):
                level = logging.INFO if event.data["status"] == "succeeded" else logging.WARNING
                self._logger.log(level, "%s", format_line(event), extra={"ferrule_event": event.to_record()})
        if events:
            self._seq = events[-1].seq

    async def aclose(self) -> None:
        """Does nothing: nothing is open."""


def format_line(event: Event) -> str:
    """Formats how a call ended: `inv_1 kb.search succeeded in 1.2 ms for alice`."""
    data = event.data
    line = f"{event.invocation_id} {event.tool_id} {data['status']} in {data['duration_ms']} ms for {data['principal']}"
    return f"{line}: {data['error_code']}" if "error_code" in data else line


def make(options: Mapping[str, object], folder: Path) -> LogSink:
    """Makes the sink of `kind = "log"`."""
    try:
        return LogSink(logging.getLogger(msgspec.convert(options, LogOptions).logger))
    except msgspec.ValidationError as error:
        raise SettingsError(f"a sink of kind 'log' cannot be used as written: {error}") from None
