"""What only the revisions with sessions have: `initialize`, `ping`, `logging/setLevel`."""

from __future__ import annotations

from contextlib import suppress
from typing import Any, NamedTuple

import msgspec

from ferrule.servers.mcp.methods.discovery import capabilities_of, instructions_of
from ferrule.servers.mcp.methods.progress import level_named
from ferrule.servers.mcp.server import Exchange, McpService
from ferrule.servers.mcp.wire.messages import (
    SESSIONED,
    SUPPORTED,
    UNSUPPORTED_VERSION,
    Message,
    RpcError,
    features_of,
    refuse_doubled_params,
)
from ferrule.servers.mcp.wire.params import params_of

_TITLE_SINCE, _ALL_SINCE = "2025-06-18", "2025-11-25"


class _Client(msgspec.Struct, gc=False):
    name: str
    version: str


class _Initialize(msgspec.Struct, gc=False):
    protocol_version: str = msgspec.field(name="protocolVersion")
    capabilities: dict[str, Any]
    client_info: _Client = msgspec.field(name="clientInfo")


class _Handshake(msgspec.Struct, gc=False):
    version: str = msgspec.field(name="protocolVersion")


_read_handshake = msgspec.json.Decoder(_Handshake).decode


class Agreed(NamedTuple):
    """What a client and the server agree on when a session begins."""

    revision: str
    client: frozenset[str]


def agreed(message: Message) -> Agreed:
    """Read `initialize`. Raises RpcError (MCP-92)."""
    refuse_doubled_params(message)
    params = bytes(message.params) if isinstance(message.params, msgspec.Raw) else b"{}"
    asked: _Initialize = params_of(params, _Initialize)
    revision = asked.protocol_version if asked.protocol_version in SESSIONED else SESSIONED[0]
    return Agreed(revision, _offered(revision, asked.capabilities))


def sessionless(message: Message, version: str = SESSIONED[-1]) -> RpcError:
    """The answer to a client of the revisions with sessions where they are switched off: it shows the message (MCP-13).
    `version`: what it speaks, where its message does not say it as `initialize` does."""
    if message.method == "initialize" and isinstance(message.params, msgspec.Raw):
        with suppress(msgspec.MsgspecError, UnicodeDecodeError, RecursionError):
            version = _read_handshake(message.params).version
    text = f"only version {', '.join(SUPPORTED)} of the protocol is served here, without sessions"
    return RpcError(UNSUPPORTED_VERSION, text, {"supported": list(SUPPORTED), "requested": version[:200]})


def _offered(revision: str, capabilities: dict[str, Any]) -> frozenset[str]:
    """What the client can be asked for, by the words of its revision: later ones mean nothing in it (MCP-112)."""
    found = features_of(capabilities)
    if revision < "2025-11-25":
        found -= {"elicitation.url", "sampling.tools"}
    if revision < "2025-06-18":
        found -= {"elicitation"}
    return frozenset(name for name in found if "/" not in name)  # extensions are for the revision without sessions


def initialized(exchange: Exchange) -> dict[str, Any]:
    """The result of `initialize` (MCP-93)."""
    told = instructions_of(exchange)
    return {
        "protocolVersion": exchange.revision,
        "capabilities": capabilities_of(exchange),
        "serverInfo": _info(exchange.server, exchange.revision),
        **({"instructions": told} if told else {}),
    }


def _info(server: McpService, revision: str) -> dict[str, Any]:
    """Who answers, as far as the revision has words for it."""
    info = server.info
    known = {"name", "version"}
    if revision >= _TITLE_SINCE:
        known.add("title")
    return dict(info) if revision >= _ALL_SINCE else {name: info[name] for name in info if name in known}


def ping(exchange: Exchange, params: bytes) -> bytes:
    """`ping` (MCP-187)."""
    return b"{}"


class _SetLevel(msgspec.Struct, gc=False):
    level: Any


def set_level(exchange: Exchange, params: bytes) -> bytes:
    """`logging/setLevel` (MCP-182)."""
    exchange.session.log_level = level_named(params_of(params, _SetLevel).level)
    return b"{}"
