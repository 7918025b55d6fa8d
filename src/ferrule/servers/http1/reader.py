"""Turns the bytes of a client into requests; a body may still be coming when its request begins.

A client sends the same head again and again, so a connection remembers a few heads, whatever the length of their
bodies. A whole address as a target must name the same server as Host. `connection` stands above it, `request` below. It
knows no answers.
"""

from __future__ import annotations

import re
from collections.abc import Iterable
from functools import lru_cache
from itertools import chain
from typing import Any, NamedTuple, Protocol
from urllib.parse import unquote_to_bytes

import httptools

from ferrule.model.value import JsonObject
from ferrule.servers.asgi import Header
from ferrule.servers.http1.request import Http1Request, RequestConnection

_HEADS_KEPT, _LONGEST_HEAD = 2, 2048
"""Few and short: reading a head again costs about 3 µs, so remembering pays only for the heads that a client repeats."""


class KnownHead(NamedTuple):
    """A head that was read before on the same connection, with a body of a known length."""

    method: str
    path: str
    query: bytes
    headers: list[Header]
    seen: JsonObject
    length: int


def remember(heads: dict[bytes, KnownHead], data: bytes, request: Http1Request | None) -> None:
    """Remembers the head of a request that came whole, alone, and in the usual form."""
    end = data.find(b"\r\n\r\n") + 4
    if (
        request is None
        or end > _LONGEST_HEAD
        # Also refuses several requests that came together: `request` is the last of them, `end` belongs to the first.
        or request.size != len(data) - end
        or request.expects
        or not request.is_chunked
        or any(name == b"transfer-encoding" for name, _ in request.headers)
    ):
        return
    if len(heads) >= _HEADS_KEPT:
        del heads[next(iter(heads))]
    # Set before the request is answered: the gate and MCP leave here what follows from this head alone.
    request.seen = {}
    heads[data[:end]] = KnownHead(
        request.method, request.path, request.query, request.headers, request.seen, request.size
    )


_TARGETS_KEPT = 128


def split_target(url: bytes) -> tuple[str, bytes, Any]:
    """Returns the path and the query of a target, and the parsed target if it names a host. Raises
    HttpParserInvalidURLError or UnicodeDecodeError."""
    target = httptools.parse_url(url)
    path = unquote_to_bytes(target.path or b"/").decode()
    return path, target.query or b"", None if target.host is None else target


split_known_target = lru_cache(_TARGETS_KEPT)(split_target)
"""Clients ask for few paths, each often. Queries are not cached: they may hold private data."""


def is_addressed(target: Any, headers: Iterable[Header]) -> bool:
    """True when a whole address as a target names the same server as Host, which is the one that was checked (RFC 9112,
    3.2.2)."""
    host: bytes = target.host
    named = b"[%b]" % host if b":" in host else host
    authority = named if target.port is None else b"%b:%d" % (named, target.port)
    said = next((value for name, value in headers if name == b"host"), b"")
    return target.userinfo is None and said.strip().lower() == authority.lower()


URL_BYTES = 32 * 1024
"""The longest target. Every query that the HTTP API's document allows fits in, whatever its letters."""
_MOST_HEADERS, _HEAD_BYTES = 100, 32 * 1024
_LINE_BYTES = 64 * 1024
_FRAMING = (b"content-length", b"transfer-encoding")
_METHODS = frozenset([b"GET", b"HEAD", b"POST", b"PUT", b"PATCH", b"DELETE", b"OPTIONS", b"CONNECT", b"TRACE", b"PRI"])
"""Methods that the parser knows. With the last one HTTP/2 begins, and it is right to refuse that."""
_METHOD_BYTES = 32
_TOKEN = re.compile(rb"[!#$%&'*+.^_`|~0-9A-Za-z-]+")


class MalformedRequest(Exception):
    """Bytes that are no HTTP, or too many of them."""

    def __init__(self, status: int) -> None:
        super().__init__(status)
        self.status = status


class ReaderConnection(RequestConnection, Protocol):
    """The connection, as its reader sees it."""

    @property
    def is_kept(self) -> bool:
        """False when it ends with the next answer, whatever its client says."""

    def take_request(self, request: Http1Request) -> None:
        """Takes a request whose body came with it."""

    def begin_request(self, request: Http1Request) -> None:
        """Takes a request whose head is complete."""

    def note_waiting_body(self, size: int) -> None:
        """Notes how much of the last request's body waits to be read."""

    def complete(self, request: Http1Request) -> None:
        """Notes that the body of a request is complete."""


