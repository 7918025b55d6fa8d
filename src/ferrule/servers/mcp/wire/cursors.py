"""Cursors: where the next page of a list begins (section 13).

Opaque and sealed with the workspace's key, so that every process of it takes what any other gave, before and after a restart.
A cursor belongs to one method and to one kind of caller. It remembers what it came after: when the list has changed
meanwhile, the next page begins there, with gaps rather than errors (MCP-168).
"""

from __future__ import annotations

import base64
import binascii
from hashlib import sha256

import msgspec

from ferrule.model.surface import SurfaceRequest
from ferrule.runtime.pipeline.services import Sealing
from ferrule.servers.mcp.wire.messages import INVALID_PARAMS, RpcError

_PURPOSE = "mcp cursor"
_LONGEST = 1024


class Position(msgspec.Struct, array_like=True, gc=False):
    """Where a page begins."""

    method: str
    scope: bytes
    view: bytes
    """The list as it was."""
    start: int
    """The number of the first item, if the list is still that one."""
    after: bytes
    """The item before it: see `mark`."""


def mark(name: str) -> bytes:
    """Tells one item of a list from the others."""
    return sha256(name.encode(errors="backslashreplace")).digest()[:12]


def scope_of(request: SurfaceRequest) -> bytes:
    """What a cursor is bound to besides its method: the kind of caller, by what its credential says."""
    said = (request.tenant, request.agent, request.role, request.surface_id)
    return sha256(msgspec.msgpack.encode(said)).digest()[:8]


class Cursors:
    """Makes and reads cursors."""

    def __init__(self, sealing: Sealing) -> None:
        self._sealing = sealing

    def text(self, position: Position) -> str:
        """A cursor."""
        sealed = self._sealing.seal(_PURPOSE, msgspec.msgpack.encode(position))
        return base64.urlsafe_b64encode(sealed).rstrip(b"=").decode()

    def position(self, text: str, method: str, scope: bytes) -> Position:
        """What a cursor says. Raises RpcError for one that was not made here, or for another method or caller (MCP-167)."""
        if 0 < len(text) <= _LONGEST and text.isascii():
            try:
                sealed = base64.b64decode(text + "=" * (-len(text) % 4), altchars=b"-_", validate=True)
                plain = self._sealing.open(_PURPOSE, sealed)
                position = msgspec.msgpack.decode(plain, type=Position)
                if position.method == method and position.scope == scope:
                    return position
            except (binascii.Error, ValueError, msgspec.DecodeError):
                pass
        raise RpcError(INVALID_PARAMS, "the cursor is not one of this list; ask without one")
