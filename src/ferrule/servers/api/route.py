"""A route of the HTTP API: what is asked, who may ask, and what comes back. The router, the checks and the OpenAPI document
are all made from these records, so that none of them can say something the others do not do."""

from __future__ import annotations

import re
from collections.abc import Awaitable, Callable, Iterable, Mapping
from typing import TYPE_CHECKING, Any, Generic, Literal, Protocol, TypeAlias, TypeVar

import msgspec

if TYPE_CHECKING:
    from ferrule.servers.api.ask import Ask
    from ferrule.servers.api.replies import Replied

Method = Literal["GET", "POST", "PUT"]
Tag = Literal["Surface", "Calls", "Approvals", "Invocations", "Catalog", "Audit"]

JSON_TYPE = "application/json"
EVENT_TYPE = "text/event-stream"
LINES_TYPE = "application/x-ndjson"


class Field(msgspec.Struct, frozen=True):
    """A part of a path, or a header, that a route takes."""

    name: str
    says: str
    pattern: str = ""
    """What all of it must look like; empty: anything. Written so that every dialect of regular expressions agrees."""
    takes: str = ""
    """The same in words."""
    key: bytes = b""
    """A header's name as requests have it."""

    def __post_init__(self) -> None:
        msgspec.structs.force_setattr(self, "key", self.name.lower().encode())

    @property
    def schema(self) -> dict[str, Any]:
        """As JSON Schema."""
        return {"type": "string", **({"pattern": f"^(?:{self.pattern})$"} if self.pattern else {})}

    def fits(self, text: str) -> bool:
        """True when a text is one that is taken."""
        return not self.pattern or re.fullmatch(self.pattern, text) is not None


Serve: TypeAlias = "Callable[[Ask], Replied | Awaitable[Replied]]"


class Route(msgspec.Struct, frozen=True, kw_only=True):
    """One operation."""

    method: Method
    path: str
    """Below `/v1`, with parts in braces: `/calls/{invocation_id}`."""
    serve: Serve
    tag: Tag
    summary: str
    says: str = ""
    scopes: tuple[str, ...] = ()
    """Any of them is enough."""
    is_open: bool = False
    """True when anybody may ask: what is asked proves itself."""
    is_for_workspace: bool = False
    """True when it is about everybody's: only for credentials that belong to no single tenant."""
    query: type[msgspec.Struct] | None = None
    body: type[msgspec.Struct] | None = None
    is_body_optional: bool = False
    headers: tuple[Field, ...] = ()
    """Request headers that mean something here."""
    gives: type | None = None
    """What a success holds, where it is JSON."""
    produces: tuple[str, ...] = (JSON_TYPE,)
    statuses: tuple[int, ...] = (200,)
    """The successes."""
    problems: tuple[int, ...] = ()
    """What can go wrong here, besides what can everywhere."""
    is_tagged: bool = False
    """True when answers carry an ETag and may be asked for with `If-None-Match`."""

    @property
    def operation(self) -> str:
        """The operation's id."""
        return self.serve.__name__


class Placed(Protocol):
    """Something at a path."""

    @property
    def method(self) -> str:
        """How it is asked for."""

    @property
    def path(self) -> str:
        """Where it is, with parts in braces."""


One = TypeVar("One", bound=Placed)


class Match(Generic[One]):
    """What is at a path: operations by method, and the parts of the path that are in braces."""

    def __init__(self, routes: Mapping[str, One], parts: dict[str, str]) -> None:
        self.routes = routes
        self.parts = parts


class Router(Generic[One]):
    """Finds what is at a path."""

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

    def find(self, path: str) -> Match[One] | None:
        """What is at a path below `/v1`, or whatever they are below; None when there is nothing."""
        plain = self._plain.get(path)
        if plain is not None:
            return Match(plain, {})
        parts = path[1:].split("/")
        for names, methods in self._templates:
            found = _parts(names, parts)
            if found is not None:
                return Match(methods, found)
        return None


def _parts(names: list[str], parts: list[str]) -> dict[str, str] | None:
    """What stands where a template has braces; None when a path is another one. Names of tools may hold slashes: at the end
    of a template they take all that is left."""
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
