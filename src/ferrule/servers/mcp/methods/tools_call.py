"""`tools/call`: one governed call, and the result its client gets.

Every call takes the same way. What ends without waiting is encoded and answered; what has to wait (for the tool, a turn, the
client, a person) goes on in one coroutine, which ends with the same encoding.
"""

from __future__ import annotations

from collections.abc import Awaitable
from contextlib import nullcontext
from typing import Any

import msgspec

from ferrule.app.surface import CallUnderWay
from ferrule.infra.tasks import begin_elsewhere, resolve
from ferrule.model.result import Pending, Result
from ferrule.model.tool import TaskUse
from ferrule.runtime.pipeline.call import RunOptions
from ferrule.runtime.pipeline.prepared import Prepared
from ferrule.schema.mirrored_headers import MirroredParameter, find_mirrored
from ferrule.servers.edge import Leave
from ferrule.servers.mcp.methods import client_input
from ferrule.servers.mcp.methods.deferred import CallTarget, MisdirectedCall, resolve_target, unknown_target_error
from ferrule.servers.mcp.methods.progress import ProgressSender
from ferrule.servers.mcp.methods.request_state import digest_request
from ferrule.servers.mcp.methods.result_lookup import LOOKUP, how_to_look_up, look_up
from ferrule.servers.mcp.server import Exchange, RpcResult
from ferrule.servers.mcp.tasks.tasks import decide_task_use, knows_tasks, make_task_handle, wait_or_make_task
from ferrule.servers.mcp.transports.time_limits import get_time_limits
from ferrule.servers.mcp.wire.headers import check_parameter_headers
from ferrule.servers.mcp.wire.messages import INVALID_PARAMS, RpcError
from ferrule.servers.mcp.wire.params import CallParams, params_of
from ferrule.servers.mcp.wire.results import (
    Shape,
    encode_call_result,
    refuse_protocol_errors,
    shape_of,
    text_result,
    unknown_tool_error,
    waiting_result,
)

METHOD = "tools/call"
_CALLEES = "mcp callees"
"""The tools that were called on a surface, in the `views` of its session, by the names that clients know them under."""


class Callee(msgspec.Struct, frozen=True):
    """One tool, as calls of a surface's caller reach it."""

    name: str
    """As the surface knows it."""
    prepared: Prepared
    shape: Shape
    mirrored: tuple[MirroredParameter, ...]
    """Parameters that clients repeat as headers."""
    takes_options: bool
    """True when it looks at more than its arguments, or gives its results as tasks of the protocol only."""
    may_be_task: bool
    """True when a call of it may become a task for a client that knows them."""
    through: str = ""
    """The name that `call_tool` was given for it; empty where it is called itself."""


class ToolCall(msgspec.Struct, eq=False):
    """One call of a client: who makes it, and of which tool."""

    exchange: Exchange
    asked: CallParams
    callee: Callee
    arguments: bytes
    is_current: bool = False
    """True while nothing was waited for since its surface was looked at."""


Outcome = Result | Pending | dict[str, Any]
"""What a call comes to: its end, what it waits for, or the result that its client gets instead."""


def call_tool(exchange: Exchange, params: bytes) -> RpcResult | Awaitable[RpcResult]:
    """Answers `tools/call` (MCP-140); returns something to await when the call has to wait for anything."""
    asked: CallParams | None = exchange.params
    if asked is None or type(asked.name) is not str:
        asked = params_of(params, CallParams)
    arguments = bytes(asked.arguments)
    if arguments[:1] != b"{":
        arguments = _take_no_object(arguments)
    known: dict[str, Callee] | None = exchange.surface.session.views.get(_CALLEES)
    callee = known.get(asked.name) if known is not None else None
    if callee is None:
        return _find_and_call(exchange, asked, arguments)
    return _enter(ToolCall(exchange, asked, callee, arguments, is_current=True))


async def _find_and_call(exchange: Exchange, asked: CallParams, arguments: bytes) -> RpcResult:
    """Finds the tool that a client means, and calls it. Raises RpcError for what it may not know of (hidden is unknown)."""
    if not asked.name:
        raise RpcError(INVALID_PARAMS, "params.name has to say which tool is called")
    # A tool of the workspace that has this name comes first.
    if asked.name == LOOKUP and exchange.surface.surface.find(LOOKUP) is None:
        return await look_up(exchange, arguments)
    await exchange.surface.refresh()
    try:
        target = await resolve_target(exchange, asked.name, arguments)
    except MisdirectedCall as why:
        return text_result(exchange, str(why), is_error=True)
    if target is None:
        raise unknown_tool_error(asked.name)
    session = exchange.surface.session
    callee = _describe_callee(target, session.find(target.name))
    # Any other is found anew each time: a search that another process answered may have loaded it meanwhile.
    if not target.through and callee.prepared.is_loaded and callee.prepared.refusal is None:
        session.views.setdefault(_CALLEES, {})[asked.name] = callee
    return await resolve(_enter(ToolCall(exchange, asked, callee, target.arguments)))


