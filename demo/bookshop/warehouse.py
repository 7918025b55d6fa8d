"""The warehouse: a small HTTP service of its own, on this machine. It is busy now and then, and says so with a 503.

That is what a tool's retries are for. Every fifth request is refused, the first among them, and of the books in the
flooded cellar it never knows anything.
"""

from __future__ import annotations

import json
from collections.abc import Callable
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from itertools import count
from threading import Lock, Thread
from urllib.error import HTTPError
from urllib.request import ProxyHandler, build_opener

_BUSY_EVERY = 5
FLOODED = frozenset({"9780000000088", "9780000000132"})
"""Books that nobody can reach until the pumps have done their work."""


class Busy(ConnectionError):
    """The warehouse could not answer."""


class Warehouse:
    """The service and its client. It begins with the first question, and ends with `close`."""

    def __init__(self, copies: Callable[[str], int | None]) -> None:
        self._copies = copies
        self._asked = count()
        self._lock = Lock()
        self._server: ThreadingHTTPServer | None = None
        self._ask = build_opener(ProxyHandler({})).open  # a proxy has no business on this machine

    def stock(self, isbn: str) -> dict[str, int] | None:
        """Where the copies of a book are; None for an unknown book. Raises Busy."""
        try:
            with self._ask(f"{self._address()}/stock/{isbn}", timeout=5) as answer:
                found: dict[str, int] = json.load(answer)
                return found
        except HTTPError as refused:
            refused.close()
            if refused.code == 404:
                return None
            raise Busy(f"the warehouse answered {refused.code}") from None

    def close(self) -> None:
        """End the service."""
        with self._lock:
            server, self._server = self._server, None
        if server is not None:
            server.shutdown()
            server.server_close()

    def _address(self) -> str:
        with self._lock:
            if self._server is None:
                self._server = ThreadingHTTPServer(("127.0.0.1", 0), self._desk())
                Thread(target=self._server.serve_forever, args=(0.05,), daemon=True).start()
            return f"http://127.0.0.1:{self._server.server_port}"

    def _answer(self, isbn: str) -> tuple[int, dict[str, int]]:
        if isbn in FLOODED or next(self._asked) % _BUSY_EVERY == 0:
            return 503, {}
        copies = self._copies(isbn)
        if copies is None:
            return 404, {}
        in_shop = min(copies, int(isbn[-3:]) % 4)
        return 200, {"in_shop": in_shop, "in_warehouse": copies - in_shop}

    def _desk(self) -> type[BaseHTTPRequestHandler]:
        warehouse = self

        class Desk(BaseHTTPRequestHandler):
            def do_GET(self) -> None:
                status, body = warehouse._answer(self.path.rpartition("/")[2])
                data = json.dumps(body).encode()
                self.send_response(status)
                self.send_header("Content-Type", "application/json")
                self.send_header("Content-Length", str(len(data)))
                self.end_headers()
                self.wfile.write(data)

            def log_message(self, *args: object) -> None:
                """Say nothing."""

        return Desk
