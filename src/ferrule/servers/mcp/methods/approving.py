"""An approval by the calling client: where the policy names its channel, the person in front of it may be asked there.

Only an explicit yes counts. Everything else goes on waiting for the inbox, or is a no.
"""

from __future__ import annotations

from typing import Any

import msgspec

from ferrule.errors import AccessError, InboxError
from ferrule.model.approval import APPROVE, Identity
from ferrule.model.result import Pending, Result
from ferrule.servers.mcp.exchange import Exchange
from ferrule.servers.mcp.server import McpServer
from ferrule.servers.mcp.wire.messages import RpcError

KEY = "approval"
METHOD = "elicitation/create"
_LONGEST_INPUT = 4_000
_FORM = {
    "type": "object",
    "properties": {
        "approve": {"type": "boolean", "title": "Approve", "description": "Yes lets the call run, no ends it."},
        "reason": {"type": "string", "title": "Reason", "description": "For the record."},
    },
    "required": ["approve"],
}


def may_be_asked(exchange: Exchange, pending: Pending) -> bool:
    """True when the policy lets the caller's own channel carry the approval, and its client can ask a person."""
    return (
        pending.state == "awaiting_approval"
        and exchange.caller.identity.channel in pending.channels
        and "elicitation" in exchange.client
        and exchange.revision != "2025-03-26"
    )


class Question(msgspec.Struct, frozen=True):
    """What a person is asked."""

    request: dict[str, Any]
    seen: bytes
    """Names exactly what is shown: an approval holds for nothing else."""


async def question(server: McpServer, exchange: Exchange, pending: Pending) -> Question | None:
    """The question about a waiting call; None when this person cannot answer it anyway."""
    try:
        item = await server.app.inbox(_identity(exchange)).get(pending.invocation_id)
    except (AccessError, InboxError):
        return None
    if item.why_not is not None:
        return None
    request = item.request
    shown = msgspec.json.encode(item.input).decode()
    if len(shown) > _LONGEST_INPUT:
        return None  # nobody approves what they were not shown: the inbox shows all of it
    message = (
        f"May {request.agent or 'the agent'} use {request.tool_title!r} for {request.principal}? Risk: {request.risk}."
        f"\n{item.says}\nInput: {shown}\nWhy you are asked: {request.message}"
    )
    params = {"mode": "form", "message": message, "requestedSchema": _FORM}
    return Question({"method": METHOD, "params": params}, item.binding)


async def answered(
    server: McpServer, exchange: Exchange, pending: Pending, seen: bytes, answer: Any
) -> Result | Pending:
    """Take a person's answer. Only `accept` with `approve: true` is a yes; `decline`, or `approve: false`, is a no."""
    action = answer.get("action") if isinstance(answer, dict) else None
    content = answer.get("content") if isinstance(answer, dict) else None
    said = content.get("approve") if isinstance(content, dict) else None
    reason = content.get("reason") if isinstance(content, dict) else None
    reason = reason if isinstance(reason, str) and reason else None
    inbox = server.app.inbox(_identity(exchange))
    try:
        if action == "accept" and said is True:
            approved = await inbox.approve(pending.invocation_id, reason=reason, seen=seen)
            return approved.result or pending
        if action == "decline" or (action == "accept" and said is False):
            return await inbox.reject(pending.invocation_id, reason=reason or "declined in the client")
    except (AccessError, InboxError):
        found = await exchange.surface.result(pending.invocation_id)  # somebody else was quicker, or has to answer
        return found or pending
    return pending


async def over_stream(server: McpServer, exchange: Exchange, pending: Pending) -> Result | Pending:
    """Ask the person in front of a session's client."""
    asked = await question(server, exchange, pending)
    if asked is None:
        return pending
    params = asked.request["params"]
    if exchange.revision == "2025-06-18":
        params = {name: value for name, value in params.items() if name != "mode"}
    try:
        answer = await exchange.back.ask(METHOD, params)
    except RpcError:
        return pending
    return await answered(server, exchange, pending, asked.seen, answer)


def _identity(exchange: Exchange) -> Identity:
    """The caller as somebody who may approve: the policy named its channel for that."""
    identity = exchange.caller.identity
    return msgspec.structs.replace(identity, scopes=identity.scopes | {APPROVE}, tenant=exchange.caller.tenant)
