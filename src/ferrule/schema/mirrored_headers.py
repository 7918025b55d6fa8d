"""Parameters that MCP clients repeat as headers: `x-mcp-header` in an input schema (MCP-63, MCP-154, MCP-155).

The MCP server compares the headers with the arguments; soundness checks reject schemas that clients would.
"""

from __future__ import annotations

import re

import msgspec

from ferrule.model.credentials import is_secret_name

ANNOTATION = "x-mcp-header"
PREFIX = "mcp-param-"
_TOKEN = re.compile(r"[!#$%&'*+\-.^_`|~0-9A-Za-z]+")
_TYPES = ("string", "integer", "boolean")


class MirroredParameter(msgspec.Struct, frozen=True):
    """A parameter that a client repeats as a header (MCP-63)."""

    path: tuple[str, ...]
    """Where it is in the arguments."""
    header: bytes
    """In lower case."""
    type: str


def find_mirrored(schema: object) -> tuple[MirroredParameter, ...]:
    """Returns the annotated parameters of an input schema. Raises ValueError for annotations that break the rules
    (MCP-154): a client would reject the tool."""
    found: list[MirroredParameter] = []
    _walk(schema, (), found)
    headers = [each.header for each in found]
    for header in headers:
        if headers.count(header) > 1:
            raise ValueError(f"{ANNOTATION} {header.removeprefix(PREFIX.encode()).decode()!r} is used twice")
    if _count(schema) != len(found):
        raise ValueError(f"{ANNOTATION} stands where no client finds it: only below `properties`, from the root on")
    return tuple(found)


def _walk(schema: object, path: tuple[str, ...], found: list[MirroredParameter]) -> None:
    properties = schema.get("properties") if isinstance(schema, dict) else None
    if not isinstance(properties, dict):
        return
    for name, below in properties.items():
        if not isinstance(below, dict):
            continue
        token = below.get(ANNOTATION)
        if token is not None:
            where = ".".join((*path, name))
            if not isinstance(token, str) or not _TOKEN.fullmatch(token):
                raise ValueError(f"{ANNOTATION} of {where!r} is no name of a header")
            if below.get("type") not in _TYPES:
                raise ValueError(f"{ANNOTATION} of {where!r}: only a string, an integer or a boolean can be a header")
            if is_secret_name(name) or below.get("sensitive") is True or below.get("format") == "password":
                raise ValueError(f"{ANNOTATION} of {where!r}: headers end up in logs, so no secret is one")
            found.append(MirroredParameter((*path, name), PREFIX.encode() + token.lower().encode(), below["type"]))
        _walk(below, (*path, name), found)


def _count(value: object, *, is_map: bool = False) -> int:
    """Counts annotations anywhere in a schema. `is_map`: names of members are no keywords."""
    if isinstance(value, dict):
        own = int(ANNOTATION in value and not is_map)
        return own + sum(_count(below, is_map=name == "properties" and not is_map) for name, below in value.items()
                         if is_map or name not in ("default", "const", "enum", "examples"))  # fmt: skip
    return sum(map(_count, value)) if isinstance(value, list) else 0
