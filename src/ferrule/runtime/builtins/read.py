"""`read`: returns the text of a file, or a slice of its lines. Large files are streamed, never held in memory.

Its results are never stored (AT-231): they stay within the inline limit and say where to continue.
"""

from __future__ import annotations

import codecs
import os
from typing import NamedTuple

from ferrule.contracts.executor import Context, Support
from ferrule.model.value import JsonObject
from ferrule.runtime.builtins.config import BuiltinServices, ReadConfig
from ferrule.runtime.builtins.confine import Roots, Spot, open_regular
from ferrule.runtime.builtins.failures import bad_arguments, quote_text

IMAGES = (".png", ".jpg", ".jpeg", ".gif", ".webp", ".bmp", ".tiff")
_CHUNK = 1024 * 1024
_MOST_WITHOUT_SIZE = 64 * 1024**2
"""The limit for files that report size 0 and are not empty, as in `/sys`."""
_LEAST_ROOM = 1000
_MOST_LINES = 2**53
"""Larger numbers are not exact in JSON."""


class LineSlice(NamedTuple):
    """A slice of a file."""

    content: str
    """The exact text, line endings included."""
    taken: int
    total: int
    is_cut: bool
    """True when the slice was shortened to the limit."""
    is_cut_within: bool
    """True when not even its first line fits."""


class ReadTool:
    """One agent's `read`."""

    support = Support()

    def __init__(self, config: ReadConfig, services: BuiltinServices) -> None:
        self._roots = Roots(config.allowed_roots, services.root, services.protected)
        self._threads = services.threads
        self._window = config.max_lines
        self._room = services.max_result_chars

    def preflight(self, arguments: JsonObject) -> None:
        """Raises ExecutionFailed for an invalid path, before anything is touched."""
        _refuse_image(arguments["file_path"], arguments["file_path"])
        self._roots.check(arguments["file_path"])

    async def __call__(self, arguments: JsonObject, context: Context) -> object:
        """Reads the file; returns `file_path offset limit lines_read total_lines content` (ADL-23). Raises ExecutionFailed."""
        return await self._threads.run(lambda: self._read(arguments, context))

    def _read(self, arguments: JsonObject, context: Context) -> JsonObject:
        path = arguments["file_path"]
        offset = min(int(arguments.get("offset", 1)), _MOST_LINES)
        limit = min(int(arguments.get("limit", self._window)), _MOST_LINES)
        with self._roots.find(path) as spot:
            _refuse_image(spot.name, path)
            lines = read_slice(spot, offset, limit, max(_LEAST_ROOM, self._room - len(path) - 500), context)
        result = {
            "file_path": path,
            "offset": offset,
            "limit": limit,
            "lines_read": lines.taken,
            "total_lines": lines.total,
            "content": lines.content,
        }
        if lines.is_cut_within:
            result["note"] = f"line {offset} is longer than what can be shown; only its beginning is here"
        elif lines.is_cut:
            result["note"] = f"not everything that was asked for can be shown; go on with offset {offset + lines.taken}"
        return result


def read_slice(spot: Spot, offset: int, limit: int, room: int, context: Context) -> LineSlice:
    """Reads lines of a file from `offset` (counted from 1). `room`: the characters that they may take in JSON.

    Raises ExecutionFailed for a file that is not UTF-8 text.
    """
    check = codecs.getincrementaldecoder("utf-8")("strict")
    kept, kept_lines, line, size, last = bytearray(), 0, 1, 0, b"\n"
    with open_regular(spot) as file:
        rest = os.fstat(file).st_size or _MOST_WITHOUT_SIZE
        while rest > 0 and (chunk := os.read(file, min(_CHUNK, rest))):
            context.raise_if_aborted()
            _refuse_binary(check, chunk, spot.path, is_last=False)
            breaks = chunk.count(b"\n")
            # `room` is in characters, each of at most four bytes. Past it the file is still read, to count its lines.
            if line + breaks >= offset and kept_lines < limit and len(kept) <= 4 * room:
                part = chunk if line >= offset else chunk.split(b"\n", offset - line)[-1]
                part, complete = _first_lines(part, limit - kept_lines)
                kept += part[: 4 * room + 4 - len(kept)]
                kept_lines += complete
            line, size, last, rest = line + breaks, size + len(chunk), chunk[-1:], rest - len(chunk)
        _refuse_binary(check, b"", spot.path, is_last=True)
    total = line if last != b"\n" else line - 1
    return _fit_to_room(bytes(kept), room, total, offset, limit)


def _first_lines(data: bytes, count: int) -> tuple[bytes, int]:
    """Returns the first `count` lines, and how many of them are complete."""
    breaks = data.count(b"\n")
    if breaks < count:
        return data, breaks
    rest = data.split(b"\n", count)[-1]
    return data[: len(data) - len(rest)], count


def _fit_to_room(kept: bytes, room: int, total: int, offset: int, limit: int) -> LineSlice:
    """Decodes the slice; shortens it at the end of a line when it takes more than `room`."""
    wanted = max(0, min(limit, total - offset + 1))
    text = kept.decode("utf-8", "ignore")  # only its last character can be incomplete
    used = count = end = 0
    for piece in _pieces(text):
        used += _width(piece)
        if used > room:
            break
        count, end = count + 1, end + len(piece)
    if count >= wanted:
        return LineSlice(text[:end], wanted, total, False, False)
    if count == 0:
        return LineSlice(_beginning(text, room), 1, total, True, True)
    return LineSlice(text[:end], count, total, True, False)


def _pieces(text: str) -> list[str]:
    pieces = [piece + "\n" for piece in text.split("\n")]
    pieces[-1] = pieces[-1][:-1]
    return pieces if pieces[-1] else pieces[:-1]


def _width(text: str) -> int:
    """Estimates the characters that a text takes in JSON."""
    return len(text) + sum(map(text.count, '"\\\n\r\t'))


def _beginning(text: str, room: int) -> str:
    while _width(text) > room:
        text = text[: max(1, len(text) * room // (_width(text) + 1))]
    return text


def _refuse_image(name: str, path: str) -> None:
    if name.lower().endswith(IMAGES):
        raise bad_arguments(f"{quote_text(path)} is an image, and only text is read", "image_file")


def _refuse_binary(check: codecs.IncrementalDecoder, chunk: bytes, path: str, *, is_last: bool) -> None:
    try:
        is_text = b"\0" not in chunk and check.decode(chunk, is_last) is not None
    except UnicodeDecodeError:
        is_text = False
    if not is_text:
        raise bad_arguments(f"{quote_text(path)} is no text in UTF-8, and only such text is read", "binary_file")
