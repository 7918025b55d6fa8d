"""Checks one request and encodes it; defines the failures that a request can end in.

A request that could be read as two, or with another length, is refused here. Messages name hosts, never what was sent.
"""

from __future__ import annotations

import re
from collections.abc import AsyncIterable, Iterable
from functools import lru_cache
from typing import TYPE_CHECKING, NamedTuple

from ferrule.infra.network.urls import Target

if TYPE_CHECKING:
    from ferrule.infra.network.proxies import Proxy


class Unreachable(OSError):
    """The host does not answer, or fails to prove its identity. Nothing came back."""

    def __init__(self, message: str, *, is_sent: bool = False) -> None:
        super().__init__(message)
        self.is_sent = is_sent
        """True when the request may have arrived, and may have been acted upon. False: certainly nothing happened."""


class Untrusted(Unreachable):
    """The host failed to prove its identity. Nothing was sent."""


class ProxyRefused(Unreachable):
    """The proxy requires a login, or refuses the tunnel. A retry would change nothing."""


class BrokenAnswer(Exception):
    """An answer that is no HTTP, cannot be decompressed, or ended too early."""


class TooLong(Exception):
    """An answer over its limit; the rest was not read."""

    def __init__(self, limit: int) -> None:
        super().__init__(f"the answer is longer than {limit} bytes")
        self.limit = limit


class BadRequest(ValueError):
    """A request that cannot be encoded as HTTP."""


Headers = Iterable[tuple[str, str]]
Body = bytes | AsyncIterable[bytes]
"""The whole body, or pieces that are asked for as they can be sent."""

_TOKEN = re.compile(r"[!#$%&'*+\-.^_`|~0-9a-zA-Z]+")
_PATH = re.compile(r"[\x21-\x7e]+")
_METHODS = frozenset({"GET", "HEAD", "OPTIONS", "POST", "PUT", "PATCH", "DELETE"})
_SAFE = frozenset({"GET", "HEAD", "OPTIONS"})
_WITH_LENGTH = frozenset({"POST", "PUT", "PATCH"})
_OWN = frozenset({"host", "content-length", "connection", "accept-encoding", "range"})
_NEVER = frozenset(
    {
        "transfer-encoding",
        "keep-alive",
        "proxy-connection",
        "proxy-authorization",
        "upgrade",
        "te",
        "trailer",
        "expect",
        "http2-settings",
    }
)
_CODINGS = "gzip, deflate"


class WrittenRequest(NamedTuple):
    """An encoded request, ready to be sent, once or again."""

    method: str
    target: Target
    body: Body
    length: int | None
    """Of the body; None when it is unknown."""
    head: bytes
    """With the empty line at its end."""
    is_single: bool = False
    """True when it has an effect, whatever its method says."""

    def head_for(self, proxy: Proxy) -> bytes:
        """Returns the head for a proxy: with the whole address, and the proxy's login."""
        method, _, rest = self.head.partition(b" ")
        path, _, lines = rest.partition(b"\r\n")
        return b"%b http://%b%b\r\n%b%b" % (method, self.target.authority.encode(), path, proxy.header, lines)

    @property
    def is_safe(self) -> bool:
        """True when sending it twice has no second effect."""
        return self.method in _SAFE and not self.is_single and isinstance(self.body, bytes)


def write_request(
    method: str,
    target: Target,
    headers: Headers = (),
    body: Body = b"",
    length: int | None = None,
    is_single: bool = False,
) -> WrittenRequest:
    """Checks a request and encodes it; `length` is that of a body in pieces. Raises BadRequest."""
    if isinstance(body, bytes):
        length = len(body)
    elif isinstance(body, bytearray | memoryview):
        body = bytes(body)
        length = len(body)
    if method not in _METHODS and not _TOKEN.fullmatch(method):
        raise BadRequest("the method has characters that no method has")
    if not _PATH.fullmatch(target.path):
        raise BadRequest(
            "the path has blanks, control characters or letters beyond ASCII; they must be percent-encoded"
        )
    pairs, accepts = [], _CODINGS
    for pair in headers:
        key = _key(pair[0])
        if key in _OWN:
            if key == "accept-encoding":
                accepts = ""
            elif key == "range" and accepts:  # a piece of something packed cannot be unpacked
                accepts = "identity"
            elif not _is_needed(key, pair[1], target, length):
                continue
        pairs.append(pair)
    if accepts:
        pairs.append(("Accept-Encoding", accepts))
    return WrittenRequest(method, target, body, length, _head(method, target, pairs, length), is_single)


def _head(method: str, target: Target, pairs: list[tuple[str, str]], length: int | None) -> bytes:
    lines = [f"{method} {target.path} HTTP/1.1\r\nHost: {target.authority}"]
    lines += [f"{name}: {value}" for name, value in pairs]
    if length is None:
        lines.append("Transfer-Encoding: chunked")
    elif length or method in _WITH_LENGTH:
        # RFC 9110, 8.6: these methods state the length of an empty body too.
        lines.append(f"Content-Length: {length}")
    lines.append("\r\n")
    text = "\r\n".join(lines)
    # One count over everything: cheaper than a look at each value.
    if text.count("\n") != len(lines) + 1 or text.count("\r") != len(lines) + 1 or "\0" in text:
        raise BadRequest(f"the value of the header {_find_invalid_header(pairs)} has characters that no header has")
    try:
        return text.encode("latin-1")
    except UnicodeEncodeError:
        raise BadRequest("a header has letters that no header has") from None


@lru_cache(1024)
def _key(name: str) -> str:
    if not _TOKEN.fullmatch(name):
        raise BadRequest("the name of a header has characters that no header has")
    key = name.lower()
    if key in _NEVER:
        raise BadRequest(f"the header {name} is not for a tool to send: it belongs to the connection")
    return key


def _is_needed(key: str, value: str, target: Target, length: int | None) -> bool:
    """True for a header to send as it is; False for one that repeats our own."""
    said = value.strip().lower()
    if key == "host" and said == target.authority:
        return False
    if key == "content-length" and length is not None and said == str(length):
        return False
    if key == "connection" and said == "keep-alive":
        return False
    if key == "range" or (key == "connection" and said == "close"):
        return True
    raise BadRequest(f"the header {key} contradicts the request; leave it out")


def _find_invalid_header(pairs: list[tuple[str, str]]) -> str:
    return next((name for name, value in pairs if set(value) & {"\r", "\n", "\0"}), "?")
