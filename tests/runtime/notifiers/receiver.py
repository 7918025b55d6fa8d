"""A receiver of webhooks on this machine, for tests."""

from __future__ import annotations

import threading
from collections.abc import Iterator
from contextlib import contextmanager
from http.server import BaseHTTPRequestHandler, HTTPServer
from typing import NamedTuple


class ReceivedNotice(NamedTuple):
    """One request as it came."""

    path: str
    headers: dict[str, str]
    body: bytes


class FakeReceiver(HTTPServer):
    """Answers with the given statuses in turn, the last one for ever, and keeps what it got."""

    request_queue_size = 128

    def __init__(self, *statuses: int) -> None:
        super().__init__(("127.0.0.1", 0), _Handler)
        self.statuses = list(statuses or (204,))
        self.got: list[ReceivedNotice] = []

    @property
    def url(self) -> str:
        return f"http://127.0.0.1:{self.server_port}/hook?team=a"


class _Handler(BaseHTTPRequestHandler):
    def do_POST(self) -> None:
        server = self.server
        assert isinstance(server, FakeReceiver)
        body = self.rfile.read(int(self.headers["Content-Length"]))
        server.got.append(ReceivedNotice(self.path, dict(self.headers.items()), body))
        status = server.statuses.pop(0) if len(server.statuses) > 1 else server.statuses[0]
        self.send_response(status)
        if 300 <= status < 400:
            self.send_header("Location", f"{server.url}&moved")
        self.end_headers()

    def log_message(self, format: str, *args: object) -> None:  # noqa: A002  so the parent names it
        """Nothing."""


@contextmanager
def running_receiver(*statuses: int) -> Iterator[FakeReceiver]:
    """A receiver that runs for the length of a `with` block."""
    with FakeReceiver(*statuses) as server:
        thread = threading.Thread(target=lambda: server.serve_forever(poll_interval=0.01))
        thread.start()
        try:
            yield server
        finally:
            server.shutdown()
            thread.join(10)
