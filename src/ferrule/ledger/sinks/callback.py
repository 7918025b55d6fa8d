"""A sink that calls a function of this process, once per event."""

from __future__ import annotations

import inspect
from collections.abc import Awaitable, Callable, Mapping, Sequence
from importlib import import_module
from pathlib import Path
from typing import TypeAlias

import msgspec

from ferrule.errors import SettingsError
from ferrule.model.event import Event

Receiver: TypeAlias = Callable[[Event], Awaitable[None] | None]


class CallbackOptions(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """Settings of `kind = "callback"`."""

    function: str
    """Where the function is: `module:attribute`."""


class CallbackSink:
    """Passes each event to a function, plain or async, in order. One that raises gets the same event again later."""

    def __init__(self, function: Receiver, *, name: str = "callback", after: int | None = None) -> None:
        self.name = name
        self._function = function
        self._seq = after
        self._taken: set[str] = set()
        """Events of a batch that was not taken whole."""

    async def cursor(self) -> int | None:
        """Returns the last row passed in this process; at first `after`: None for events from now on, 0 for all."""
        return self._seq

    async def write(self, events: Sequence[Event]) -> None:
        """Passes the events that the function has not taken yet."""
        for event in events:
            if event.event_id in self._taken or event.seq <= (self._seq or 0):
                continue
            answer = self._function(event)
            if inspect.isawaitable(answer):
                await answer
            # Remembered one by one: after a failure the batch comes again, and these are skipped.
            self._taken.add(event.event_id)
        if events:
            self._seq = events[-1].seq
        self._taken.clear()

    async def aclose(self) -> None:
        """Does nothing: nothing is open."""


def make(options: Mapping[str, object], folder: Path) -> CallbackSink:
    """Makes the sink of `kind = "callback"`."""
    try:
        reference = msgspec.convert(options, CallbackOptions).function
    except msgspec.ValidationError as error:
        raise SettingsError(f"a sink of kind 'callback' cannot be used as written: {error}") from None
    module, _, attribute = reference.partition(":")
    try:
        function: Receiver = getattr(import_module(module), attribute)
    except (ImportError, AttributeError, ValueError) as error:
        raise SettingsError(f"the function {reference!r} of a sink cannot be loaded: {error}") from None
    if not callable(function):
        raise SettingsError(f"the function {reference!r} of a sink cannot be loaded: it is no function")
    return CallbackSink(function, name=f"callback:{reference}")
