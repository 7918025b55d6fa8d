"""Input from the client, on behalf of a tool or for an approval.

A session asks over the stream of its request (section 21), the revision without sessions by `input_required`, where the
answer is another request (section 22). The call waits in the ledger meanwhile, so a client that never answers costs
nothing (trap 25). Where the policy names the client's channel, the person in front of it may approve there. Only an
explicit yes counts; anything else waits for the inbox.
"""

from __future__ import annotations

from typing import Any

import msgspec

from ferrule.errors import AccessError, InboxError
from ferrule.model.approval import APPROVE, Identity
from ferrule.model.client_requests import list_undeclared
from ferrule.model.result import Pending, Result
from ferrule.runtime.pipeline.call import NO_STATE
from ferrule.servers.mcp.methods.request_state import Seal, State
from ferrule.servers.mcp.server import Exchange, McpService
from ferrule.servers.mcp.tasks.inputs import problem_with
from ferrule.servers.mcp.tasks.tasks import knows_tasks, waited
from ferrule.servers.mcp.wire.messages import INVALID_PARAMS, RpcError
from ferrule.servers.mcp.wire.params import Retry
from ferrule.servers.mcp.wire.results import lacking

UNUSABLE = "requestState cannot be used: it was changed, used before, made for something else, or is too old"
"""One text for everything that can be wrong with it: nobody learns what (MCP-223)."""
_STATE_SECONDS = 3600
_MOST_ROUNDS = 32
_URL_MODES = ("2025-11-25",)


def seal_of(server: McpService) -> Seal:
    """What seals the states of a workspace."""
    seal = server.kept.get("seal")
    if seal is None:
        seal = server.kept["seal"] = Seal(server.app.services.sealing.secret)
    found: Seal = seal
    return found


def state_for(exchange: Exchange, method: str, salient: bytes, pending: Pending, seen: bytes | None = None) -> str:
    """The state of a request that goes on when its client has answered. `seen`: what an approval would be for."""
    until = exchange.server.app.services.wall() + _STATE_SECONDS * 1_000_000
    caller = exchange.caller
    return seal_of(exchange.server).sealed(
        State(
            purpose="input" if seen is None else "approval",
            audience=exchange.server.app.name,
            tenant=caller.tenant,
            principal=caller.identity.principal,
            channel=caller.identity.channel,
            method=method,
            salient=salient,
            invocation_id=pending.invocation_id,
            round=pending.round,
            expires_at=until if pending.expires_at is None else min(until, pending.expires_at),
            seen=seen or b"",
        )
    )


def state_of(exchange: Exchange, method: str, salient: bytes, text: Any) -> State:
    """What a state says, if it was made for exactly this (MCP-224, MCP-229). Raises RpcError."""
    state = seal_of(exchange.server).opened(text) if type(text) is str else None
    caller = exchange.caller
    if (
        state is None
        or exchange.server.app.services.wall() >= state.expires_at
        or (state.audience, state.method, state.salient) != (exchange.server.app.name, method, salient)
        or (state.tenant, state.principal) != (caller.tenant, caller.identity.principal)
        or state.channel != caller.identity.channel
    ):
        raise RpcError(INVALID_PARAMS, UNUSABLE)
    return state


async def round_of(exchange: Exchange, state: State) -> Pending:
    """The call that a state goes on with, if it still waits where it did: a round is answered once (MCP-225). Raises
    RpcError."""
    pending = await exchange.surface.result(state.invocation_id)
    if not isinstance(pending, Pending) or pending.round != state.round:
        raise RpcError(INVALID_PARAMS, UNUSABLE)
    return pending


async def gone_on(
    exchange: Exchange, method: str, salient: bytes, retry: Retry, state: State
) -> Result | Pending | dict[str, Any]:
    """Go on with a call that asked its client: its outcome, or what is asked once more because something is missing or
    does not fit (MCP-220). Members that nobody asked for are ignored (MCP-221). Raises RpcError."""
    pending = await round_of(exchange, state)
    requests, given = pending.client_requests, retry.responses()
    if not requests:
        raise RpcError(INVALID_PARAMS, UNUSABLE)
    answers: dict[str, Any] = {}
    for key, request in requests.items():
        if key in given:
            answer = given[key]
            if not isinstance(answer, dict):
                raise RpcError(INVALID_PARAMS, f"params.inputResponses.{key} is an object")
            if problem_with(request, answer) is None:
                answers[key] = answer
    if answers.keys() != requests.keys():
        missing = list_undeclared(requests, exchange.client)
        if missing:  # the request before this one declared more
            raise lacking(missing)
        return input_required(exchange, method, salient, pending)
    outcome = await _given(exchange, method, pending, answers)
    if outcome is None:
        raise RpcError(INVALID_PARAMS, UNUSABLE)
    return outcome


async def _given(
    exchange: Exchange, method: str, pending: Pending, answers: dict[str, Any]
) -> Result | Pending | dict[str, Any] | None:
    """Give a tool what it asked for, and wait for what comes of it; a call that takes long after that becomes a task."""
    going_on = exchange.surface.answer(pending.invocation_id, answers)
    if method == "tools/call" and knows_tasks(exchange):
        return await waited(exchange, pending.invocation_id, going_on, "auto")
    return await going_on