def _describe_callee(target: CallTarget, prepared: Prepared) -> Callee:
    entry = prepared.require_entry()
    try:
        headers = find_mirrored(msgspec.json.decode(entry.tool.input_schema))
    except ValueError:  # a client does not follow annotations that break the rules
        headers = ()
    use = prepared.traits.task
    takes_options = prepared.route.wants_context or use == "required"
    return Callee(target.name, prepared, shape_of(prepared), headers, takes_options, use != "never", target.through)


def _enter(call: ToolCall) -> RpcResult | Awaitable[RpcResult]:
    """Makes a call when its turn comes. Raises RpcError for headers that say something else."""
    exchange, callee = call.exchange, call.callee
    if callee.mirrored and exchange.headers is not None:
        check_parameter_headers(exchange.headers, callee.mirrored, _decode_arguments(call.arguments))
    turn = exchange.server.edge.turnstile.enter(exchange.caller)
    return _start(call, turn) if callable(turn) else _wait_for_turn(call, turn)


async def _wait_for_turn(call: ToolCall, turn: Awaitable[Leave]) -> RpcResult:
    leave = await turn
    call.is_current = False
    return await resolve(_start(call, leave))


def _start(call: ToolCall, leave: Leave) -> RpcResult | Awaitable[RpcResult]:
    """Starts a call, or goes on with the one that a retry belongs to. `leave` is called when it is over."""
    exchange, asked, callee = call.exchange, call.asked, call.callee
    meta, teller = exchange.meta, None
    given: dict[str, Any] = {}
    use: TaskUse = "never"
    try:
        if (asked.request_state is not None or asked.input_responses is not msgspec.UNSET) and exchange.is_modern:
            if asked.request_state is not None:
                return _retry(call, leave)
            given = asked.responses()  # without a state it is a first call (MCP-227)
        if meta.progress_token is not None or exchange.log_level is not None:
            teller = ProgressSender(exchange)
        started: Result | CallUnderWay
        if (
            callee.takes_options
            or (callee.may_be_task and exchange.client)
            or teller is not None
            or meta.idempotency_key is not None
            or meta.traceparent is not None
        ):
            use = decide_task_use(exchange, callee.prepared.traits.task)
            started = _start_with_options(call, use, teller)
        else:
            started = exchange.surface.start(callee.name, call.arguments, is_current=call.is_current)
        # Of a tool that requires tasks even a call that has ended already gives a handle.
        if isinstance(started, Result) and teller is None and use != "required":
            result = encode_result(call, started)
            leave()
            return result
    except BaseException:
        leave()
        raise
    return _finish(call, started, teller, given, use, leave)


def _start_with_options(call: ToolCall, use: TaskUse, teller: ProgressSender | None) -> Result | CallUnderWay:
    """Starts a call that says more than its arguments. One that may become a task is awaited in a task of its own."""
    exchange, callee, meta = call.exchange, call.callee, call.exchange.meta
    start, hear = exchange.surface.start, None if teller is None else teller.hear
    is_task, wants_context = use != "never", callee.prepared.route.wants_context
    if is_task or wants_context or meta.idempotency_key is not None or meta.traceparent is not None:
        # Of what may become a task its client's features are on record while it only waits for its turn.
        options = RunOptions(idempotency_key=meta.idempotency_key, client=exchange.client, trace_id=exchange.trace_id)
        with begin_elsewhere() if is_task else nullcontext():
            return start(callee.name, call.arguments, options, listener=hear)
    return start(callee.name, call.arguments, listener=hear, is_current=call.is_current)


async def _finish(
    call: ToolCall,
    started: Result | CallUnderWay,
    teller: ProgressSender | None,
    given: dict[str, Any],
    use: TaskUse,
    leave: Leave,
) -> RpcResult:
    """Waits for a call, within the time that a request may take, and for everything that follows from it."""
    exchange = call.exchange
    limits, call_id = get_time_limits(exchange.server), started.invocation_id
    limits.add(call_id)
    try:
        outcome: Outcome
        if use != "never":
            outcome = await wait_or_make_task(exchange, call_id, _follow(started, teller), use)
        else:
            outcome = await _follow(started, teller)
        if given:
            outcome = await client_input.apply_early_answers(exchange, METHOD, given, outcome)
        return await encode_outcome(call, outcome)
    finally:
        limits.remove(call_id)
        leave()


