"""Governed calls of tools that are exposed as resources, prompts or completions.

Such a call returns the value of its function, or asks the client first, as for any tool (section 22). The methods of
resources, prompts and completion stand above it.
"""

from __future__ import annotations

from typing import Any

import msgspec

from ferrule.contracts.payloads import PayloadGone
from ferrule.infra.tasks import resolve
from ferrule.model.result import Pending, Result
from ferrule.model.surface import SurfaceEntry
from ferrule.model.value import JsonObject
from ferrule.servers.mcp.methods.client_input import apply_early_answers, ask_client, open_state, resume_call
from ferrule.servers.mcp.methods.request_state import digest_request
from ferrule.servers.mcp.server import Exchange
from ferrule.servers.mcp.wire.blocks import STORED
from ferrule.servers.mcp.wire.messages import INTERNAL_ERROR, INVALID_PARAMS, RpcError, encode
from ferrule.servers.mcp.wire.params import Retry
from ferrule.servers.mcp.wire.results import refuse_lacking

MOST_BYTES = 16 * 1024**2
"""The most that one call may return here."""
UNKNOWN = frozenset({"unknown_tool", "policy_blocked"})
MISFIT = frozenset({"schema_validation_failed", "invalid_arguments"})


class ExposedCallFailed(RpcError):
    """A call that failed; `error_class` says how."""

    def __init__(self, code: int, message: str, error_class: str, invocation_id: str) -> None:
        super().__init__(code, message, {"errorClass": error_class, "invocationId": invocation_id}, status=200)
        self.error_class = error_class


class InputRequired(Exception):
    """The client is asked first; `result` is the question."""

    def __init__(self, result: JsonObject) -> None:
        super().__init__("the client is asked first")
        self.result = result


async def call_exposed_tool(
    exchange: Exchange,
    method: str,
    name: str,
    entry: SurfaceEntry,
    arguments: JsonObject,
    retry: Retry,
) -> Any:
    """Returns the value of a resource, prompt or completion, as JSON. `name`: the client's name for it. Raises
    InputRequired, and RpcError."""
    written = encode(arguments)
    digest = digest_request(name, written)
    # Reads of resources and prompts count against the caller's limits, as calls do.
    leave = await resolve(exchange.server.edge.turnstile.enter(exchange.caller))
    try:
        outcome: Any
        if exchange.is_modern and retry.request_state is not None:
            state = open_state(exchange, method, digest, retry.request_state)
            outcome = await resume_call(exchange, method, digest, retry, state)
        else:
            outcome = await exchange.surface.call(entry.tool.tool_id, written, client=exchange.client)
            given = retry.responses() if exchange.is_modern else {}
            outcome = await apply_early_answers(exchange, method, given, outcome)
        outcome = await ask_client(exchange, method, digest, outcome)
        if isinstance(outcome, Pending) and (wait := exchange.server.settings.wait_seconds):
            outcome = await exchange.surface.result(outcome.invocation_id, wait) or outcome
    finally:
        leave()
    if isinstance(outcome, dict):
        raise InputRequired(outcome)
    if isinstance(outcome, Pending):
        message = f"{outcome.message} (its id is {outcome.invocation_id}); try again when that was done"
        raise ExposedCallFailed(INTERNAL_ERROR, message, outcome.state, outcome.invocation_id)
    refuse_lacking(exchange, outcome)
    return await _read_value(exchange, outcome)


async def _read_value(exchange: Exchange, result: Result) -> Any:
    error = result.error
    if error is not None:
        code = INVALID_PARAMS if error.error_class in MISFIT else INTERNAL_ERROR
        raise ExposedCallFailed(code, result.text or error.message, error.error_class, result.invocation_id)
    if result.structured_content is not None:
        return result.structured_content
    blocks = result.content if result.model_facing_content is None else result.model_facing_content
    for block in blocks:
        if block.get("type") == STORED and block.get("media_type") == "application/json":
            return await _read_stored_value(exchange, result, str(block.get("uri")))
    return {"blocks": list(blocks)}


async def _read_stored_value(exchange: Exchange, result: Result, uri: str) -> Any:
    """Returns a value that was too large to be kept with the call."""
    try:
        data = await exchange.surface.payload(uri, limit=MOST_BYTES + 1)
        if len(data) > MOST_BYTES:
            raise ExposedCallFailed(
                INTERNAL_ERROR, "it is too large to be given out", "result_too_large", result.invocation_id
            )
        return msgspec.json.decode(data)
    except (PayloadGone, msgspec.DecodeError):
        raise ExposedCallFailed(
            INTERNAL_ERROR, "it could not be kept", "result_too_large", result.invocation_id
        ) from None
