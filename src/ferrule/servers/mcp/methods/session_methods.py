"""The methods of the revisions with sessions alone: `initialize`, `ping`, `logging/setLevel`."""

from __future__ import annotations

from contextlib import suppress
from typing import Any, NamedTuple

import msgspec

from ferrule.model.value import JsonObject
from ferrule.servers.mcp.methods.discovery import get_instructions, list_capabilities
from ferrule.servers.mcp.methods.progress import read_level
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


class SessionTerms(NamedTuple):
    """The revision and the client features a session begins with."""

    revision: str
    client: frozenset[str]


def read_initialize(message: Message) -> SessionTerms:
    """Reads `initialize`. Raises RpcError (MCP-92)."""
    refuse_doubled_params(message)
    params = bytes(message.params) if isinstance(message.params, msgspec.Raw) else b"{}"
    asked: _Initialize = params_of(params, _Initialize)
    revision = asked.protocol_version if asked.protocol_version in SESSIONED else SESSIONED[0]
    return SessionTerms(revision, _list_features(revision, asked.capabilities))


def sessions_off_error(message: Message, version: str = SESSIONED[-1]) -> RpcError:
    """Returns the error for a client that needs sessions where they are switched off: it shows the message (MCP-13).
    `version`: the client's, where its message is not an `initialize` that names it."""
    if message.method == "initialize" and isinstance(message.params, msgspec.Raw):
        with suppress(msgspec.MsgspecError, UnicodeDecodeError, RecursionError):
            version = _read_handshake(message.params).version
    text = f"only version {', '.join(SUPPORTED)} of the protocol is served here, without sessions"
    return RpcError(UNSUPPORTED_VERSION, text, {"supported": list(SUPPORTED), "requested": version[:200]})


def _list_features(revision: str, capabilities: JsonObject) -> frozenset[str]:
    """Returns the features a client can be asked for, in its revision: later ones mean nothing there (MCP-112)."""
    found = features_of(capabilities)
    if revision < "2025-11-25":
        found -= {"elicitation.url", "sampling.tools"}
    if revision < "2025-06-18":
        found -= {"elicitation"}
    return frozenset(name for name in found if "/" not in name)  # extensions are for the revision without sessions


def encode_initialize(exchange: Exchange) -> JsonObject:
    """Returns the result of `initialize` (MCP-93)."""
    told = get_instructions(exchange)
    return {
        "protocolVersion": exchange.revision,
        "capabilities": list_capabilities(exchange),
        "serverInfo": _describe_server(exchange.server, exchange.revision),
        **({"instructions": told} if told else {}),
    }


def _describe_server(server: McpService, revision: str) -> JsonObject:
    """Returns the server's name and version, as far as the revision has members for them."""
    info = server.info
    known = {"name", "version"}
    if revision >= _TITLE_SINCE:
        known.add("title")
    return dict(info) if revision >= _ALL_SINCE else {name: info[name] for name in info if name in known}


def ping(exchange: Exchange, params: bytes) -> bytes:
    """Answers `ping` (MCP-187)."""
    return b"{}"


class _SetLevel(msgspec.Struct, gc=False):
    level: Any


def set_level(exchange: Exchange, params: bytes) -> bytes:
    """Answers `logging/setLevel` (MCP-182)."""
    exchange.session.log_level = read_level(params_of(params, _SetLevel).level)
    return b"{}"
