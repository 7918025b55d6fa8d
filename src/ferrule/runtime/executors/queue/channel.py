"""What the queue executor wants of one provider: to send a message, to look without sending, and to hand out replies."""

from __future__ import annotations

from collections.abc import AsyncGenerator, Awaitable, Callable
from typing import Any, Protocol

import msgspec

from ferrule.contracts.executor import Context


class Message(msgspec.Struct, frozen=True, kw_only=True):
    """One call, written down."""

    body: bytes
    is_text: bool
    """False for bytes that are no text: a provider that carries text alone encodes them."""
    content_type: str
    invocation_id: str
    """The correlation id."""
    tool_id: str
    deduplication_id: str
    """Equal for two sendings of the same call."""
    group: str = ""
    """Messages of one group stay in order."""
    wants_reply: bool = False

    def attributes(self, reply_to: str) -> dict[str, str]:
        """What goes beside the body, by name."""
        said = {"correlation_id": self.invocation_id, "content_type": self.content_type, "tool_id": self.tool_id}
        return {**said, "reply_to": reply_to} if reply_to else said


class Arrived(msgspec.Struct, frozen=True, kw_only=True):
    """One message that came in by a response queue."""

    body: bytes
    attributes: dict[str, str]
    """Whatever came beside the body, names as they were written."""
    deliveries: int
    """How often it was handed out, this time included."""
    facts: dict[str, Any]
    """Native ids, for the record."""
    done: Callable[[], Awaitable[None]]
    """Take it off the queue."""
    leave: Callable[[], Awaitable[None]]
    """Let it be handed out again, later."""


class Sender(Protocol):
    """A queue to send to."""

    max_bytes: int
    """The longest body."""
    host: str
    """For messages, and for leaving a system alone that fails: no credential in it."""
    is_repeatable: bool
    """True when the provider drops a second message with the same deduplication id."""

    async def send(self, message: Message, context: Context) -> dict[str, Any]:
        """Hand a message over; gives its native ids. Raises ExecutionFailed."""

    async def probe(self, context: Context) -> str:
        """What was found, without sending. Raises ExecutionFailed."""

    async def aclose(self) -> None:
        """Let go of connections."""


class Source(Protocol):
    """A queue that replies come from."""

    def arrivals(self) -> AsyncGenerator[Arrived, None]:
        """The messages as they come. Raises ExecutionFailed or OSError when they cannot be had."""

    async def aclose(self) -> None:
        """Let go of connections."""
