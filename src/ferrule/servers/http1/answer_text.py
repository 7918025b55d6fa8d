"""Answers as they are written."""

from __future__ import annotations

import http
from collections.abc import Iterable

from ferrule.servers.asgi import Answer, Header

_STATUS = {
    status.value: f"HTTP/1.1 {status.value} {status.phrase}\r\n".encode() for status in http.HTTPStatus
}  # fmt: skip


def head_text(status: int, headers: Iterable[Header]) -> bytearray:
    """The status and the headers, without the empty line that ends them."""
    head = bytearray(_STATUS.get(status) or b"HTTP/1.1 %d -\r\n" % status)
    for name, value in headers:
        head += name + b": " + value + b"\r\n"
    return head


def whole_text(answer: Answer, *, is_bodiless: bool, is_kept: bool) -> bytearray:
    """A whole answer. `is_bodiless`: without its body, as HEAD wants it."""
    head = head_text(answer.status, answer.headers)
    if answer.status != 204 and answer.status != 304:
        head += b"content-length: %d\r\n" % len(answer.body)
    head += b"\r\n" if is_kept else b"connection: close\r\n\r\n"
    if not is_bodiless:
        head += answer.body
    return head


def plain_text(status: int, text: bytes) -> bytes:
    """An answer in a few words, the last of its connection."""
    headers = ((b"content-type", b"text/plain"), (b"content-length", b"%d" % len(text)), (b"connection", b"close"))
    return bytes(head_text(status, headers) + b"\r\n" + text)
