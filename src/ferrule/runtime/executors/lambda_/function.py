"""What the lambda executor wants of one cloud."""

from __future__ import annotations

from typing import Any, NamedTuple, Protocol

from ferrule.contracts.executor import Context
from ferrule.runtime.executors.lambda_.payloads import Payload


class Answer(NamedTuple):
    """What a function gave, or that it was only told to run."""

    body: bytes
    media_type: str
    ref: dict[str, Any]
    """Native ids of this invocation."""


class CloudFunction(Protocol):
    """One function."""

    host: str
    """For messages, and for leaving a system alone that fails."""

    async def invoke(self, payload: Payload, context: Context) -> Answer:
        """Run it, or have it run. Raises ExecutionFailed."""

    async def probe(self, context: Context) -> str:
        """What was found, without running it. Raises ExecutionFailed."""
