"""What brings answers from outside to calls that wait for them: a reply queue. A call is parked meanwhile and holds nothing."""

from __future__ import annotations

from collections.abc import AsyncGenerator, Awaitable, Callable
from typing import Any, Literal, Protocol

import msgspec

Fate = Literal["taken", "duplicate", "unknown", "refused"]
"""What became of a reply: it answered its call; the call was answered already; there is no such call; not by this channel."""


class Reply(msgspec.Struct, frozen=True, kw_only=True):
    """One message that came back."""

    invocation_id: str
    """The call it answers: what was sent along as its correlation id."""
    value: Any
    """What `resume` gets as the answer. JSON."""
    settle: Callable[[Fate], Awaitable[None]]
    """Told what became of it, so that it can be acknowledged, or set aside with a reason."""


class Receiver(Protocol):
    """One place where replies come in."""

    channel: str
    """Equal to the `reply_channel` of the calls that wait for it; `queue:<url>`."""

    def replies(self) -> AsyncGenerator[Reply, None]:
        """The replies as they come, until it is closed. Poison is set aside inside: it is never given out. Raises OSError when
        the place cannot be reached; it is asked again later."""

    async def aclose(self) -> None:
        """Stop receiving."""
