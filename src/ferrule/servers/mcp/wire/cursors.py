"""Cursors: where the next page of a list begins (section 13).

Opaque and sealed with the workspace's key, so that every process of it accepts the cursors of any other, before and
after a restart. A cursor belongs to one method and to one kind of caller. It remembers the item it came after: when the
list has changed meanwhile, the next page begins there, with gaps rather than errors (MCP-168).
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


class CursorPosition(msgspec.Struct, array_like=True, gc=False):
    """The place where a page begins."""

    method: str
    scope: bytes
    view: bytes
    """The start of the list's fingerprint."""
    start: int
    """The number of the first item, while the list is unchanged."""
    after: bytes
    """The hash of the item before it."""


def hash_name(name: str) -> bytes:
    """Returns a short hash that tells one item of a list from the others."""
    return sha256(name.encode(errors="backslashreplace")).digest()[:12]


def hash_scope(request: SurfaceRequest) -> bytes:
    """Returns the kind of caller a cursor belongs to, by the facts of its credential."""
    said = (request.tenant, request.agent, request.role, request.surface_id)
    return sha256(msgspec.msgpack.encode(said)).digest()[:8]


class Cursors:
    """Encodes and decodes cursors."""

    def __init__(self, sealing: Sealing) -> None:
        self._sealing = sealing

    def encode(self, position: CursorPosition) -> str:
        """Encodes a cursor."""
        sealed = self._sealing.seal(_PURPOSE, msgspec.msgpack.encode(position))
        return base64.urlsafe_b64encode(sealed).rstrip(b"=").decode()

    def decode(self, text: str, method: str, scope: bytes) -> CursorPosition:
        """Decodes a cursor. Raises RpcError for one of another workspace, method or caller (MCP-167)."""
        if 0 < len(text) <= _LONGEST and text.isascii():
            try:
                sealed = base64.b64decode(text + "=" * (-len(text) % 4), altchars=b"-_", validate=True)
                plain = self._sealing.open(_PURPOSE, sealed)
                position = msgspec.msgpack.decode(plain, type=CursorPosition)
                if position.method == method and position.scope == scope:
                    return position
            except (binascii.Error, ValueError, msgspec.DecodeError):
                pass
        raise RpcError(INVALID_PARAMS, "the cursor is not one of this list; ask without one")
