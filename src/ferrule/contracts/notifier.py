"""How people learn that something waits for them. A notifier only tells; answers come through the inbox."""

from __future__ import annotations

from typing import Any, Protocol


class Notifier(Protocol):
    """One way of telling."""

    name: str

    async def notify(self, notice: dict[str, Any]) -> None:
        """Tell of one request: invocation, tool, requester, why, until when; no argument values. May raise; it is retried."""

    async def aclose(self) -> None:
        """Let go."""
