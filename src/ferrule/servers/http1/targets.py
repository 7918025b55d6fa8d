"""What a request asks for: the path, the query, and whether a whole address means this server."""

from __future__ import annotations

from collections.abc import Iterable
from functools import lru_cache
from typing import Any
from urllib.parse import unquote_to_bytes

import httptools

from ferrule.servers.asgi import Header

_KEPT = 128


def target_of(url: bytes) -> tuple[str, bytes, Any]:
    """The path and the query of a target, and the whole of one that names a host. Raises HttpParserInvalidURLError or
    UnicodeDecodeError."""
    target = httptools.parse_url(url)
    path = unquote_to_bytes(target.path or b"/").decode()
    return path, target.query or b"", None if target.host is None else target


known_target = lru_cache(_KEPT)(target_of)
"""Clients ask for few paths, each often. Queries are not kept: they may hold what is nobody's business."""


def is_addressed(target: Any, headers: Iterable[Header]) -> bool:
    """True when a whole address as a target names the same server as Host: what is looked at is Host (RFC 9112, 3.2.2)."""
    host: bytes = target.host
    named = b"[%b]" % host if b":" in host else host
    authority = named if target.port is None else b"%b:%d" % (named, target.port)
    said = next((value for name, value in headers if name == b"host"), b"")
    return target.userinfo is None and said.strip().lower() == authority.lower()
