"""What a page is: a path below `/console`, and the function that answers there."""

from __future__ import annotations

from collections.abc import Awaitable, Callable
from typing import NamedTuple

from ferrule.servers.asgi import Answer, Stream
from ferrule.servers.console.view import View

Serve = Callable[[View], Awaitable[Answer | Stream]]


class Page(NamedTuple):
    """What is at one path below `/console`."""

    method: str
    path: str
    """With parts in braces: `/invocations/{invocation_id}`. A `{tool_id}` or `{tool}` at the end takes all that is left."""
    serve: Serve
