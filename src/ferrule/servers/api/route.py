"""Routes of the HTTP API: what a request has to contain, which scopes it needs, and what it returns.

The router, the checks and the OpenAPI document are made from these records, so they cannot disagree. `routes` lists
them; the console uses the same router.
"""

from __future__ import annotations

import re
from collections.abc import Awaitable, Callable, Iterable, Mapping
from typing import TYPE_CHECKING, Generic, Literal, Protocol, TypeAlias, TypeVar

import msgspec

from ferrule.model.value import JsonObject

if TYPE_CHECKING:
    from ferrule.servers.api.ask import Ask
    from ferrule.servers.api.replies import AnyReply

Method = Literal["GET", "POST", "PUT"]
Tag = Literal["Surface", "Calls", "Approvals", "Invocations", "Catalog", "Audit"]

JSON_TYPE = "application/json"
EVENT_TYPE = "text/event-stream"
LINES_TYPE = "application/x-ndjson"


class RequestField(msgspec.Struct, frozen=True):
    """A path part or a header that a route takes."""

    name: str
    description: str
    pattern: str = ""
    """Pattern of the full value; empty: anything. Written so that every dialect of regular expressions agrees."""
    takes: str = ""
    """The pattern in words."""
    key: bytes = b""
    """The header's name as requests have it."""

    def __post_init__(self) -> None:
        msgspec.structs.force_setattr(self, "key", self.name.lower().encode())

    @property
    def schema(self) -> JsonObject:
        """The field as JSON Schema."""
        return {"type": "string", **({"pattern": f"^(?:{self.pattern})$"} if self.pattern else {})}

    def is_valid(self, text: str) -> bool:
        """Returns True when a value is valid."""
        return not self.pattern or re.fullmatch(self.pattern, text) is not None


Serve: TypeAlias = "Callable[[Ask], AnyReply | Awaitable[AnyReply]]"


class ApiRoute(msgspec.Struct, frozen=True, kw_only=True):
    """One operation of the HTTP API."""

    method: Method
    path: str
    """Below `/v1`, with parts in braces: `/calls/{invocation_id}`."""
    serve: Serve
    tag: Tag
    summary: str
    notes: str = ""
    scopes: tuple[str, ...] = ()
    """Any of them is enough."""
    is_open: bool = False
    """True when no credential is needed: the request itself carries a proof."""
    is_for_workspace: bool = False
    """True when it concerns all tenants: refused to credentials that belong to one."""
    query: type[msgspec.Struct] | None = None
    body: type[msgspec.Struct] | None = None
    is_body_optional: bool = False
    headers: tuple[RequestField, ...] = ()
    """Request headers that the route reads."""
    returns: type | None = None
    """The record that a success holds, where it is JSON."""
    produces: tuple[str, ...] = (JSON_TYPE,)
    statuses: tuple[int, ...] = (200,)
    """Statuses of a success."""
    problems: tuple[int, ...] = ()
    """Statuses of problems, besides those that every route has."""
    is_tagged: bool = False
    """True when answers carry an ETag and take `If-None-Match`."""

    @property
    def operation(self) -> str:
        """The operation id."""
        return self.serve.__name__


class Routable(Protocol):
    """Anything with a method and a path."""

    @property
    def method(self) -> str:
        """The HTTP method."""

    @property
    def path(self) -> str:
        """The path, with parts in braces."""


One = TypeVar("One", bound=Routable)


class RouteMatch(Generic[One]):
    """The operations at a path, by method, and the values of the parts in braces."""

    def __init__(self, routes: Mapping[str, One], parts: dict[str, str]) -> None:
        self.routes = routes
        self.parts = parts


class Router(Generic[One]):
    """Finds the operations at a path."""

    def __init__(self, routes: Iterable[One]) -> None:
        self._plain: dict[str, dict[str, One]] = {}
        self._templates: list[tuple[list[str], dict[str, One]]] = []
        found: dict[str, dict[str, One]] = {}
        for route in routes:
            methods = found.setdefault(route.path, {})
            if route.method in methods:
                raise ValueError(f"two routes at {route.method} {route.path}")
            methods[route.method] = route
        for path, methods in found.items():
            if "{" in path:
                self._templates.append((path[1:].split("/"), methods))
            else:
                self._plain[path] = methods

    def find(self, path: str) -> RouteMatch[One] | None:
        """Returns the operations at a path below the router's prefix; None when there are none."""
        plain = self._plain.get(path)
        if plain is not None:
            return RouteMatch(plain, {})
        parts = path[1:].split("/")
        for names, methods in self._templates:
            found = _match_parts(names, parts)
            if found is not None:
                return RouteMatch(methods, found)
        return None


def _match_parts(names: list[str], parts: list[str]) -> dict[str, str] | None:
    """Returns the values of a template's braces; None when the path does not match.

    Tool names may contain slashes: at the end of a template they take the rest of the path.
    """
    if names[-1] in _REST and len(parts) > len(names):
        parts = [*parts[: len(names) - 1], "/".join(parts[len(names) - 1 :])]
    if len(names) != len(parts):
        return None
    found = {}
    for name, part in zip(names, parts, strict=True):
        if name.startswith("{") and part:
            found[name[1:-1]] = part
        elif name != part:
            return None
    return found


_REST = frozenset({"{tool}", "{tool_id}"})
