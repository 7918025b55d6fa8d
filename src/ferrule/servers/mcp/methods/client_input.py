"""Input from the client, on behalf of a tool or for an approval.

A session asks over the stream of its request (section 21), the revision without sessions by `input_required`, where the
answer is another request (section 22). The call waits in the ledger meanwhile, so a client that never answers costs
nothing (trap 25). Where the policy names the client's channel, its user may approve there. Only an explicit yes counts;
anything else waits for the inbox.
"""

from __future__ import annotations

from typing import Any

import msgspec

from ferrule.errors import AccessError, InboxError
from ferrule.model.approval import APPROVE, Identity
from ferrule.model.client_requests import list_undeclared
from ferrule.model.result import Pending, Result
from ferrule.model.value import JsonObject
from ferrule.runtime.pipeline.call import NO_STATE
from ferrule.servers.mcp.methods.request_state import RequestState, StateSeal
from ferrule.servers.mcp.server import Exchange, McpService
from ferrule.servers.mcp.tasks.inputs import why_unusable
from ferrule.servers.mcp.tasks.tasks import knows_tasks, wait_or_make_task
from ferrule.servers.mcp.wire.messages import INVALID_PARAMS, RpcError
from ferrule.servers.mcp.wire.params import Retry
from ferrule.servers.mcp.wire.results import missing_capability_error

UNUSABLE = "requestState cannot be used: it was changed, used before, made for something else, or is too old"
"""One text for every reason, so that a caller cannot probe which check failed (MCP-223)."""
_STATE_SECONDS = 3600
_MOST_ROUNDS = 32
_URL_MODES = ("2025-11-25",)


def get_seal(server: McpService) -> StateSeal:
    """Returns the key that seals the states of a workspace."""
    seal = server.kept.get("seal")
    if seal is None:
        seal = server.kept["seal"] = StateSeal(server.app.services.sealing.secret)
    found: StateSeal = seal
    return found


