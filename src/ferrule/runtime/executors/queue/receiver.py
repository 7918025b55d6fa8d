"""Receives replies from a response queue and matches each with its call; unmatched ones are left, then set aside.

Unusable messages go into a folder, each as a file with the reason, bounded in size and number. `executor.py` creates
receivers, the app runs them; this module does not know the inbox.
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
from ferrule.model.value import JsonObject
from ferrule.runtime.executors.queue.channel import ReceivedMessage, ReplySource
from ferrule.runtime.executors.queue.formats import StoredReply

_MOST_FILES = 1_000
_MOST_KEPT_BYTES = 64 * 1024
_log = logging.getLogger("ferrule.queue")


class SetAside:
    """The folder of set-aside messages of one workspace: its dead letters."""

    def __init__(
        self,
        folder: Path,
        now: Callable[[], float],
        *,
        most: int = _MOST_FILES,
        clean: Callable[[bytes], bytes] = lambda data: data,
    ) -> None:
        """`clean` removes known secrets from what is written."""
        self.folder = folder
        self._now = now
        self._clean = clean
        self._most = most

    async def put(self, channel: str, reason: str, body: bytes, facts: JsonObject) -> None:
        """Stores one message with the reason. When the folder is full, the oldest is deleted. Raises OSError."""
        await asyncio.to_thread(self._put, channel, reason, body, facts)

    def _put(self, channel: str, reason: str, body: bytes, facts: JsonObject) -> None:
        record = {
            "channel": channel,
            "reason": reason,
            "at": self._now(),
            "bytes": len(body),
            "is_whole": len(body) <= _MOST_KEPT_BYTES,
            "native": facts,
            # Cleaned before it is cut: a secret that is cut in two is not recognised any more.
            "body_base64": base64.b64encode(self._clean(body)[:_MOST_KEPT_BYTES]).decode(),
        }
        self.folder.mkdir(parents=True, exist_ok=True, mode=0o700)
        # The name depends on the message alone: one delivered again after a crash is not stored twice.
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
"""Deliveries after which a reply without a call is set aside; until then other workspaces may take it."""
_MOST_BYTES = 10 * 1024**2
_LONGEST_ID = 200
_MOST_ATTRIBUTES, _LONGEST_VALUE = 50, 1_000
_NAMES = frozenset({"correlationid", "ferruleinvocationid"})
_FAILED = frozenset({"error", "failed", "failure"})


class QueueReceiver:
    """Receiver of one response queue."""

    def __init__(self, channel: str, source: ReplySource, aside: SetAside, *, takes_bytes: Callable[[], bool]) -> None:
        """`takes_bytes`: returns True when some tool of this channel reads Avro."""
        self.channel = channel
        self._source = source
        self._aside = aside
        self._takes_bytes = takes_bytes

    async def replies(self) -> AsyncGenerator[Reply, None]:
        """Yields replies as they arrive; unreadable messages are set aside."""
        async with aclosing(self._source.arrivals()) as messages:
            async for message in messages:
                found = self._read(message)
                if isinstance(found, str):
                    await self._put_aside(message, found)
                else:
                    yield found

    async def aclose(self) -> None:
        """Stops receiving."""
        await self._source.aclose()

    def _read(self, message: ReceivedMessage) -> Reply | str:
        """Reads a reply; returns the reason as text when the message is not one."""
        if len(message.body) > _MOST_BYTES:
            return f"it has {len(message.body):,} bytes, more than a reply may have"
        body, is_json = _parse_json(message.body)
        correlation = _attribute(message.attributes, _NAMES) or _correlation_in_body(body)
        if not correlation:
            return "it names no call: there is no correlation_id beside the body, nor in it"
        if len(correlation) > _LONGEST_ID or not correlation.isprintable():
            return "its correlation_id is none of ours"
        if not is_json and not self._takes_bytes():
            return "its body is no JSON"
        replied = StoredReply(
            body=body,
            base64="" if is_json else base64.b64encode(message.body).decode(),
            is_error=_attribute(message.attributes, frozenset({"status"})).lower() in _FAILED,
            native=message.facts,
        )
        return Reply(
            invocation_id=correlation,
            value=msgspec.to_builtins(replied),
            settle=lambda fate: self._settle(message, fate),
        )

    async def _settle(self, message: ReceivedMessage, fate: Fate) -> None:
        if fate in ("taken", "duplicate"):
            await message.acknowledge()
        elif message.deliveries < MOST_DELIVERIES:
            await message.release()
        elif fate == "refused":
            await self._put_aside(message, "its call waits for a reply by another channel")
        else:
            await self._put_aside(message, "no call here waits, or ever waited, for it")

    async def _put_aside(self, message: ReceivedMessage, reason: str) -> None:
        # Stored first, then removed from the queue: a crash in between duplicates the message instead of losing it.
        await self._aside.put(
            self.channel,
            reason,
            message.body,
            {**message.facts, "attributes": _truncate_attributes(message.attributes)},
        )
        await message.acknowledge()


def _truncate_attributes(attributes: dict[str, str]) -> dict[str, str]:
    """Truncates attributes to what is worth storing."""
    first = list(attributes.items())[:_MOST_ATTRIBUTES]
    return {excerpt(name, _LONGEST_ID): excerpt(value, _LONGEST_VALUE) for name, value in first}


def _parse_json(body: bytes) -> tuple[Any, bool]:
    try:
        return msgspec.json.decode(body), True
    except (msgspec.DecodeError, UnicodeDecodeError, RecursionError):
        return None, False


def _attribute(attributes: dict[str, str], names: frozenset[str]) -> str:
    for name, value in attributes.items():
        if name.lower().replace("_", "").replace("-", "") in names:
            return value
    return ""


def _correlation_in_body(body: object) -> str:
    found = body.get("correlation_id") if isinstance(body, dict) else None
    return found if isinstance(found, str) else ""
