"""Where the console is. What it is made of is loaded when the first person comes: agents need none of it."""

from __future__ import annotations

from importlib import import_module

from ferrule.servers.api.endpoint import HttpEndpoint
from ferrule.servers.asgi import Answer, Header, Request
from ferrule.servers.edge import Edge
from ferrule.servers.root import OpenEndpoint, Response

BASE = "/console"
_POLICY = (
    "default-src 'none'; script-src 'self'; style-src 'self'; img-src 'self' data:; connect-src 'self'; font-src 'self';"
    " form-action 'self'; frame-ancestors 'none'; base-uri 'none'"
)
GUARDS: tuple[Header, ...] = (
    (b"content-security-policy", _POLICY.encode()),
    (b"x-content-type-options", b"nosniff"),
    (b"x-frame-options", b"DENY"),
    (b"referrer-policy", b"same-origin"),
    (b"cross-origin-opener-policy", b"same-origin"),
    (b"cross-origin-resource-policy", b"same-origin"),
)
"""What every answer of the console carries."""


class ConsoleEntry:
    """The console, once somebody wants it."""

    def __init__(self, edge: Edge, api: HttpEndpoint) -> None:
        self._edge = edge
        self._api = api
        self._endpoint: OpenEndpoint | None = None

    def paths(self) -> dict[str, OpenEndpoint]:
        """Where it is. It asks for a credential in its own way."""
        return {"/": _to_console, BASE: _to_console, f"{BASE}/": self}

    def __call__(self, request: Request) -> Response:
        """Answers one request of anybody."""
        if self._endpoint is None:
            made: OpenEndpoint = import_module("ferrule.servers.console.endpoint").ConsoleEndpoint(
                self._edge, self._api
            )
            self._endpoint = made
        return self._endpoint(request)


def _to_console(request: Request) -> Answer:
    return Answer(303, b"", [(b"location", f"{BASE}/".encode()), *GUARDS])