async def foreseen(
    exchange: Exchange,
    method: str,
    given: dict[str, Any],
    outcome: Result | Pending | dict[str, Any],
) -> Result | Pending | dict[str, Any]:
    """A first call that brings its client's answers along: a tool that remembers nothing of its question has no use for another
    round. Any other is asked about, as is every approval (MCP-227)."""
    if not given or not isinstance(outcome, Pending) or not outcome.client_requests:
        return outcome
    answers = {key: given[key] for key in outcome.client_requests if key in given}
    if answers.keys() != outcome.client_requests.keys():
        return outcome
    if any(problem_with(outcome.client_requests[key], answer) is not None for key, answer in answers.items()):
        return outcome
    rows = await exchange.server.app.store.rows_of(outcome.invocation_id)
    if not rows or rows[-1].segment().notes.get("waiting") != NO_STATE:
        return outcome
    return await _given(exchange, method, outcome, answers) or outcome


def input_required(exchange: Exchange, method: str, salient: bytes, pending: Pending) -> dict[str, Any]:
    """The answer that asks (MCP-217)."""
    requests = {key: _modern(request) for key, request in pending.client_requests.items()}
    state = state_for(exchange, method, salient, pending)
    return {"resultType": "input_required", "inputRequests": requests, "requestState": state}


async def asked(
    exchange: Exchange, method: str, salient: bytes, outcome: Result | Pending | dict[str, Any]
) -> Result | Pending | dict[str, Any]:
    """What becomes of a call whose tool asks its client: in the revision without sessions an answer that asks; in a session it
    is asked until the call has ended, or waits for something else. Raises RpcError."""
    for _ in range(_MOST_ROUNDS):
        if not isinstance(outcome, Pending) or not outcome.client_requests:
            return outcome
        missing = list_undeclared(outcome.client_requests, exchange.client)
        if missing:
            await exchange.surface.cancel(outcome.invocation_id, "its client cannot be asked for that")
            if exchange.is_modern:
                raise lacking(missing)
            return await _ended(exchange, outcome)
        if exchange.is_modern:
            return input_required(exchange, method, salient, outcome)
        outcome = await _over_stream(exchange, outcome)
    return outcome


async def _over_stream(exchange: Exchange, pending: Pending) -> Result | Pending:
    """Ask a session's client everything, and go on with what it gave. One that refuses or does not answer in time ends the
    call (MCP-215)."""
    answers: dict[str, Any] = {}
    try:
        for key, request in pending.client_requests.items():
            answer = await exchange.back.ask(request["method"], _sessioned(request, exchange.revision))
            problem = problem_with(request, answer)
            if problem is not None:
                raise RpcError(INVALID_PARAMS, f"the client's answer cannot be used: {problem}")
            answers[key] = answer
    except RpcError as error:
        await exchange.surface.cancel(pending.invocation_id, f"its client was asked and gave nothing: {error.message}")
        return await _ended(exchange, pending)
    outcome = await exchange.surface.answer(pending.invocation_id, answers)
    return pending if outcome is None else outcome


async def _ended(exchange: Exchange, pending: Pending) -> Result | Pending:
    return await exchange.surface.result(pending.invocation_id) or pending


def _modern(request: dict[str, Any]) -> dict[str, Any]:
    """A request without what only sessions have."""
    shown: dict[str, Any] = {"method": request["method"]}
    params = request.get("params")
    if isinstance(params, dict):
        shown["params"] = {name: value for name, value in params.items() if name != "elicitationId"}
    elif request["method"] != "roots/list":
        shown["params"] = {}
    return shown


def _sessioned(request: dict[str, Any], revision: str) -> dict[str, Any] | None:
    """The parameters as a session has them: questions by address have an id there (MCP-210)."""
    params = request.get("params")
    if not isinstance(params, dict):
        return None
    if request["method"] == "elicitation/create":
        if params.get("mode") == "url" and revision in _URL_MODES:
            return {"elicitationId": str(params.get("url")), **params}
        if revision not in _URL_MODES:
            return {name: value for name, value in params.items() if name != "mode"}
    return params


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


async def question(exchange: Exchange, pending: Pending) -> Question | None:
    """The question about a waiting call; None when this person cannot answer it anyway."""
    try:
        item = await exchange.server.app.inbox(_identity(exchange)).get(pending.invocation_id)
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


async def answered(exchange: Exchange, pending: Pending, seen: bytes, answer: Any) -> Result | Pending:
    """Take a person's answer. Only `accept` with `approve: true` is a yes; `decline`, or `approve: false`, is a no."""
    action = answer.get("action") if isinstance(answer, dict) else None
    content = answer.get("content") if isinstance(answer, dict) else None
    said = content.get("approve") if isinstance(content, dict) else None
    reason = content.get("reason") if isinstance(content, dict) else None
    reason = reason if isinstance(reason, str) and reason else None
    inbox = exchange.server.app.inbox(_identity(exchange))
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


async def over_stream(exchange: Exchange, pending: Pending) -> Result | Pending:
    """Ask the person in front of a session's client."""
    asked = await question(exchange, pending)
    if asked is None:
        return pending
    params = asked.request["params"]
    if exchange.revision == "2025-06-18":
        params = {name: value for name, value in params.items() if name != "mode"}
    try:
        answer = await exchange.back.ask(METHOD, params)
    except RpcError:
        return pending
    return await answered(exchange, pending, asked.seen, answer)


def _identity(exchange: Exchange) -> Identity:
    """The caller as somebody who may approve: the policy named its channel for that."""
    identity = exchange.caller.identity
    return msgspec.structs.replace(identity, scopes=identity.scopes | {APPROVE}, tenant=exchange.caller.tenant)
