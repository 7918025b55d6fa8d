"""Writes the text of HTTP/1.1 answers."""

from __future__ import annotations

import http
import logging
from collections.abc import Iterable
from typing import Any

from ferrule.infra.clock import Clock, id_maker
from ferrule.servers.asgi import JSON, Header, HttpAnswer
from ferrule.servers.root import problem

_STATUS = {
    status.value: f"HTTP/1.1 {status.value} {status.phrase}\r\n".encode() for status in http.HTTPStatus
}  # fmt: skip
_REFUSALS: dict[int, tuple[Any, ...]] = {
    400: ("malformed_request", "the request cannot be read: it is no HTTP/1.1, or can be read in two ways"),
    408: ("too_slow", "the request took too long to arrive"),
    414: ("target_too_long", "the path and the query have more bytes than are taken here"),
    431: ("head_too_large", "the headers are more, or have more bytes, than are taken here"),
    501: ("unknown_transfer_encoding", "a body comes with its length, or in chunks and not coded otherwise"),
    503: ("too_many_connections", "there are too many connections", (b"retry-after", b"5")),
}
"""Code, words and headers, by status."""
_new_id = id_maker(Clock())
_log = logging.getLogger("ferrule.serve")


def head_text(status: int, headers: Iterable[Header]) -> bytearray:
    """Writes the status and the headers, without the empty line that ends them."""
    head = bytearray(_STATUS.get(status) or b"HTTP/1.1 %d -\r\n" % status)
    for name, value in headers:
        head += name + b": " + value + b"\r\n"
    return head


def whole_text(answer: HttpAnswer, *, is_bodiless: bool, is_kept: bool) -> bytes:
    """Writes a whole answer. `is_bodiless`: without its body, as HEAD wants it."""
    status, headers, body = answer.status, answer.headers, answer.body
    if status == 200 and len(headers) == 1 and headers[0] is JSON and is_kept and not is_bodiless:
        # Most answers: one step instead of six.
        return b"HTTP/1.1 200 OK\r\ncontent-type: application/json\r\ncontent-length: %d\r\n\r\n%b" % (len(body), body)
    head = bytes(head_text(status, headers))
    length = b"" if status == 204 or status == 304 else b"content-length: %d\r\n" % len(body)
    end = b"\r\n" if is_kept else b"connection: close\r\n\r\n"
    return b"%b%b%b%b" % (head, length, end, b"" if is_bodiless else body)


def refusal_text(status: int) -> bytes:
    """Writes the refusal of bytes that never became a request: problem details, the last answer of the connection."""
    code, detail, *more = _REFUSALS.get(status, _REFUSALS[400])
    request_id = _new_id("req")
    answer = problem(status, code, detail, request_id=request_id)
    answer.headers += [(b"x-request-id", request_id.encode()), *more]
    _log.debug("a connection was answered with %d: %s (request %s)", status, detail, request_id)
    return whole_text(answer, is_bodiless=False, is_kept=False)
