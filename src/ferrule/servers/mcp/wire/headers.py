"""The headers of the revision without sessions: they repeat the body, so that proxies can route without reading it.

They have to agree with the body, or the request is refused (-32020): otherwise a proxy would check one request and the
server would run another.
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
    """The facts of a request's headers. Requests with the very same headers may share one."""

    headers: dict[bytes, bytes]
    version: bytes | None
    is_modern: bool
    accepted: Accepted
    twice: bytes | None
    """A header that may be sent only once, and was sent again."""
    is_json: bool
    """True for a body whose header says JSON."""
    agreed: Any = None
    """The facts of the last body that agreed with these headers."""


def mismatch(message: str) -> RpcError:
    """Returns the error for a header that is missing, malformed, or disagrees with the body (MCP-120)."""
    return RpcError(HEADER_MISMATCH, message)


def find_repeated_header(given: Sequence[Header]) -> bytes | None:
    """Returns a routing header that is sent twice, if any: first and last reader would disagree (MCP-61)."""
    names = [name for name, _ in given]
    return next((n for n in names if (n in _ROUTES or n.startswith(PARAM)) and names.count(n) > 1), None)


def read_plain_header(name: bytes, value: bytes) -> str:
    """Returns a header's text unchanged: methods and versions are never marked as base64. Raises RpcError."""
    value = value.strip(b" \t")
    if not _VISIBLE.fullmatch(value):
        raise mismatch(f"the header {name.decode('latin-1')} holds characters that no header has")
    return value.decode("ascii")


def read_header(name: bytes, value: bytes) -> str:
    """Returns a header's text, decoded where it is marked as base64 (MCP-59, MCP-60, MCP-62). Raises RpcError."""
    plain = read_plain_header(name, value)
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


def check_headers(headers: Mapping[bytes, bytes], version: str, method: str, name: object) -> None:
    """Raises RpcError unless the headers repeat version, method and name (MCP-56 to MCP-58). `name`: the body's; None
    when the method has none, or the body lacks it."""
    said = headers.get(VERSION)
    if said is None:
        raise mismatch("the header MCP-Protocol-Version is missing")
    if said != version.encode() and read_plain_header(VERSION, said) != version:
        raise mismatch("the header MCP-Protocol-Version and params._meta name different versions")
    said = headers.get(METHOD)
    if said is None:
        raise mismatch("the header Mcp-Method is missing")
    if said != method.encode() and read_plain_header(METHOD, said) != method:
        raise mismatch("the header Mcp-Method and the method are different")
    if type(name) is str:
        said = headers.get(NAME)
        if said is None:
            raise mismatch("the header Mcp-Name is missing")
        if said != name.encode() and read_header(NAME, said) != name:
            raise mismatch(f"the header Mcp-Name and params.{NAMED_BY[method]} are different")


def check_parameter_headers(
    headers: Mapping[bytes, bytes], expected: Sequence[MirroredParameter], arguments: object
) -> None:
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
        elif not _is_same(read_header(each.header, said), value, each.type):
            raise mismatch(f"the header {name} and {where} of the arguments are different")


def _is_same(said: str, value: object, kind: str) -> bool:
    # Before numbers: a bool is an int in Python.
    if type(value) is bool:
        return said == ("true" if value else "false")
    if type(value) is str:
        return said == value
    if isinstance(value, int | float):
        # `value != value` finds NaN. Beyond 2**53 two different integers can be the same float.
        if kind != "integer" or value != value or abs(value) > _SAFE_INTEGER or not _INTEGER.fullmatch(said):
            return False
        return len(said) < 40 and float(said) == value
    return False
