"""The HTTP API called from within the process, for pages of the signed-in person: the same operations and the same
checks.

Pages stand above it. It decides nothing itself.
"""

from __future__ import annotations

from collections.abc import AsyncIterator
from typing import Any
from urllib.parse import urlencode

import msgspec

from ferrule.model.value import JsonObject
from ferrule.servers.api.endpoint import PREFIX, HttpEndpoint
from ferrule.servers.api.replies import AnyReply, JsonReply, Problem
from ferrule.servers.asgi import Header, HttpAnswer, HttpRequest, HttpStream, make_inner_request
from ferrule.servers.auth.callers import Caller


class Api:
    """The HTTP API as one signed-in person may use it."""

    def __init__(self, endpoint: HttpEndpoint, request: HttpRequest, caller: Caller) -> None:
        self._endpoint = endpoint
        self._request = request
        self._caller = caller

    async def get(self, path: str, **query: object) -> Any:
        """Returns the result of an operation as JSON values.

        Paths are written plainly, without quoting; query members that are None or empty are left out. Raises Problem,
        Refused and FerruleError.
        """
        return await self._request_value("GET", path, query, b"", ())

    async def post(self, path: str, body: object = None, *, prefer: str = "", headers: tuple[Header, ...] = ()) -> Any:
        """Posts a body and returns the result. Raises as `get` does."""
        written = b"" if body is None else msgspec.json.encode(body)
        return await self._request_value("POST", path, {}, written, (*headers, *_make_prefer_header(prefer)))

    async def put(self, path: str, body: object) -> Any:
        """Puts a body and returns the result. Raises as `get` does."""
        return await self._request_value("PUT", path, {}, msgspec.json.encode(body), ())

    async def events(self, path: str, last: str = "") -> AsyncIterator[bytes] | None:
        """Returns a stream of server-sent events as bytes; None when the stream has ended. Raises as `get` does."""
        headers = [(b"accept", b"text/event-stream")]
        if last:
            headers.append((b"last-event-id", last.encode("latin-1", "replace")))
        replied = await self._reply(self._build_request("GET", path, {}, b"", headers))
        return replied.source if isinstance(replied, HttpStream) else None

    async def answer(self, path: str, **query: object) -> HttpAnswer | HttpStream:
        """Returns an answer as it is sent: bytes of a payload, lines of an export. Raises as `get` does."""
        replied = await self._reply(self._build_request("GET", path, query, b"", ()))
        assert not isinstance(replied, JsonReply)
        return replied

    async def _request_value(
        self, method: str, path: str, query: JsonObject, body: bytes, headers: tuple[Header, ...]
    ) -> Any:
        replied = await self._reply(self._build_request(method, path, query, body, headers))
        if isinstance(replied, JsonReply):
            return msgspec.to_builtins(replied.value, str_keys=True, enc_hook=_decode_raw)
        if isinstance(replied, HttpStream):
            raise Problem(406, "not_acceptable", "this is a stream")
        return msgspec.json.decode(replied.body) if replied.body else None

    async def _reply(self, request: HttpRequest) -> AnyReply:
        replied = self._endpoint.reply(request, self._caller)
        return replied if isinstance(replied, JsonReply | HttpAnswer | HttpStream) else await replied

    def _build_request(
        self, method: str, path: str, query: JsonObject, body: bytes, headers: tuple[Header, ...] | list[Header]
    ) -> HttpRequest:
        pairs = [(name, _format_value(value)) for name, value in query.items() if value is not None and value != ""]
        added = [*headers, *((b"content-type", b"application/json") for _ in range(bool(body)))]
        kept = [pair for pair in self._request.headers if pair[0] in (b"host", b"authorization", b"ferrule-run")]
        made = make_inner_request(
            self._request, method, PREFIX + path, urlencode(pairs).encode(), [*kept, *added], body
        )
        made.watcher = self._request.watcher
        return made


def _make_prefer_header(prefer: str) -> tuple[Header, ...]:
    return ((b"prefer", prefer.encode()),) if prefer else ()


def _decode_raw(value: object) -> Any:
    """Decodes values stored as JSON text, such as a tool's schemas. Raises TypeError for anything else."""
    if isinstance(value, msgspec.Raw):
        return msgspec.json.decode(value)
    raise TypeError(f"{type(value).__name__} is no JSON")


def _format_value(value: object) -> str:
    return str(value).lower() if isinstance(value, bool) else str(value)
