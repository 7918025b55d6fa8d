"""Governed calls of tools that are exposed as resources, prompts or completions.

Such a call gives the value that its function returned, or asks the client first, as for any tool (section 22). The
methods of resources, prompts and completion stand above it.
"""

from __future__ import annotations

from typing import Any

import msgspec

from ferrule.contracts.payloads import PayloadGone
from ferrule.infra.tasks import resolve
from ferrule.model.result import Pending, Result
from ferrule.model.surface import SurfaceEntry
from ferrule.servers.mcp.methods.client_input import asked, foreseen, gone_on, state_of
from ferrule.servers.mcp.methods.request_state import salient
from ferrule.servers.mcp.server import Exchange
from ferrule.servers.mcp.wire.blocks import STORED
from ferrule.servers.mcp.wire.messages import INTERNAL_ERROR, INVALID_PARAMS, RpcError, encode
from ferrule.servers.mcp.wire.params import Retry
from ferrule.servers.mcp.wire.results import refuse_lacking

MOST_BYTES = 16 * 1024**2
"""Of what one call may give here."""
UNKNOWN = frozenset({"unknown_tool", "policy_blocked"})
MISFIT = frozenset({"schema_validation_failed", "invalid_arguments"})


class Unreadable(RpcError):
    """A call that failed; `error_class` says how."""

    def __init__(self, code: int, message: str, error_class: str, invocation_id: str) -> None:
        super().__init__(code, message, {"errorClass": error_class, "invocationId": invocation_id}, status=200)
        self.error_class = error_class


class Asks(Exception):
    """The client is asked first."""

    def __init__(self, result: dict[str, Any]) -> None:
        super().__init__("the client is asked first")
        self.result = result


async def exposed_value(
    exchange: Exchange,
    method: str,
    name: str,
    entry: SurfaceEntry,
    arguments: dict[str, Any],
    retry: Retry,
) -> Any:
    """What a resource, prompt or completion gives, as JSON. `name`: what the client calls it. Raises Asks, and RpcError."""
    written = encode(arguments)
    digest = salient(name, written)
    leave = await resolve(exchange.server.edge.turnstile.enter(exchange.caller))
    try:
        outcome: Any
        if exchange.is_modern and retry.request_state is not None:
            state = state_of(exchange, method, digest, retry.request_state)
            outcome = await gone_on(exchange, method, digest, retry, state)
        else:
            outcome = await exchange.surface.call(entry.tool.tool_id, written, client=exchange.client)
            given = retry.responses() if exchange.is_modern else {}
            outcome = await foreseen(exchange, method, given, outcome)
        outcome = await asked(exchange, method, digest, outcome)
        if isinstance(outcome, Pending) and (wait := exchange.server.settings.wait_seconds):
            outcome = await exchange.surface.result(outcome.invocation_id, wait) or outcome
    finally:
        leave()
    if isinstance(outcome, dict):
        raise Asks(outcome)
    if isinstance(outcome, Pending):
        message = f"{outcome.message} (its id is {outcome.invocation_id}); try again when that was done"
        raise Unreadable(INTERNAL_ERROR, message, outcome.state, outcome.invocation_id)
    refuse_lacking(exchange, outcome)
    return await _value(exchange, outcome)


async def _value(exchange: Exchange, result: Result) -> Any:
    error = result.error
    if error is not None:
        code = INVALID_PARAMS if error.error_class in MISFIT else INTERNAL_ERROR
        raise Unreadable(code, result.text or error.message, error.error_class, result.invocation_id)
    if result.structured_content is not None:
        return result.structured_content
    blocks = result.content if result.model_facing_content is None else result.model_facing_content
    for block in blocks:
        if block.get("type") == STORED and block.get("media_type") == "application/json":
            return await _stored(exchange, result, str(block.get("uri")))
    return {"blocks": list(blocks)}


async def _stored(exchange: Exchange, result: Result, uri: str) -> Any:
    """What was too large to be kept with the call, from where it is kept."""
    try:
        data = await exchange.surface.payload(uri, limit=MOST_BYTES + 1)
        if len(data) > MOST_BYTES:
            raise Unreadable(
                INTERNAL_ERROR, "it is too large to be given out", "result_too_large", result.invocation_id
            )
        return msgspec.json.decode(data)
    except (PayloadGone, msgspec.DecodeError):
        raise Unreadable(INTERNAL_ERROR, "it could not be kept", "result_too_large", result.invocation_id) from None
