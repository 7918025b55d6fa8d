"""Server-sent events."""

from __future__ import annotations

from collections.abc import AsyncGenerator
from contextlib import aclosing
from typing import NamedTuple


class Event(NamedTuple):
    """One event."""

    name: str
    data: str


async def events(
    pieces: AsyncGenerator[bytes, None],
) -> AsyncGenerator[Event, None]:
    """The events of a stream, as they arrive."""
    name, data, rest = "message", list[str](), b""
    async with aclosing(pieces):
        async for piece in pieces:
            *lines, rest = (rest + piece).split(b"\n")
            for raw in lines:
                line = raw.removesuffix(b"\r").decode(errors="replace")
                if not line:
                    if data:
                        yield Event(name, "\n".join(data))
                    name, data = "message", []
                elif not line.startswith(":"):
                    field, _, value = line.partition(":")
                    value = value.removeprefix(" ")
                    if field == "event":
                        name = value
                    elif field == "data":
                        data.append(value)
