"""A web server on this machine that answers what a test wrote down, byte by byte if need be."""

from __future__ import annotations

import socket
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import NamedTuple

Script = Callable[[socket.socket, "ReceivedRequest"], None]


class ReceivedRequest(NamedTuple):
    """One request as it came."""

    method: str
    path: str
    headers: dict[str, str]
    """Names in lower case."""


class FakeWeb:
    """The server; `pages` answer by path."""

    def __init__(self, pages: dict[str, bytes | Script]) -> None:
        self.pages = pages
        self.asked: list[ReceivedRequest] = []
        self.done = threading.Event()
        self._server = socket.create_server(("127.0.0.1", 0))
        self.port: int = self._server.getsockname()[1]
        self._threads: list[threading.Thread] = []

    def url(self, path: str = "/", host: str = "127.0.0.1") -> str:
        """The address of a page."""
        return f"http://{host}:{self.port}{path}"

    def serve(self) -> None:
        """Take connections until closed."""
        while True:
            try:
                peer, _ = self._server.accept()
            except OSError:
                return
            thread = threading.Thread(target=self._answer, args=(peer,))
            self._threads.append(thread)
            thread.start()

    def close(self) -> None:
        """End it, whatever it does."""
        self.done.set()
        self._server.shutdown(socket.SHUT_RDWR)
        self._server.close()
        for thread in self._threads:
            thread.join(10)

    def _answer(self, peer: socket.socket) -> None:
        with peer:
            try:
                data = b""
                while b"\r\n\r\n" not in data:
                    more = peer.recv(65536)
                    if not more:
                        return
                    data += more
                first, *lines = data.decode("latin-1").partition("\r\n\r\n")[0].split("\r\n")
                method, path, _ = first.split(" ", 2)
                headers = {name.lower(): value.strip() for name, _, value in (line.partition(":") for line in lines)}
                asked = ReceivedRequest(method, path, headers)
                self.asked.append(asked)
                page = self.pages.get(path.partition("?")[0], answer(b"nothing here", status=404))
                if callable(page):
                    page(peer, asked)
                else:
                    peer.sendall(page)
            except OSError:
                return  # the client went away


@contextmanager
def running_web(**pages: bytes | Script) -> Iterator[FakeWeb]:
    """A server for the length of a `with` block; `index` is `/`."""
    server = FakeWeb({"/" if name == "index" else f"/{name}": page for name, page in pages.items()})
    thread = threading.Thread(target=server.serve)
    thread.start()
    try:
        yield server
    finally:
        server.close()
        thread.join(10)


def answer(body: bytes = b"", *, status: int = 200, length: int | None = None, **headers: str) -> bytes:
    """An answer with its length; `Content_Type="text/plain"` becomes a header."""
    lines = [f"HTTP/1.1 {status} Whatever", f"Content-Length: {len(body) if length is None else length}"]
    lines += [f"{name.replace('_', '-')}: {value}" for name, value in headers.items()]
    return ("\r\n".join(lines) + "\r\n\r\n").encode("latin-1") + body


def redirect(location: str, status: int = 302) -> bytes:
    """A redirect."""
    return answer(b"moved", status=status, Location=location)
