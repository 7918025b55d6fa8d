"""Bodies of answers to `fetch`: encoded for JSON, as text or else base64, or saved into a file.

A file is opened, written and put in place in threads, and closed whenever the call ends. `fetch.py` is above; this module
does not know the network.
"""

from __future__ import annotations

import base64
import codecs
import re
import threading
from collections.abc import Callable
from contextlib import ExitStack

from ferrule.contracts.executor import Context
from ferrule.model.value import JsonObject
from ferrule.runtime.builtins.config import BuiltinServices
from ferrule.runtime.builtins.confine import Roots
from ferrule.runtime.builtins.failures import translate_os_errors
from ferrule.runtime.builtins.replace import Replacement, open_replacement

_CHARSET = re.compile(r";\s*charset\s*=\s*\"?([A-Za-z0-9._:-]{1,40})", re.IGNORECASE)
_HALVES = re.compile("[\ud800-\udfff]")
"""Lone surrogates, which JSON in UTF-8 cannot hold."""
_TEXT_CODECS = re.compile(
    r"utf-?(8|16|32).*|ascii|latin.?1|iso8859-\d+|cp\d+|koi8-[rut]|mac-\w+|shift_jis\w*|euc_\w+|iso2022_\w+|big5\w*|gb\w+|hz|johab|tis-620"
)


def encode_body(data: bytes, content_type: str, *, is_cut: bool) -> JsonObject:
    """Returns `body`, with `body_encoding: base64` when it is not text. `is_cut`: its last character may be incomplete."""
    text = None if b"\0" in data and not _is_wide(content_type) else _decode_text(data, content_type, is_cut=is_cut)
    if text is None:
        return {"body": base64.b64encode(data).decode(), "body_encoding": "base64"}
    return {"body": text}


def _decode_text(data: bytes, content_type: str, *, is_cut: bool) -> str | None:
    try:
        text = codecs.getincrementaldecoder(_codec(content_type))("strict").decode(data, not is_cut)
    except (UnicodeError, LookupError):
        return None
    return None if "\0" in text or _HALVES.search(text) else text


def _codec(content_type: str) -> str:
    """Returns the codec named in a content type, if it is one for text; else UTF-8."""
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


class FileDownload:
    """One file being saved. Closing it makes a write that a thread still has under way wait, and then drops the file."""

    def __init__(self, roots: Roots, path: str, services: BuiltinServices, context: Context) -> None:
        self._roots = roots
        self._path = path
        self._threads = services.threads
        self._context = context
        self._lock = threading.Lock()
        self._stack = ExitStack()
        self._file: Replacement | None = None
        self._is_closed = False

    async def open(self) -> None:
        """Opens the file, and creates missing folders. Raises ExecutionFailed."""
        await self._run_in_thread(self._open)

    async def write(self, data: bytes) -> None:
        """Appends bytes. Raises ExecutionFailed."""
        await self._run_in_thread(lambda: self._opened_file.write(data))

    async def commit(self) -> int:
        """Puts the file in place; returns its size. Raises ExecutionFailed."""
        await self._run_in_thread(lambda: self._opened_file.commit(self._context.raise_if_aborted))
        return self._opened_file.bytes_written

    async def close(self) -> None:
        """Closes the file; without a commit nothing is left behind."""
        await self._threads.run(self._close)

    @property
    def _opened_file(self) -> Replacement:
        assert self._file is not None  # opened first
        return self._file

    async def _run_in_thread(self, work: Callable[[], object]) -> None:
        def locked() -> None:
            with self._lock, translate_os_errors(self._path):
                if not self._is_closed:
                    work()

        await self._threads.run(locked)

    def _open(self) -> None:
        spot = self._stack.enter_context(self._roots.find(self._path, makes_folders=True))
        self._file = self._stack.enter_context(open_replacement(spot))

    def _close(self) -> None:
        with self._lock:
            self._is_closed = True
            self._stack.close()
