"""An HTTP server on loopback that answers as a test wants."""

from __future__ import annotations

import socket
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import NamedTuple

from ferrule.infra.network.client import Client
from ferrule.infra.network.guard import Guard


def local_client() -> Client:
    """A client for one loop that may reach this machine."""
    return Client(Guard(("127.0.0.1",)))


class ReceivedPost(NamedTuple):
    """One question that arrived."""

    path: str
    headers: dict[str, str]
    body: bytes


class FakeProvider(ThreadingHTTPServer):
    """Keeps what it was asked."""

    daemon_threads = True
    request_queue_size = 128

    def __init__(self, answer: Callable[[bytes], bytes], status: int, headers: dict[str, str]) -> None:
        super().__init__(("127.0.0.1", 0), _Handler)
        self.asked: list[ReceivedPost] = []
        self.answer, self.status, self.headers = answer, status, headers

    @property
    def url(self) -> str:
        return f"http://127.0.0.1:{self.server_port}/ask?team=a"


class _Handler(BaseHTTPRequestHandler):
    server: FakeProvider
    protocol_version = "HTTP/1.1"

    def do_POST(self) -> None:
        body = self.rfile.read(int(self.headers["Content-Length"]))
        self.server.asked.append(ReceivedPost(self.path, dict(self.headers.items()), body))
        answer = self.server.answer(body)
        self.send_response(self.server.status)
        for name, value in self.server.headers.items():
            self.send_header(name, value)
        self.send_header("Content-Length", str(len(answer)))
        self.send_header("Connection", "close")  # a client of one test has no time to close what it keeps
        self.end_headers()
        self.wfile.write(answer)

    def log_message(self, format: str, *args: object) -> None:  # noqa: A002  # so the parent names it
        pass


@contextmanager
def running_provider(
    answer: Callable[[bytes], bytes] = lambda body: b"{}", status: int = 200, **headers: str
) -> Iterator[FakeProvider]:
    server = FakeProvider(answer, status, headers)
    thread = threading.Thread(target=server.serve_forever, kwargs={"poll_interval": 0.01})
    thread.start()
    try:
        yield server
    finally:
        server.shutdown()
        thread.join()
        server.server_close()


@contextmanager
def running_raw_server(raw: bytes, *, closes: bool = True) -> Iterator[str]:
    """A server that says these bytes to whoever comes first, and the address of it."""
    done = threading.Event()
    with socket.create_server(("127.0.0.1", 0)) as server:
        server.settimeout(10)

        def serve() -> None:
            try:
                peer, _ = server.accept()
            except OSError:
                return
            with peer:
                peer.recv(65536)
                peer.sendall(raw)
                if not closes:
                    done.wait(10)

        thread = threading.Thread(target=serve)
        thread.start()
        try:
            yield f"http://127.0.0.1:{server.getsockname()[1]}/"
        finally:
            done.set()
            thread.join()
