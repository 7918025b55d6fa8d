"""Bodies of answers to `fetch`: as JSON can hold them, text or else base64, or on their way into a file.

A file is opened, written and put in place in threads, and let go of whenever the call ends. Stands below `fetch.py`;
does not know the network.
"""

from __future__ import annotations

import base64
import codecs
import re
import threading
from contextlib import ExitStack
from typing import Any

from ferrule.contracts.executor import Context
from ferrule.runtime.builtins.config import Place
from ferrule.runtime.builtins.confine import Roots
from ferrule.runtime.builtins.failures import mishaps
from ferrule.runtime.builtins.replace import Replacement, replacing

_CHARSET = re.compile(r";\s*charset\s*=\s*\"?([A-Za-z0-9._:-]{1,40})", re.IGNORECASE)
_HALVES = re.compile("[\ud800-\udfff]")
"""Half characters, which JSON in UTF-8 cannot hold."""
_TEXT_CODECS = re.compile(
    r"utf-?(8|16|32).*|ascii|latin.?1|iso8859-\d+|cp\d+|koi8-[rut]|mac-\w+|shift_jis\w*|euc_\w+|iso2022_\w+|big5\w*|gb\w+|hz|johab|tis-620"
)


def as_text(data: bytes, content_type: str, *, is_cut: bool) -> dict[str, Any]:
    """`body`, and `body_encoding: base64` when it is no text. `is_cut`: the last character may be half."""
    text = None if b"\0" in data and not _is_wide(content_type) else _decoded(data, content_type, is_cut=is_cut)
    if text is None:
        return {"body": base64.b64encode(data).decode(), "body_encoding": "base64"}
    return {"body": text}


def _decoded(data: bytes, content_type: str, *, is_cut: bool) -> str | None:
    try:
        text = codecs.getincrementaldecoder(_codec(content_type))("strict").decode(data, not is_cut)
    except (UnicodeError, LookupError):
        return None
    return None if "\0" in text or _HALVES.search(text) else text


def _codec(content_type: str) -> str:
    """The codec that was named, if it is one for text; else UTF-8."""
    named = _CHARSET.search(content_type)
    if named is not None:
        try:
            name = codecs.lookup(named[1]).name
        except LookupError:
            return "utf-8"
        if _TEXT_CODECS.fullmatch(name):
            return name
    return "utf-8"


def _is_wide(content_type: str) -> bool:
    return _codec(content_type).startswith(("utf-16", "utf-32"))


class Saving:
    """One file in the making. A call that is given up closes it; what a thread still writes then waits, and is dropped."""

    def __init__(self, roots: Roots, path: str, place: Place, context: Context) -> None:
        self._roots = roots
        self._path = path
        self._threads = place.threads
        self._context = context
        self._lock = threading.Lock()
        self._stack = ExitStack()
        self._file: Replacement | None = None
        self._is_closed = False

    async def open(self) -> None:
        """Find its place, and make the folders on the way. Raises ExecutionFailed."""
        await self._do(self._open)

    async def write(self, data: bytes) -> None:
        """Add bytes. Raises ExecutionFailed."""
        await self._do(lambda: self._made.write(data))

    async def commit(self) -> int:
        """Put it in place; gives its size. Raises ExecutionFailed."""
        await self._do(lambda: self._made.commit(self._context.raise_if_aborted))
        return self._made.bytes_written

    async def close(self) -> None:
        """Let go; without a commit nothing is left behind."""
        await self._threads.run(self._close)

    @property
    def _made(self) -> Replacement:
        assert self._file is not None  # opened first
        return self._file

    async def _do(self, work: Any) -> None:
        def locked() -> None:
            with self._lock, mishaps(self._path):
                if not self._is_closed:
                    work()

        await self._threads.run(locked)

    def _open(self) -> None:
        spot = self._stack.enter_context(self._roots.find(self._path, makes_folders=True))
        self._file = self._stack.enter_context(replacing(spot))

    def _close(self) -> None:
        with self._lock:
            self._is_closed = True
            self._stack.close()
