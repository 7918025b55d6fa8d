"""`read`: the text of a file, or a slice of its lines. Large files are passed through, never held.

Its results are never stored again (AT-231): it keeps them within what a model is shown, and says where to go on.
"""

from __future__ import annotations

import codecs
import os
from typing import Any, NamedTuple

from ferrule.contracts.executor import Context, Support
from ferrule.runtime.builtins.config import Place, ReadConfig
from ferrule.runtime.builtins.confine import Roots, Spot, open_regular
from ferrule.runtime.builtins.failures import misguided, shown

IMAGES = (".png", ".jpg", ".jpeg", ".gif", ".webp", ".bmp", ".tiff")
_CHUNK = 1024 * 1024
_MOST_WITHOUT_SIZE = 64 * 1024**2
"""Of files that say they are empty and are not."""
_LEAST_ROOM = 1000
_MOST_LINES = 2**53
"""Larger numbers are no whole numbers in JSON."""


class Lines(NamedTuple):
    """A slice of a file."""

    content: str
    """Exactly as it stands there, ends of lines included."""
    taken: int
    total: int
    is_cut: bool
    """True when the room was up before the slice was."""
    is_cut_within: bool
    """True when not even its first line found room."""


class ReadTool:
    """One agent's `read`."""

    support = Support()

    def __init__(self, config: ReadConfig, place: Place) -> None:
        self._roots = Roots(config.allowed_roots, place.root, place.protected)
        self._threads = place.threads
        self._window = config.max_lines
        self._room = place.max_result_chars

    def preflight(self, arguments: dict[str, Any]) -> None:
        """Raises ExecutionFailed for a path that cannot be meant, before anything is touched."""
        _refuse_image(arguments["file_path"], arguments["file_path"])
        self._roots.check(arguments["file_path"])

    async def __call__(self, arguments: dict[str, Any], context: Context) -> Any:
        """`file_path offset limit lines_read total_lines content` (ADL-23)."""
        return await self._threads.run(lambda: self._read(arguments, context))

    def _read(self, arguments: dict[str, Any], context: Context) -> dict[str, Any]:
        path = arguments["file_path"]
        offset = min(int(arguments.get("offset", 1)), _MOST_LINES)
        limit = min(int(arguments.get("limit", self._window)), _MOST_LINES)
        with self._roots.find(path) as spot:
            _refuse_image(spot.name, path)
            lines = slice_of(spot, offset, limit, max(_LEAST_ROOM, self._room - len(path) - 500), context)
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


def slice_of(spot: Spot, offset: int, limit: int, room: int, context: Context) -> Lines:
    """Lines of a file, from `offset` (counted from 1). `room`: how many characters of JSON they may take.

    Raises ExecutionFailed for what is no text in UTF-8.
    """
    check = codecs.getincrementaldecoder("utf-8")("strict")
    kept, kept_lines, line, size, last = bytearray(), 0, 1, 0, b"\n"
    with open_regular(spot) as file:
        rest = os.fstat(file).st_size or _MOST_WITHOUT_SIZE
        while rest > 0 and (chunk := os.read(file, min(_CHUNK, rest))):
            context.raise_if_aborted()
            _refuse_binary(check, chunk, spot.path, is_last=False)
            breaks = chunk.count(b"\n")
            if line + breaks >= offset and kept_lines < limit and len(kept) <= 4 * room:
                part = chunk if line >= offset else chunk.split(b"\n", offset - line)[-1]
                part, complete = _first_lines(part, limit - kept_lines)
                kept += part[: 4 * room + 4 - len(kept)]
                kept_lines += complete
            line, size, last, rest = line + breaks, size + len(chunk), chunk[-1:], rest - len(chunk)
        _refuse_binary(check, b"", spot.path, is_last=True)
    total = line if last != b"\n" else line - 1
    return _fitted(bytes(kept), room, total, offset, limit)


def _first_lines(data: bytes, count: int) -> tuple[bytes, int]:
    """The first so many lines, and how many of them are whole."""
    breaks = data.count(b"\n")
    if breaks < count:
        return data, breaks
    rest = data.split(b"\n", count)[-1]
    return data[: len(data) - len(rest)], count


def _fitted(kept: bytes, room: int, total: int, offset: int, limit: int) -> Lines:
    """The slice as text, cut at the end of a line when it takes more room than there is."""
    wanted = max(0, min(limit, total - offset + 1))
    text = kept.decode("utf-8", "ignore")  # only its last character can be half
    used = count = end = 0
    for piece in _pieces(text):
        used += _width(piece)
        if used > room:
            break
        count, end = count + 1, end + len(piece)
    if count >= wanted:
        return Lines(text[:end], wanted, total, False, False)
    if count == 0:
        return Lines(_beginning(text, room), 1, total, True, True)
    return Lines(text[:end], count, total, True, False)


def _pieces(text: str) -> list[str]:
    pieces = [piece + "\n" for piece in text.split("\n")]
    pieces[-1] = pieces[-1][:-1]
    return pieces if pieces[-1] else pieces[:-1]


def _width(text: str) -> int:
    """How many characters a text takes in JSON, about."""
    return len(text) + sum(map(text.count, '"\\\n\r\t'))


def _beginning(text: str, room: int) -> str:
    while _width(text) > room:
        text = text[: max(1, len(text) * room // (_width(text) + 1))]
    return text


def _refuse_image(name: str, path: str) -> None:
    if name.lower().endswith(IMAGES):
        raise misguided(f"{shown(path)} is an image, and only text is read", "image_file")


def _refuse_binary(check: codecs.IncrementalDecoder, chunk: bytes, path: str, *, is_last: bool) -> None:
    try:
        is_text = b"\0" not in chunk and check.decode(chunk, is_last) is not None
    except UnicodeDecodeError:
        is_text = False
    if not is_text:
        raise misguided(f"{shown(path)} is no text in UTF-8, and only such text is read", "binary_file")
