"""The console's paths. Its modules are loaded when the first person opens it: agents need none of them."""

from __future__ import annotations

from importlib import import_module

from ferrule.servers.api.endpoint import HttpEndpoint
from ferrule.servers.asgi import Header, HttpAnswer, HttpRequest
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
"""Headers that every answer of the console has."""


class ConsoleEntry:
    """The console, loaded on first use."""

    def __init__(self, edge: Edge, api: HttpEndpoint) -> None:
        self._edge = edge
        self._api = api
        self._endpoint: OpenEndpoint | None = None

    def paths(self) -> dict[str, OpenEndpoint]:
        """Returns the console's paths; it authenticates by its own cookie."""
        return {"/": _to_console, BASE: _to_console, f"{BASE}/": self}

    def __call__(self, request: HttpRequest) -> Response:
        """Answers one request."""
        if self._endpoint is None:
            made: OpenEndpoint = import_module("ferrule.servers.console.endpoint").ConsoleEndpoint(
                self._edge, self._api
            )
            self._endpoint = made
        return self._endpoint(request)


def _to_console(request: HttpRequest) -> HttpAnswer:
    return HttpAnswer(303, b"", [(b"location", f"{BASE}/".encode()), *GUARDS])
