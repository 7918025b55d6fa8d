"""Takes replies out of a response queue and matches each with its call; one that matches nothing is left, or set aside.

Messages that nobody can use go into a folder, each as a file that says why, bounded in size and in number. Stands below
`executor.py`; does not know the inbox.
"""

from __future__ import annotations

import asyncio
import base64
import hashlib
import logging
import os
from collections.abc import AsyncGenerator, Callable
from contextlib import aclosing
from pathlib import Path
from typing import Any

import msgspec

from ferrule.contracts.receiver import Fate, Reply
from ferrule.model.failure import excerpt
from ferrule.runtime.executors.queue.channel import Arrived, Source
from ferrule.runtime.executors.queue.formats import Replied

_MOST_FILES = 1_000
_MOST_KEPT_BYTES = 64 * 1024
_log = logging.getLogger("ferrule.queue")


class SetAside:
    """The folder of one workspace."""

    def __init__(
        self,
        folder: Path,
        now: Callable[[], float],
        *,
        most: int = _MOST_FILES,
        clean: Callable[[bytes], bytes] = lambda data: data,
    ) -> None:
        """`clean` takes known secrets out of what is written."""
        self.folder = folder
        self._now = now
        self._clean = clean
        self._most = most

    async def put(self, channel: str, reason: str, body: bytes, facts: dict[str, Any]) -> None:
        """Keep one message with the reason. When the folder is full, the oldest makes way. Raises OSError."""
        await asyncio.to_thread(self._put, channel, reason, body, facts)

    def _put(self, channel: str, reason: str, body: bytes, facts: dict[str, Any]) -> None:
        record = {
            "channel": channel,
            "reason": reason,
            "at": self._now(),
            "bytes": len(body),
            "is_whole": len(body) <= _MOST_KEPT_BYTES,
            "native": facts,
            "body_base64": base64.b64encode(self._clean(body)[:_MOST_KEPT_BYTES]).decode(),
        }
        self.folder.mkdir(parents=True, exist_ok=True, mode=0o700)
        # One name for one message: what is handed out again after a crash is not kept twice.
        key = hashlib.sha256(channel.encode() + b"\0" + msgspec.json.encode(facts, order="sorted") + body).hexdigest()[
            :24
        ]
        file = self.folder / f"{key}.json"
        partly = self.folder / f".{key}.{os.getpid()}"
        handle = os.open(partly, os.O_WRONLY | os.O_CREAT | os.O_TRUNC, 0o600)
        with os.fdopen(handle, "wb") as stream:
            stream.write(self._clean(msgspec.json.encode(record)))
        partly.replace(file)
        _log.warning("a message on %s was set aside in %s: %s", channel, file.name, reason)
        self._make_room()

    def _make_room(self) -> None:
        files = [
            (entry.stat().st_mtime_ns, entry.path) for entry in os.scandir(self.folder) if entry.name.endswith(".json")
        ]
        for _, path in sorted(files)[: max(len(files) - self._most, 0)]:
            Path(path).unlink(missing_ok=True)


MOST_DELIVERIES = 5
"""How often a reply that belongs to no call is left for others, before it is set aside."""
_MOST_BYTES = 10 * 1024**2
_LONGEST_ID = 200
_MOST_ATTRIBUTES, _LONGEST_VALUE = 50, 1_000
_NAMES = frozenset({"correlationid", "ferruleinvocationid"})
_FAILED = frozenset({"error", "failed", "failure"})


class QueueReceiver:
    """One response queue."""

    def __init__(self, channel: str, source: Source, aside: SetAside, *, takes_bytes: Callable[[], bool]) -> None:
        """`takes_bytes`: true when some tool of this channel reads Avro."""
        self.channel = channel
        self._source = source
        self._aside = aside
        self._takes_bytes = takes_bytes

    async def replies(self) -> AsyncGenerator[Reply, None]:
        """The replies as they come; poison is set aside."""
        async with aclosing(self._source.arrivals()) as arrivals:
            async for arrived in arrivals:
                found = self._read(arrived)
                if isinstance(found, str):
                    await self._put_aside(arrived, found)
                else:
                    yield found

    async def aclose(self) -> None:
        """Stop receiving."""
        await self._source.aclose()

    def _read(self, arrived: Arrived) -> Reply | str:
        """The reply, or why it is none."""
        if len(arrived.body) > _MOST_BYTES:
            return f"it has {len(arrived.body):,} bytes, more than a reply may have"
        body, is_json = _parsed(arrived.body)
        correlation = _attribute(arrived.attributes, _NAMES) or _of_body(body)
        if not correlation:
            return "it names no call: there is no correlation_id beside the body, nor in it"
        if len(correlation) > _LONGEST_ID or not correlation.isprintable():
            return "its correlation_id is none of ours"
        if not is_json and not self._takes_bytes():
            return "its body is no JSON"
        replied = Replied(
            body=body,
            base64="" if is_json else base64.b64encode(arrived.body).decode(),
            is_error=_attribute(arrived.attributes, frozenset({"status"})).lower() in _FAILED,
            native=arrived.facts,
        )
        return Reply(
            invocation_id=correlation,
            value=msgspec.to_builtins(replied),
            settle=lambda fate: self._settle(arrived, fate),
        )

    async def _settle(self, arrived: Arrived, fate: Fate) -> None:
        if fate in ("taken", "duplicate"):
            await arrived.done()
        elif arrived.deliveries < MOST_DELIVERIES:
            await arrived.leave()
        elif fate == "refused":
            await self._put_aside(arrived, "its call waits for a reply by another channel")
        else:
            await self._put_aside(arrived, "no call here waits, or ever waited, for it")

    async def _put_aside(self, arrived: Arrived, reason: str) -> None:
        """Kept first, then taken off the queue: a crash between the two leaves it twice, not nowhere."""
        await self._aside.put(
            self.channel, reason, arrived.body, {**arrived.facts, "attributes": _bounded(arrived.attributes)}
        )
        await arrived.done()


def _bounded(attributes: dict[str, str]) -> dict[str, str]:
    """As much of what came beside a body as is worth keeping."""
    first = list(attributes.items())[:_MOST_ATTRIBUTES]
    return {excerpt(name, _LONGEST_ID): excerpt(value, _LONGEST_VALUE) for name, value in first}


def _parsed(body: bytes) -> tuple[Any, bool]:
    try:
        return msgspec.json.decode(body), True
    except (msgspec.DecodeError, UnicodeDecodeError, RecursionError):
        return None, False


def _attribute(attributes: dict[str, str], names: frozenset[str]) -> str:
    for name, value in attributes.items():
        if name.lower().replace("_", "").replace("-", "") in names:
            return value
    return ""


def _of_body(body: Any) -> str:
    found = body.get("correlation_id") if isinstance(body, dict) else None
    return found if isinstance(found, str) else ""
