"""Several messages in one body or line: 2025-03-26 has that, and no other revision (MCP-21, MCP-22)."""

from __future__ import annotations

import msgspec

from ferrule.servers.mcp.wire.messages import INVALID_REQUEST, Message, RpcError, decoded

BATCHES = "2025-03-26"
_MOST = 100


def is_batch(body: bytes) -> bool:
    """True for what begins as an array."""
    return body[:1] == b"[" or body.lstrip(b" \t\r\n")[:1] == b"["


def batch_of(body: bytes, revision: str | None, depth: int) -> list[Message]:
    """The messages of a batch, each well-formed. Raises RpcError: for the first that is not, and where there are no batches."""
    try:
        raws = msgspec.json.decode(body, type=list[msgspec.Raw])
    except (msgspec.DecodeError, UnicodeDecodeError, RecursionError):
        decoded(body, depth)  # says what is wrong with it
        raise RpcError(INVALID_REQUEST, "a message is one JSON object") from None
    if revision != BATCHES:
        raise RpcError(INVALID_REQUEST, "a message is one JSON object")
    if not 0 < len(raws) <= _MOST:
        raise RpcError(INVALID_REQUEST, f"a batch has 1 to {_MOST} messages")
    messages = [decoded(bytes(raw), depth) for raw in raws]
    asked = [message for message in messages if message.kind == "request"]
    if any(message.method == "initialize" for message in asked):
        raise RpcError(INVALID_REQUEST, "initialize stands alone")
    if len({(type(message.id), message.id) for message in asked}) < len(asked):
        raise RpcError(INVALID_REQUEST, "two requests have the same id")
    return messages