def make_state(exchange: Exchange, method: str, salient: bytes, pending: Pending, seen: bytes | None = None) -> str:
    """Returns the state with which a client resumes its request. `seen`: what an approval would be for."""
    until = exchange.server.app.services.wall() + _STATE_SECONDS * 1_000_000
    caller = exchange.caller
    return get_seal(exchange.server).seal(
        RequestState(
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


def open_state(exchange: Exchange, method: str, salient: bytes, text: object) -> RequestState:
    """Returns the state of a text made for exactly this request (MCP-224, MCP-229). Raises RpcError."""
    state = get_seal(exchange.server).open(text) if type(text) is str else None
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


async def find_round(exchange: Exchange, state: RequestState) -> Pending:
    """Returns the call that a state resumes, if it still waits in that round: a round is answered once (MCP-225).
    Raises RpcError."""
    pending = await exchange.surface.result(state.invocation_id)
    if not isinstance(pending, Pending) or pending.round != state.round:
        raise RpcError(INVALID_PARAMS, UNUSABLE)
    return pending


async def resume_call(
    exchange: Exchange, method: str, salient: bytes, retry: Retry, state: RequestState
) -> Result | Pending | JsonObject:
    """Resumes a call that asked its client: returns its outcome, or asks again when an answer is missing or does not
    fit (MCP-220). Ignores members that were not asked for (MCP-221). Raises RpcError."""
    pending = await find_round(exchange, state)
    requests, given = pending.client_requests, retry.responses()
    if not requests:
        raise RpcError(INVALID_PARAMS, UNUSABLE)
    answers: JsonObject = {}
    for key, request in requests.items():
        if key in given:
            answer = given[key]
            if not isinstance(answer, dict):
                raise RpcError(INVALID_PARAMS, f"params.inputResponses.{key} is an object")
            if why_unusable(request, answer) is None:
                answers[key] = answer
    if answers.keys() != requests.keys():
        missing = list_undeclared(requests, exchange.client)
        if missing:  # the request before this one declared more
            raise missing_capability_error(missing)
        return encode_input_required(exchange, method, salient, pending)
    outcome = await _give_answers(exchange, method, pending, answers)
    if outcome is None:
        raise RpcError(INVALID_PARAMS, UNUSABLE)
    return outcome


async def _give_answers(
    exchange: Exchange, method: str, pending: Pending, answers: JsonObject
) -> Result | Pending | JsonObject | None:
    """Gives a tool its answers and waits for the outcome; a call that takes long after that becomes a task."""
    going_on = exchange.surface.answer(pending.invocation_id, answers)
    if method == "tools/call" and knows_tasks(exchange):
        return await wait_or_make_task(exchange, pending.invocation_id, going_on, "auto")
    return await going_on


async def apply_early_answers(
    exchange: Exchange,
    method: str,
    given: JsonObject,
    outcome: Result | Pending | JsonObject,
) -> Result | Pending | JsonObject:
    """Applies answers that a first call already brings: a tool that keeps no state of its question needs no further
    round. Any other call asks, as does every approval (MCP-227)."""
    if not given or not isinstance(outcome, Pending) or not outcome.client_requests:
        return outcome
    answers = {key: given[key] for key in outcome.client_requests if key in given}
    if answers.keys() != outcome.client_requests.keys():
        return outcome
    if any(why_unusable(outcome.client_requests[key], answer) is not None for key, answer in answers.items()):
        return outcome
    # Only for a tool that left no state behind: its question follows from its arguments, so these answers are to it.
    rows = await exchange.server.app.store.rows_of(outcome.invocation_id)
    if not rows or rows[-1].segment().notes.get("waiting") != NO_STATE:
        return outcome
    return await _give_answers(exchange, method, outcome, answers) or outcome


def encode_input_required(exchange: Exchange, method: str, salient: bytes, pending: Pending) -> JsonObject:
    """Returns the answer that asks (MCP-217)."""
    requests = {key: _drop_session_members(request) for key, request in pending.client_requests.items()}
    state = make_state(exchange, method, salient, pending)
    return {"resultType": "input_required", "inputRequests": requests, "requestState": state}


async def ask_client(
    exchange: Exchange, method: str, salient: bytes, outcome: Result | Pending | JsonObject
) -> Result | Pending | JsonObject:
    """Asks the client what its call's tool wants to know: by an answer without sessions; in a session again and again,
    until the call has ended or waits for something else. Raises RpcError."""
    # Bounded: a tool that asks again and again must not hold its request for ever.
    for _ in range(_MOST_ROUNDS):
        if not isinstance(outcome, Pending) or not outcome.client_requests:
            return outcome
        missing = list_undeclared(outcome.client_requests, exchange.client)
        if missing:
            await exchange.surface.cancel(outcome.invocation_id, "its client cannot be asked for that")
            if exchange.is_modern:
                raise missing_capability_error(missing)
            return await _read_outcome(exchange, outcome)
        if exchange.is_modern:
            return encode_input_required(exchange, method, salient, outcome)
        outcome = await _ask_over_stream(exchange, outcome)
    return outcome


async def _ask_over_stream(exchange: Exchange, pending: Pending) -> Result | Pending:
    """Asks a session's client everything, and resumes with its answers. A client that refuses or misses the timeout
    ends the call (MCP-215)."""
    answers: JsonObject = {}
    try:
        for key, request in pending.client_requests.items():
            answer = await exchange.back.ask(request["method"], _params_for_session(request, exchange.revision))
            problem = why_unusable(request, answer)
            if problem is not None:
                raise RpcError(INVALID_PARAMS, f"the client's answer cannot be used: {problem}")
            answers[key] = answer
    except RpcError as error:
        await exchange.surface.cancel(pending.invocation_id, f"its client was asked and gave nothing: {error.message}")
        return await _read_outcome(exchange, pending)
    outcome = await exchange.surface.answer(pending.invocation_id, answers)
    return pending if outcome is None else outcome


async def _read_outcome(exchange: Exchange, pending: Pending) -> Result | Pending:
    return await exchange.surface.result(pending.invocation_id) or pending


def _drop_session_members(request: JsonObject) -> JsonObject:
    """Returns a request without members that only sessions have."""
    shown: JsonObject = {"method": request["method"]}
    params = request.get("params")
    if isinstance(params, dict):
        shown["params"] = {name: value for name, value in params.items() if name != "elicitationId"}
    elif request["method"] != "roots/list":
        shown["params"] = {}
    return shown


def _params_for_session(request: JsonObject, revision: str) -> JsonObject | None:
    """Returns the parameters as a session has them: questions by address have an id there (MCP-210)."""
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
        # Elicitation came with 2025-06-18.
        and exchange.revision != "2025-03-26"
    )


class ApprovalQuestion(msgspec.Struct, frozen=True):
    """The question that asks a person for an approval."""

    request: dict[str, Any]
    seen: bytes
    """Names exactly what is shown: an approval holds for nothing else."""


async def make_question(exchange: Exchange, pending: Pending) -> ApprovalQuestion | None:
    """Returns the question about a parked call; None when this person may not answer it."""
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
    return ApprovalQuestion({"method": METHOD, "params": params}, item.binding)


async def apply_decision(exchange: Exchange, pending: Pending, seen: bytes, answer: object) -> Result | Pending:
    """Applies a person's answer. Only `accept` with `approve: true` is a yes; `decline`, or `approve: false`, is a no."""
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


async def ask_person(exchange: Exchange, pending: Pending) -> Result | Pending:
    """Asks the user of a session's client."""
    asked = await make_question(exchange, pending)
    if asked is None:
        return pending
    params = asked.request["params"]
    if exchange.revision == "2025-06-18":
        params = {name: value for name, value in params.items() if name != "mode"}
    try:
        answer = await exchange.back.ask(METHOD, params)
    except RpcError:
        return pending
    return await apply_decision(exchange, pending, asked.seen, answer)


def _identity(exchange: Exchange) -> Identity:
    """Returns the caller as an approver: the policy named its channel for that."""
    identity = exchange.caller.identity
    return msgspec.structs.replace(identity, scopes=identity.scopes | {APPROVE}, tenant=exchange.caller.tenant)
