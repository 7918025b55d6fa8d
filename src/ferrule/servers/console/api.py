"""The HTTP API, asked from within the process by the pages of whoever is signed in: the same operations, the same checks, and
nothing else."""

from __future__ import annotations

from collections.abc import AsyncIterator
from typing import Any
from urllib.parse import urlencode

import msgspec

from ferrule.servers.api.endpoint import PREFIX, HttpEndpoint
from ferrule.servers.api.replies import AnyReply, JsonReply, Problem
from ferrule.servers.asgi import Answer, Header, Request, Stream, on_behalf
from ferrule.servers.auth.callers import Caller


class Api:
    """What one signed-in person may ask."""

    def __init__(self, endpoint: HttpEndpoint, request: Request, caller: Caller) -> None:
        self._endpoint = endpoint
        self._request = request
        self._caller = caller

    async def get(self, path: str, **query: Any) -> Any:
        """What an operation gives, as JSON has it. Paths are written plainly, nothing in them is quoted; members of the query
        that are None or empty are left out. Raises Problem, Refused and FerruleError."""
        return await self._value("GET", path, query, b"", ())

    async def post(self, path: str, body: Any = None, *, prefer: str = "", headers: tuple[Header, ...] = ()) -> Any:
        """Do something. Raises as `get` does."""
        written = b"" if body is None else msgspec.json.encode(body)
        return await self._value("POST", path, {}, written, (*headers, *_preferring(prefer)))

    async def put(self, path: str, body: Any) -> Any:
        """Set something. Raises as `get` does."""
        return await self._value("PUT", path, {}, msgspec.json.encode(body), ())

    async def events(self, path: str, last: str = "") -> AsyncIterator[bytes] | None:
        """A stream of server-sent events, as bytes; None when there is nothing more to tell. Raises as `get` does."""
        headers = [(b"accept", b"text/event-stream")]
        if last:
            headers.append((b"last-event-id", last.encode("latin-1", "replace")))
        replied = await self._reply(self._asked("GET", path, {}, b"", headers))
        return replied.source if isinstance(replied, Stream) else None

    async def answer(self, path: str, **query: Any) -> Answer | Stream:
        """An answer as it goes out: bytes of a payload, lines of an export. Raises as `get` does."""
        replied = await self._reply(self._asked("GET", path, query, b"", ()))
        assert not isinstance(replied, JsonReply)
        return replied

    async def _value(
        self, method: str, path: str, query: dict[str, Any], body: bytes, headers: tuple[Header, ...]
    ) -> Any:
        replied = await self._reply(self._asked(method, path, query, body, headers))
        if isinstance(replied, JsonReply):
            return msgspec.to_builtins(replied.value, str_keys=True, enc_hook=_decoded)
        if isinstance(replied, Stream):
            raise Problem(406, "not_acceptable", "this is a stream")
        return msgspec.json.decode(replied.body) if replied.body else None

    async def _reply(self, request: Request) -> AnyReply:
        replied = self._endpoint.reply(request, self._caller)
        return replied if isinstance(replied, JsonReply | Answer | Stream) else await replied

    def _asked(
        self, method: str, path: str, query: dict[str, Any], body: bytes, headers: tuple[Header, ...] | list[Header]
    ) -> Request:
        pairs = [(name, _text(value)) for name, value in query.items() if value is not None and value != ""]
        said = [*headers, *((b"content-type", b"application/json") for _ in range(bool(body)))]
        kept = [pair for pair in self._request.headers if pair[0] in (b"host", b"authorization", b"ferrule-run")]
        made = on_behalf(self._request, method, PREFIX + path, urlencode(pairs).encode(), [*kept, *said], body)
        made.watcher = self._request.watcher
        return made


def _preferring(prefer: str) -> tuple[Header, ...]:
    return ((b"prefer", prefer.encode()),) if prefer else ()


def _decoded(value: Any) -> Any:
    """What is kept as written JSON, such as a tool's schemas. Raises TypeError for what is no JSON at all."""
    if isinstance(value, msgspec.Raw):
        return msgspec.json.decode(value)
    raise TypeError(f"{type(value).__name__} is no JSON")


def _text(value: Any) -> str:
    return str(value).lower() if isinstance(value, bool) else str(value)