class RequestReader:
    """Reads one client's requests. The parser calls it back."""

    def __init__(self, owner: ReaderConnection) -> None:
        self._owner: ReaderConnection | None = owner
        self._parser: Any = httptools.HttpRequestParser(self)
        self._failure = 0
        self._url = b""
        self._method = ""
        """The method of the request being read, where the parser was given another one."""
        self.headers: list[Header] = []
        """Of an incomplete head."""
        self._unread_bytes = 0
        """Bytes since a head or a body got further: the parser buffers a line of any length until it ends."""
        self._is_between = True
        """True while the parser is between two requests."""
        self.heads: dict[bytes, KnownHead] = {}
        """Heads that were read before."""
        self.incoming: Http1Request | None = None
        """The request whose body is being read."""
        self._last: Http1Request | None = None
        """The last request that began in the current bytes."""
        self._declined: Http1Request | None = None
        """The request that asked for another protocol, until its body is read in this one."""

    def take(self, data: bytes) -> None:
        """Reads some bytes. Raises MalformedRequest."""
        if self._is_between and self.heads and self.take_known(data):
            return
        self._unread_bytes += len(data)
        try:
            self._feed(data)
        except httptools.HttpParserError:
            raise MalformedRequest(self._failure or 400) from None
        finally:
            self._last = None  # its body is not for us to keep
        if self._unread_bytes > _LINE_BYTES:
            raise MalformedRequest(431)

    def close(self) -> None:
        """Breaks the reference cycles between it, its parser, requests and connection, so that they need not wait for
        the collector."""
        self._owner = self._parser = self.incoming = self._last = self._declined = None

    def take_known(self, data: bytes) -> bool:
        """Takes a whole request whose head was read before, without the parser. False for any other."""
        end = data.find(b"\r\n\r\n") + 4
        head = self.heads.get(data[:end])
        owner = self._owner
        if head is None or owner is None or len(data) - end != head.length:
            return False
        owner.take_request(Http1Request(owner, head.method, head.path, head.query, head.headers, head.seen, data[end:]))
        return True

    def _feed(self, data: bytes) -> None:
        was_between = self._is_between
        if was_between:
            data = self._replace_unknown_method(data)
        try:
            self._parser.feed_data(data)
            if was_between and self._is_between:
                remember(self.heads, data, self._last)
            return
        except httptools.HttpParserUpgrade as upgrade:
            rest = memoryview(data)[upgrade.args[0] :]
        # Nothing is upgraded to here. The parser left the body for another protocol, so another parser reads it.
        while True:
            request = self._declined = self._last
            assert request is not None
            framing = [b"%b: %b\r\n" % each for each in request.headers if each[0] in _FRAMING]
            self._parser = httptools.HttpRequestParser(self)
            self._parser.feed_data(b"POST / HTTP/1.1\r\n%b\r\n" % b"".join(framing))
            try:
                self._parser.feed_data(rest)
                return
            except httptools.HttpParserUpgrade as upgrade:
                rest = rest[upgrade.args[0] :]

    def _replace_unknown_method(self, data: bytes) -> bytes:
        """Replaces a method that the parser does not know: it would refuse it as no HTTP, but which methods exist is
        the application's decision. The parser reads all the rest as strictly as ever."""
        method = data[: max(0, data.find(b" ", 0, _METHOD_BYTES + 1))]
        if method in _METHODS or not _TOKEN.fullmatch(method):
            return data
        self._method = method.decode("ascii")
        return b"POST" + data[len(method) :]

    def _fail(self, status: int) -> None:
        self._failure = status
        raise httptools.HttpParserError

    # The parser

    def on_message_begin(self) -> None:
        """Begins another request."""
        self._url, self.headers, self._unread_bytes = b"", [], 0
        self._is_between = False

    def on_url(self, url: bytes) -> None:
        """Takes a part of the target."""
        self._url += url
        if len(self._url) > URL_BYTES:
            self._fail(414)

    def on_header(self, name: bytes, value: bytes) -> None:
        """Takes a header."""
        headers = self.headers
        headers.append((name.lower(), value))
        if len(headers) > _MOST_HEADERS:
            self._fail(431)

    def on_headers_complete(self) -> None:
        """Ends the head."""
        # The made-up head of `_feed`: the request itself has begun already.
        if self._declined is not None:
            self.incoming, self._declined = self._declined, None
            self.incoming.is_complete = False
            return
        try:
            url = self._url
            path, query, elsewhere = split_target(url) if b"?" in url else split_known_target(url)
        except (httptools.HttpParserInvalidURLError, UnicodeDecodeError):
            self._fail(400)
            return
        headers = self.headers
        if elsewhere is not None and not is_addressed(elsewhere, headers):
            self._fail(400)
        if sum(map(len, chain.from_iterable(headers))) > _HEAD_BYTES:
            self._fail(431)
        self.headers, self._unread_bytes = [], 0  # what follows the body is no header: nobody looked at it on the way
        self._begin(path, query, headers)

    def _begin(self, path: str, query: bytes, headers: list[Header]) -> None:
        parser, owner = self._parser, self._owner
        assert owner is not None
        unknown, self._method = self._method, ""
        request = Http1Request(owner, unknown or parser.get_method().decode("ascii"), path, query, headers)
        # Whoever speaks strangely begins anew: what is remembered of a connection is what the parser was told.
        request.is_kept = parser.should_keep_alive() and owner.is_kept and not unknown
        for name, value in headers:
            if name == b"expect":
                request.expects = value.lower() == b"100-continue"
            elif name == b"transfer-encoding" and value.lower() != b"chunked":
                self._fail(501)
        if parser.get_http_version() == "1.0":
            request.is_kept = request.is_chunked = request.expects = False
        self.incoming = self._last = request
        owner.begin_request(request)

    def on_body(self, body: bytes) -> None:
        """Takes a part of the body."""
        self._unread_bytes = 0
        if self.incoming is not None and self._owner is not None:
            self._owner.note_waiting_body(self.incoming.put(body))

    def on_message_complete(self) -> None:
        """Ends the body."""
        request, self.incoming = self.incoming, None
        self._unread_bytes = 0
        self._is_between = request is not None and request.is_kept
        # Trailers. Left here, they would look to `expire` like a head that is still coming.
        if self.headers:
            self.headers = []
        if request is not None and self._owner is not None:
            request.complete()
            self._owner.complete(request)
