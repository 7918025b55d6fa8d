"""How people learn that something waits for them. A notifier only tells; answers come through the inbox."""

from __future__ import annotations

from typing import Any, Protocol


class NoticeUndelivered(Exception):
    """A notice was not delivered. `is_final`: trying again would not help."""

    def __init__(self, message: str, *, is_final: bool = False) -> None:
        super().__init__(message)
        self.is_final = is_final


class Notifier(Protocol):
    """One way of telling."""

    name: str

    async def notify(self, notice: dict[str, Any]) -> None:
        """Tell of one request: invocation, tool, requester, why, until when; argument values only where settings say so.

        One attempt. An exception means it was not delivered: it is tried again, unless it is a `NoticeUndelivered` that is final.
        """

    async def aclose(self) -> None:
        """Let go."""
