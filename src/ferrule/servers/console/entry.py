"""Where the console is. What it is made of is loaded when the first person comes: agents need none of it."""

from __future__ import annotations

from importlib import import_module
from importlib.util import find_spec

from ferrule.servers.asgi import Answer, Request, Stream
from ferrule.servers.edge import Edge
from ferrule.servers.http.endpoint import HttpEndpoint
from ferrule.servers.root import OpenEndpoint

BASE = "/console"


class ConsoleEntry:
    """The console, once somebody wants it."""

    def __init__(self, edge: Edge, api: HttpEndpoint) -> None:
        self._edge = edge
        self._api = api
        self._endpoint: OpenEndpoint | None = None

    def paths(self) -> dict[str, OpenEndpoint]:
        """Where it is. It asks for a credential in its own way."""
        return {"/": _to_console, BASE: _to_console, f"{BASE}/": self}

    async def __call__(self, request: Request) -> Answer | Stream:
        """Answer one request of anybody."""
        if self._endpoint is None:
            if find_spec("jinja2") is None:
                text = b"The console needs: pip install 'ferrule[console]'\n"
                return Answer(501, text, [(b"content-type", b"text/plain")])
            made: OpenEndpoint = import_module("ferrule.servers.console.endpoint").ConsoleEndpoint(
                self._edge, self._api
            )
            self._endpoint = made
        return await self._endpoint(request)


async def _to_console(request: Request) -> Answer:
    return Answer(303, b"", [(b"location", f"{BASE}/".encode())])
