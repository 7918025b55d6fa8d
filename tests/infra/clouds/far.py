"""The far side: an HTTP server on loopback that answers as a test says and keeps what it was asked."""

from __future__ import annotations

import json
import sys
import threading
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from types import MappingProxyType
from typing import Any, NamedTuple
from urllib.parse import parse_qsl


class Asked(NamedTuple):
    """One question."""

    method: str
    path: str
    """With the query."""
    headers: dict[str, str]
    """Names in lower case."""
    body: bytes

    @property
    def form(self) -> dict[str, str]:
        return dict(parse_qsl(self.body.decode()))

    @property
    def bearer(self) -> str:
        scheme, _, token = self.headers.get("authorization", "").partition(" ")
        return token if scheme == "Bearer" else ""


class Reply(NamedTuple):
    """One answer; `body` is JSON unless it is bytes."""

    status: int = 200
    body: Any = b""
    headers: Mapping[str, str] = MappingProxyType({})


Answer = Callable[[Asked], Reply]


class Far(ThreadingHTTPServer):
    """Answers, and remembers."""

    daemon_threads = True
    request_queue_size = 128
    """Connections that wait to be taken. Past the usual 5, one of many at once is made again only much later."""

    def __init__(self, answer: Answer) -> None:
        super().__init__(("127.0.0.1", 0), _Handler)
        self.answer = answer
        self.asked: list[Asked] = []

    @property
    def url(self) -> str:
        return f"http://127.0.0.1:{self.server_port}"

    def paths(self) -> list[str]:
        return [one.path for one in self.asked]

    def handle_error(self, request: Any, client_address: Any) -> None:
        """Whoever asked went away; anything else is told."""
        if not isinstance(sys.exception(), ConnectionError):
            super().handle_error(request, client_address)


class _Handler(BaseHTTPRequestHandler):
    server: Far
    protocol_version = "HTTP/1.1"

    def _serve(self) -> None:
        body = self.rfile.read(int(self.headers.get("Content-Length") or 0))
        headers = {name.lower(): value for name, value in self.headers.items()}
        asked = Asked(self.command, self.path, headers, body)
        self.server.asked.append(asked)
        reply = self.server.answer(asked)
        data = reply.body if isinstance(reply.body, bytes) else json.dumps(reply.body).encode()
        self.send_response(reply.status)
        for name, value in reply.headers.items():
            self.send_header(name, value)
        self.send_header("Content-Length", str(len(data)))
        self.end_headers()
        self.wfile.write(data)

    do_GET = do_POST = do_PUT = do_DELETE = _serve  # noqa: N815  # so the parent names them

    def log_message(self, format: str, *args: object) -> None:  # noqa: A002  # so the parent names it
        pass


@contextmanager
def far(answer: Answer) -> Iterator[Far]:
    """A server until the end of the block."""
    server = Far(answer)
    thread = threading.Thread(target=server.serve_forever, kwargs={"poll_interval": 0.01})
    thread.start()
    try:
        yield server
    finally:
        server.shutdown()
        thread.join()
        server.server_close()