async def _follow(started: Result | CallUnderWay, teller: ProgressSender | None) -> Result | Pending:
    """Waits for a call, telling its client meanwhile what it says."""
    if teller is None:
        return started if isinstance(started, Result) else await started
    teller.begin()
    try:
        outcome = started if isinstance(started, Result) else await started
        await teller.finish()
        return outcome
    finally:
        teller.close()


async def _retry(call: ToolCall, leave: Leave) -> RpcResult:
    """Goes on with a call whose client was asked something. Raises RpcError."""
    try:
        return await encode_outcome(call, await _take_answers(call))
    finally:
        leave()


async def _take_answers(call: ToolCall) -> Outcome:
    exchange, asked = call.exchange, call.asked
    about = digest_request(asked.name, call.arguments)
    state = client_input.open_state(exchange, METHOD, about, asked.request_state)
    if state.purpose == "input":
        return await client_input.resume_call(exchange, METHOD, about, asked, state)
    pending = await client_input.find_round(exchange, state)
    given = asked.responses().get(client_input.KEY)
    if given is None:
        return pending  # asked once more
    if not isinstance(given, dict):
        raise RpcError(INVALID_PARAMS, f"params.inputResponses.{client_input.KEY} is an object")
    outcome = await client_input.apply_decision(exchange, pending, state.seen, given)
    # Without channels, so that the client is not asked again at once what it has just left open.
    return msgspec.structs.replace(outcome, channels=()) if isinstance(outcome, Pending) else outcome


def encode_result(call: ToolCall, result: Result) -> bytes:
    """Encodes the end of a call. Raises RpcError for the few that are errors of the protocol (MCP-150)."""
    exchange = call.exchange
    if result.error is not None:
        if not _is_known(exchange, call.callee):
            if call.callee.through:
                return text_result(exchange, str(unknown_target_error(call.callee.through)), is_error=True)
            raise unknown_tool_error(call.asked.name)
        refuse_protocol_errors(exchange, result, call.asked.name)
    return encode_call_result(exchange.server, exchange.revision, result, call.callee.shape)


async def encode_outcome(call: ToolCall, outcome: Outcome) -> RpcResult:
    """Encodes what a call came to. One that asks its client, or waits for a person, gets as far as it can first. Raises
    RpcError."""
    if isinstance(outcome, Result):
        return encode_result(call, outcome)
    exchange = call.exchange
    about = digest_request(call.asked.name, call.arguments)
    outcome = await client_input.ask_client(exchange, METHOD, about, outcome)
    if isinstance(outcome, Pending):
        outcome = await _wait_for_person(exchange, about, outcome)
    if isinstance(outcome, Result):
        return encode_result(call, outcome)
    if isinstance(outcome, Pending):
        return waiting_result(exchange, outcome, how_to_look_up(exchange, outcome))
    return outcome


def _is_known(exchange: Exchange, callee: Callee) -> bool:
    """True while the caller may know of a tool: it may have been hidden since it was last looked at."""
    entry = exchange.surface.surface.find(callee.name)
    return entry is not None and entry.is_visible


async def _wait_for_person(exchange: Exchange, about: bytes, pending: Pending) -> Outcome:
    """Gets a person's answer to a call that waits for it: through the client where the policy allows that, as a task, or from
    elsewhere, for as long as somebody waits here."""
    if client_input.may_be_asked(exchange, pending):
        if not exchange.is_modern:
            outcome = await client_input.ask_person(exchange, pending)
            if isinstance(outcome, Result):
                return outcome
        elif (question := await client_input.make_question(exchange, pending)) is not None:
            state = client_input.make_state(exchange, METHOD, about, pending, question.seen)
            requests = {client_input.KEY: question.request}
            return {"resultType": "input_required", "inputRequests": requests, "requestState": state}
    if knows_tasks(exchange):
        return make_task_handle(exchange, pending.invocation_id)
    wait = exchange.server.settings.wait_seconds
    if pending.state == "running" or not wait:
        return pending  # it said itself that nobody has to wait for it
    return await exchange.surface.result(pending.invocation_id, wait) or pending


def _take_no_object(arguments: bytes) -> bytes:
    """Takes `null` for no arguments at all. Raises RpcError for anything else that is no object: this is about how the request
    is written, not about what the model filled in (MCP-140, MCP-150)."""
    if arguments != b"null":
        raise RpcError(INVALID_PARAMS, "params.arguments is an object")
    return b"{}"


def _decode_arguments(arguments: bytes) -> Any:
    try:
        return msgspec.json.decode(arguments)
    except (msgspec.MsgspecError, UnicodeDecodeError, RecursionError):
        return None  # whoever reads the arguments says what is wrong with them
