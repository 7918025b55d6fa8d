"""Messages that nobody can use are put into a folder, each as a file that says why. Bounded in size and in number."""

from __future__ import annotations

import asyncio
import base64
import hashlib
import logging
import os
from collections.abc import Callable
from pathlib import Path
from typing import Any

import msgspec

_MOST_FILES = 1_000
_MOST_BYTES = 64 * 1024
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
            "is_whole": len(body) <= _MOST_BYTES,
            "native": facts,
            "body_base64": base64.b64encode(self._clean(body)[:_MOST_BYTES]).decode(),
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
