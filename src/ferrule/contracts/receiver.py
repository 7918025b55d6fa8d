"""The contract of a receiver, which brings answers from outside to parked calls: a reply queue. A parked call holds no
resources."""

from __future__ import annotations

from collections.abc import AsyncGenerator, Awaitable, Callable
from typing import Any, Literal, Protocol

import msgspec

Fate = Literal["taken", "duplicate", "unknown", "refused"]
"""What became of a reply: it answered its call; the call was answered already; there is no such call; not by this channel."""


class Reply(msgspec.Struct, frozen=True, kw_only=True):
    """One message that arrived."""

    invocation_id: str
    """The call it answers: the correlation id that was sent along."""
    value: Any
    """The answer that `resume` gets. JSON."""
    settle: Callable[[Fate], Awaitable[None]]
    """Reports the fate of the reply, so that it can be acknowledged, or set aside with a reason."""


class Receiver(Protocol):
    """One place where replies arrive."""

    channel: str
    """Equal to the `reply_channel` of the calls that wait for it; `queue:<url>`."""

    def replies(self) -> AsyncGenerator[Reply, None]:
        """Yields the replies as they arrive, until the receiver is closed. Unreadable messages are set aside inside
        and never yielded. Raises OSError when the place cannot be reached; the caller tries again later."""

    async def aclose(self) -> None:
        """Stops receiving."""
