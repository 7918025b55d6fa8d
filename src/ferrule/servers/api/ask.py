"""One request to the HTTP API, read and checked: what a route receives.

`endpoint` makes it; routes read it. It does not know which routes exist.
"""

from __future__ import annotations

from collections.abc import Awaitable
from typing import Any, TypeVar

import msgspec

from ferrule.app.surface import SurfaceHandle
from ferrule.servers.api.background import Background
from ferrule.servers.api.replies import Problem
from ferrule.servers.api.requests import Preference, choose_media_type, decode_body, pairs_of, preference_of, query_of
from ferrule.servers.api.route import EVENT_TYPE, ApiRoute, RequestField
from ferrule.servers.asgi import HttpRequest
from ferrule.servers.auth.callers import Caller
from ferrule.servers.edge import Edge

RUN = RequestField(
    "Ferrule-Run",
    "The piece of agent work that calls belong to; limits of tools count per run.",
    "[!-~]{1,200}",
    "1 to 200 visible characters of ASCII, without spaces",
)
KEY = RequestField(
    "Idempotency-Key",
    "Calls of one tool with the same key and the same arguments are one call, with one effect and one answer.",
    "[!-~]{1,255}",
    "1 to 255 visible characters of ASCII, without spaces",
)
PREFER = RequestField(
    "Prefer",
    "`respond-async`: answer at once, with where to look. `wait=N`: wait at most N seconds for the end (RFC 7240).",
)
LAST_EVENT = RequestField(
    "Last-Event-ID",
    "The id of the last event that was seen; the stream goes on after it.",
    "[0-9]{1,9}|end",
    "a number of at most 9 digits, or `end`",
)

Body = TypeVar("Body", bound=msgspec.Struct)


class Ask:
    """A request with its caller, route, path parts, query and body."""

    __slots__ = (
        "_body",
        "_headers",
        "_query",
        "background",
        "caller",
        "edge",
        "pairs",
        "parts",
        "request",
        "request_id",
        "route",
    )

    def __init__(
        self,
        request: HttpRequest,
        caller: Caller,
        edge: Edge,
        background: Background,
        route: ApiRoute,
        parts: dict[str, str],
        request_id: str,
    ) -> None:
        self.request = request
        self.caller = caller
        self.edge = edge
        self.background = background
        self.route = route
        self.parts = parts
        self.request_id = request_id
        self.pairs: list[tuple[str, str]] = []
        """The query as it was sent."""
        self._headers: dict[str, str | None] = {}
        self._query: Any = None
        self._body: Any = None

    def read_head(self) -> None:
        """Reads the query, and the headers that the route names. Raises Problem."""
        self.pairs = pairs_of(self.request.query)
        self._query = query_of(self.pairs, self.route.query)
        for field in self.route.headers:
            self.header(field)

    def read_body(self, body: bytes, depth: int) -> None:
        """Reads the body, where the route takes one. Raises Problem."""
        shape = self.route.body
        if shape is not None:
            self._body = decode_body(self.request, body, shape, depth=depth, is_optional=self.route.is_body_optional)

    def query(self, shape: type[Body]) -> Body:
        """Returns the query in the shape that the route declared."""
        assert isinstance(self._query, shape)
        return self._query

    def body(self, shape: type[Body]) -> Body:
        """Returns the body in the shape that the route declared."""
        assert isinstance(self._body, shape)
        return self._body

    def header(self, field: RequestField) -> str | None:
        """Returns a header of the request; None without it. Raises Problem when it is invalid or repeated."""
        if field.name in self._headers:
            return self._headers[field.name]
        found = self._headers[field.name] = self._header(field)
        return found

    def _header(self, field: RequestField) -> str | None:
        values = self.request.all_headers(field.key)
        if not values:
            return None
        text = values[0].decode("latin-1").strip(" \t")
        if len(values) > 1:
            raise Problem(400, "invalid_header", f"the header {field.name} is given twice")
        if not field.is_valid(text):
            raise Problem(400, "invalid_header", f"the header {field.name} takes {field.takes}")
        return text

    @property
    def invocation_id(self) -> str:
        """The invocation id in the path."""
        return self.parts["invocation_id"]

    @property
    def preference(self) -> Preference:
        """The client's preferences (RFC 7240)."""
        return preference_of(self.request)

    @property
    def wants_events(self) -> bool:
        """True when the client accepts a stream of events."""
        return choose_media_type(self.request, self.route.produces) == EVENT_TYPE

    def surface(self) -> SurfaceHandle | Awaitable[SurfaceHandle]:
        """Returns the caller's surface, in the run that the request names; something to await when it has to be made
        again.

        Raises Problem and Refused.
        """
        return self.edge.surface(self.caller, self.header(RUN) or "", "http")
