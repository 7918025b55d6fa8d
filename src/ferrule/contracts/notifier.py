"""The contract of a notifier, which tells people that something waits for them. Answers come through the inbox."""

from __future__ import annotations

from typing import Protocol

from ferrule.model.value import JsonObject


class NoticeUndelivered(Exception):
    """A notice that was not delivered. `is_final`: trying again would not help."""

    def __init__(self, message: str, *, is_final: bool = False) -> None:
        super().__init__(message)
        self.is_final = is_final


class Notifier(Protocol):
    """One way of notifying people."""

    name: str

    async def notify(self, notice: JsonObject) -> None:
        """Announces one request: invocation, tool, requester, why, until when; argument values only where settings say
        so.

        Makes one attempt. An exception means it was not delivered: it is retried, unless it is a `NoticeUndelivered`
        that is final.
        """

    async def aclose(self) -> None:
        """Closes connections."""
