"""The headers of the revision without sessions: they repeat what the body says, for whoever routes without reading it.

They have to agree with the body, or the request is refused (-32020): what a proxy let through by its headers is what is done.
"""

from __future__ import annotations

import binascii
import re
from base64 import b64decode, b64encode
from collections.abc import Mapping, Sequence
from typing import Any

import msgspec

from ferrule.schema.mirrored_headers import PREFIX, MirroredParameter
from ferrule.servers.asgi import Header
from ferrule.servers.mcp.wire.answer_forms import Accepted
from ferrule.servers.mcp.wire.messages import HEADER_MISMATCH, RpcError

VERSION, METHOD, NAME = b"mcp-protocol-version", b"mcp-method", b"mcp-name"
_ROUTES = (VERSION, METHOD, NAME)
PARAM = PREFIX.encode()
NAMED_BY = {
    "tools/call": "name",
    "prompts/get": "name",
    "resources/read": "uri",
    "tasks/get": "taskId",
    "tasks/update": "taskId",
    "tasks/cancel": "taskId",
}
"""The parameter that `Mcp-Name` repeats (MCP-58)."""

_PREFIX, _SUFFIX = b"=?base64?", b"?="
_VISIBLE = re.compile(rb"[\t\x20-\x7e]*")
_INTEGER = re.compile(r"-?(?:0|[1-9][0-9]*)(?:\.0+)?")
_SAFE_INTEGER = 2**53 - 1


class McpHead(msgspec.Struct, gc=False):
    """What the headers of a request say about its message. Requests with the very same headers may share one."""

    headers: dict[bytes, bytes]
    version: bytes | None
    is_modern: bool
    accepted: Accepted
    twice: bytes | None
    """A header that may be sent once only, and was sent again."""
    is_json: bool
    """True for a body that says that it is JSON."""
    agreed: Any = None
    """What the last body said that agreed with them, of all that they repeat."""


def mismatch(message: str) -> RpcError:
    """A header that is missing, malformed, or says something else than the body (MCP-120)."""
    return RpcError(HEADER_MISMATCH, message)


def doubled(given: Sequence[Header]) -> bytes | None:
    """The name of a header that routes and is sent twice, if there is one: first and last reader would disagree (MCP-61)."""
    names = [name for name, _ in given]
    return next((n for n in names if (n in _ROUTES or n.startswith(PARAM)) and names.count(n) > 1), None)


def plain_text_of(name: bytes, value: bytes) -> str:
    """What a header says, as it stands there: methods and versions are never marked as base64. Raises RpcError."""
    value = value.strip(b" \t")
    if not _VISIBLE.fullmatch(value):
        raise mismatch(f"the header {name.decode('latin-1')} holds characters that no header has")
    return value.decode("ascii")


def text_of(name: bytes, value: bytes) -> str:
    """What a header says, decoded where it is marked as base64 (MCP-59, MCP-60, MCP-62). Raises RpcError."""
    plain = plain_text_of(name, value)
    value = plain.encode()
    if not (value.startswith(_PREFIX) and value.endswith(_SUFFIX) and len(value) >= len(_PREFIX) + len(_SUFFIX)):
        return plain
    written = value[len(_PREFIX) : -len(_SUFFIX)]
    try:
        data = b64decode(written, validate=True)
        text = data.decode()
    except (binascii.Error, UnicodeDecodeError):
        raise mismatch(f"the header {name.decode()} is marked as base64 and is none") from None
    if b64encode(data) != written:  # bits in the padding: two spellings of one value
        raise mismatch(f"the header {name.decode()} is marked as base64 and is none")
    return text


def agree_on(headers: Mapping[bytes, bytes], version: str, method: str, name: Any) -> None:
    """Raises RpcError unless version, method and name are what the headers say (MCP-56 to MCP-58). `name`: that of the body;
    None when the method has none, or the body does not say it."""
    said = headers.get(VERSION)
    if said is None:
        raise mismatch("the header MCP-Protocol-Version is missing")
    if said != version.encode() and plain_text_of(VERSION, said) != version:
        raise mismatch("the header MCP-Protocol-Version and params._meta name different versions")
    said = headers.get(METHOD)
    if said is None:
        raise mismatch("the header Mcp-Method is missing")
    if said != method.encode() and plain_text_of(METHOD, said) != method:
        raise mismatch("the header Mcp-Method and the method are different")
    if type(name) is str:
        said = headers.get(NAME)
        if said is None:
            raise mismatch("the header Mcp-Name is missing")
        if said != name.encode() and text_of(NAME, said) != name:
            raise mismatch(f"the header Mcp-Name and params.{NAMED_BY[method]} are different")


def agree_on_parameters(headers: Mapping[bytes, bytes], expected: Sequence[MirroredParameter], arguments: Any) -> None:
    """Raises RpcError unless every annotated parameter is repeated as its header, and nothing else is (MCP-63, MCP-64)."""
    for each in expected:
        value = arguments
        for step in each.path:
            value = value.get(step) if isinstance(value, dict) else None
        said = headers.get(each.header)
        name, where = each.header.decode(), ".".join(each.path)
        if value is None:
            if said is not None:
                raise mismatch(f"the header {name} is sent, and the arguments have no {where}")
        elif said is None:
            raise mismatch(f"the header {name} is missing: the arguments have {where}")
        elif not _is_same(text_of(each.header, said), value, each.type):
            raise mismatch(f"the header {name} and {where} of the arguments are different")


def _is_same(said: str, value: Any, kind: str) -> bool:
    if type(value) is bool:
        return said == ("true" if value else "false")
    if type(value) is str:
        return said == value
    if isinstance(value, int | float):
        if kind != "integer" or value != value or abs(value) > _SAFE_INTEGER or not _INTEGER.fullmatch(said):
            return False
        return len(said) < 40 and float(said) == value
    return False
