"""`tools/call`: one governed call, and what its client is told.

A call that is over at once takes the short way: the arguments go to the surface as they came, the result comes back as bytes.
What says something while it runs, asks its client, waits for a person or becomes a task takes the other.
"""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Coroutine
from typing import Any, NamedTuple

import msgspec

from ferrule.app.batches import BatchRun
from ferrule.app.surface import CallUnderWay, SurfaceHandle
from ferrule.model.result import Pending, Result
from ferrule.runtime.functions.runs import InlineRun
from ferrule.runtime.pipeline.call import CallOptions
from ferrule.runtime.pipeline.session import Prepared
from ferrule.schema.mirrored_headers import Mirrored, mirrored
from ferrule.servers.auth.callers import Caller
from ferrule.servers.mcp.methods import client_input
from ferrule.servers.mcp.methods.deferred import Misdirected, Target, misdirected, target_of
from ferrule.servers.mcp.methods.progress import Teller
from ferrule.servers.mcp.methods.request_state import salient
from ferrule.servers.mcp.methods.result_lookup import LOOKUP, how_to_look_up, look_up
from ferrule.servers.mcp.server import Exchange, McpServer, failure, params_of
from ferrule.servers.mcp.tasks.tasks import handle, knows_tasks, use_of, waited
from ferrule.servers.mcp.transports.time_limits import limits_of
from ferrule.servers.mcp.wire.headers import agree_on_parameters
from ferrule.servers.mcp.wire.messages import INVALID_PARAMS, RequestId, RpcError, result_text
from ferrule.servers.mcp.wire.results import (
    Shape,
    call_result,
    refuse_protocol_errors,
    shape_of,
    text_result,
    unknown,
    waiting_result,
)

METHOD = "tools/call"
CALLS = "mcp calls"
"""What a surface's session keeps of the tools that were called on it."""
NO_ARGUMENTS = msgspec.Raw(b"{}")


class CallParams(client_input.Retry, gc=False):
    """Parameters of `tools/call`; others are ignored (MCP-25, MCP-140)."""

    name: str = ""
    arguments: msgspec.Raw = NO_ARGUMENTS


_decode = msgspec.json.Decoder(CallParams).decode


class Callee(msgspec.Struct, frozen=True):
    """One tool, as calls of a surface's caller reach it."""

    name: str
    """As the surface knows it."""
    prepared: Prepared
    shape: Shape
    mirrored: tuple[Mirrored, ...]
    """Parameters that clients repeat as headers."""
    asks: bool
    """True when its tool may look at what the client can be asked for."""
    is_quick: bool
    """True when it never waits for anything: it need not become a task."""
    is_plain: bool
    """True when it is quick, and its calls are told by their name and arguments alone."""
    through: str = ""
    """The name that `call_tool` was given for it; empty where it is called itself."""


async def call_tool(server: McpServer, exchange: Exchange, params: bytes) -> bytes | dict[str, Any]:
    """`tools/call` (MCP-140)."""
    try:
        asked = _decode(params)
    except (msgspec.MsgspecError, UnicodeDecodeError, RecursionError):
        asked = params_of(params, CallParams)  # says what is wrong
    return await called(server, exchange, asked)


async def called(server: McpServer, exchange: Exchange, asked: CallParams) -> bytes | dict[str, Any]:
    """One call."""
    arguments = bytes(asked.arguments)
    if arguments[:1] != b"{":
        arguments = _no_object(arguments)
    calls = exchange.surface.session.views.get(CALLS)
    callee = calls.get(asked.name) if calls is not None else None
    if callee is None:
        if not asked.name:
            raise RpcError(INVALID_PARAMS, "params.name has to say which tool is called")
        if asked.name == LOOKUP and exchange.surface.surface.find(LOOKUP) is None:
            return await look_up(server, exchange, arguments)
        await exchange.surface.refresh()
        try:
            found = await _found(server, exchange, asked.name, arguments)
        except Misdirected as why:
            return text_result(server, exchange, str(why), is_error=True)
        if found is None:
            raise unknown(asked.name)
        callee, arguments = found
    if callee.mirrored and exchange.headers is not None:
        agree_on_parameters(exchange.headers, callee.mirrored, _decoded(arguments))
    leave = await server.edge.turnstile.enter(exchange.caller)
    limits = None if callee.is_quick else limits_of(server)
    number = 0 if limits is None else limits.add(arguments)
    try:
        if (
            exchange.progress_token is None
            and exchange.log_level is None
            and asked.request_state is None
            and asked.input_responses is msgspec.UNSET
            and exchange.idempotency_key is None
            and (callee.is_quick or not (knows_tasks(exchange) or callee.prepared.traits.task == "required"))
        ):
            if callee.asks or exchange.traceparent is not None:
                options = CallOptions(client=exchange.client, trace_id=exchange.trace_id)
                outcome: Any = await exchange.surface.call(callee.name, arguments, options=options)
            else:
                outcome = await exchange.surface.call(callee.name, arguments)
            if type(outcome) is Result and outcome.error is None:
                return call_result(server, exchange.revision, outcome, callee.shape)
        else:
            outcome = await _carried(server, exchange, asked, callee, arguments)
        return await _told(server, exchange, asked, callee, arguments, outcome)
    finally:
        if limits is not None:
            limits.remove(number)
        leave()


class Begun(NamedTuple):
    """A call that was begun without waiting for anything, and has more to it than a result."""

    callee: Callee
    arguments: bytes
    outcome: Result | CallUnderWay
    leave: Callable[[], None]
    """Has to be called when it is over."""


def answered_at_once(
    server: McpServer, caller: Caller, surface: SurfaceHandle, revision: str, request_id: RequestId, asked: CallParams
) -> bytes | Begun | None:
    """The whole response to a plain call that says nothing beside its name and arguments, of a tool that never waits. What has
    more to it is begun, and goes on with `finished`, as does one that nothing was done about: None."""
    calls = surface.session.views.get(CALLS)
    callee = calls.get(asked.name) if calls is not None else None
    if callee is None or not callee.is_plain:
        return None
    arguments = bytes(asked.arguments)
    if arguments[:1] != b"{" or asked.request_state is not None or asked.input_responses is not msgspec.UNSET:
        return None
    leave = server.edge.turnstile.enter_now(caller)
    if leave is None:
        return None
    is_over = True
    try:
        outcome = surface.start(callee.name, arguments)
        if type(outcome) is Result and outcome.error is None:
            return result_text(request_id, call_result(server, revision, outcome, callee.shape))
        is_over = False
    except Exception as error:
        return failure(request_id, METHOD, error).text
    finally:
        if is_over:
            leave()
    return Begun(callee, arguments, outcome, leave)


async def finished(
    server: McpServer, exchange: Exchange, asked: CallParams, begun: Begun | None
) -> bytes | dict[str, Any]:
    """One call, or the rest of one that was begun at once."""
    if begun is None:
        return await called(server, exchange, asked)
    try:
        callee, outcome = begun.callee, begun.outcome
        ended = outcome if isinstance(outcome, Result) else await outcome
        if isinstance(ended, Result) and ended.error is None:
            return call_result(server, exchange.revision, ended, callee.shape)
        return await _told(server, exchange, asked, callee, begun.arguments, ended)
    finally:
        begun.leave()


async def _found(server: McpServer, exchange: Exchange, name: str, arguments: bytes) -> tuple[Callee, bytes] | None:
    """The tool that a client means, and its arguments; None for what it may not know of (hidden is unknown)."""
    target = await target_of(server, exchange, name, arguments)
    if target is None:
        return None
    session = exchange.surface.session
    prepared = session.find(target.name)
    callee = _callee(target, prepared)
    if not target.through and prepared.is_loaded and prepared.refusal is None:
        session.views.setdefault(CALLS, {})[name] = callee
    return callee, target.arguments


def _callee(target: Target, prepared: Prepared) -> Callee:
    entry = prepared.entry
    assert entry is not None
    try:
        headers = mirrored(msgspec.json.decode(entry.tool.input_schema))
    except ValueError:  # a client does not follow annotations that break the rules
        headers = ()
    is_quick = isinstance(prepared.run, InlineRun) and prepared.traits.task != "required"
    asks = prepared.wants_context
    is_plain = is_quick and not asks and not headers
    return Callee(target.name, prepared, shape_of(prepared), headers, asks, is_quick, is_plain, through=target.through)


async def _carried(
    server: McpServer, exchange: Exchange, asked: CallParams, callee: Callee, arguments: bytes
) -> Result | Pending | dict[str, Any]:
    """Carry a call as far as it goes, telling its client meanwhile. A retry goes on with the call it belongs to."""
    if asked.request_state is not None and exchange.is_modern:
        return await _retried(server, exchange, asked, arguments)
    given = asked.responses() if exchange.is_modern else {}  # without a state it is a first call (MCP-227)
    use = use_of(exchange, callee.name)
    run = await exchange.surface.begin(
        callee.name,
        arguments,
        client=exchange.client,
        idempotency_key=exchange.idempotency_key,
        trace_id=exchange.trace_id,
    )
    outcome: Result | Pending | dict[str, Any]
    if knows_tasks(exchange) and use != "never":
        outcome = await waited(server, exchange, run.invocation_ids[0], _followed(exchange, run), use)
    else:
        outcome = await _followed(exchange, run)
    return await client_input.foreseen(server, exchange, METHOD, given, outcome)


async def _retried(
    server: McpServer, exchange: Exchange, asked: CallParams, arguments: bytes
) -> Result | Pending | dict[str, Any]:
    """Go on with a call whose client was asked something. Raises RpcError."""
    about = salient(asked.name, arguments)
    state = client_input.state_of(server, exchange, METHOD, about, asked.request_state)
    if state.purpose == "input":
        return await client_input.gone_on(server, exchange, METHOD, about, asked, state)
    pending = await client_input.round_of(exchange, state)
    given = asked.responses().get(client_input.KEY)
    if given is None:
        return pending  # asked once more
    if not isinstance(given, dict):
        raise RpcError(INVALID_PARAMS, f"params.inputResponses.{client_input.KEY} is an object")
    outcome = await client_input.answered(server, exchange, pending, state.seen, given)
    return msgspec.structs.replace(outcome, channels=()) if isinstance(outcome, Pending) else outcome


async def _followed(exchange: Exchange, run: BatchRun) -> Result | Pending:
    """Tell the client what a call says, until it ends or waits."""
    teller = Teller(exchange)
    updates = run.updates()
    try:
        async for update in updates:
            if update.progress is not None:
                await teller.say(update.progress)
            elif update.result is not None:
                await teller.finish()
                return update.result
    finally:
        teller.close()
        await _closed(updates)
    raise AssertionError("a call ended without an outcome")


async def _closed(updates: Any) -> None:
    close: Coroutine[Any, Any, None] = updates.aclose()
    await close


async def _told(
    server: McpServer, exchange: Exchange, asked: CallParams, callee: Callee, arguments: bytes, outcome: Any
) -> bytes | dict[str, Any]:
    """What the client is told of an outcome. Raises RpcError for the few that are errors of the protocol (MCP-150)."""
    about = b"" if isinstance(outcome, Result) else salient(asked.name, arguments)
    outcome = await client_input.asked(server, exchange, METHOD, about, outcome)
    if isinstance(outcome, Pending):
        outcome = await _settled(server, exchange, about, outcome)
    if isinstance(outcome, dict):
        return outcome
    if isinstance(outcome, Pending):
        return waiting_result(server, exchange, outcome, how_to_look_up(exchange, outcome))
    if outcome.error is not None and not _is_known(exchange, callee):
        if callee.through:
            return text_result(server, exchange, str(misdirected(callee.through)), is_error=True)
        raise unknown(asked.name)
    refuse_protocol_errors(exchange, outcome, asked.name)
    return call_result(server, exchange.revision, outcome, callee.shape)


def _is_known(exchange: Exchange, callee: Callee) -> bool:
    """True while the caller may know of a tool: it may have been hidden since it was last looked at."""
    entry = exchange.surface.surface.find(callee.name)
    return entry is not None and entry.is_visible


async def _settled(
    server: McpServer, exchange: Exchange, about: bytes, pending: Pending
) -> Result | Pending | dict[str, Any]:
    """What comes of a call that waits for a person: their answer through the client where the policy allows that, a task, or
    their answer from elsewhere, for as long as somebody waits here."""
    if client_input.may_be_asked(exchange, pending):
        if not exchange.is_modern:
            outcome = await client_input.over_stream(server, exchange, pending)
            if isinstance(outcome, Result):
                return outcome
        elif (question := await client_input.question(server, exchange, pending)) is not None:
            state = client_input.state_for(server, exchange, METHOD, about, pending, question.seen)
            requests = {client_input.KEY: question.request}
            return {"resultType": "input_required", "inputRequests": requests, "requestState": state}
    if knows_tasks(exchange):
        return handle(server, exchange, pending.invocation_id)
    wait = server.settings.wait_seconds
    if pending.state == "running" or not wait:
        return pending  # it said itself that nobody has to wait for it
    return await exchange.surface.result(pending.invocation_id, wait) or pending


def _no_object(arguments: bytes) -> bytes:
    """What arguments mean that are no object: none at all. Raises RpcError for anything else: this is about how the request is
    written, not about what the model filled in (MCP-140, MCP-150)."""
    if arguments != b"null":
        raise RpcError(INVALID_PARAMS, "params.arguments is an object")
    return b"{}"


def _decoded(arguments: bytes) -> Any:
    try:
        return msgspec.json.decode(arguments)
    except (msgspec.MsgspecError, UnicodeDecodeError, RecursionError):
        return None  # whoever reads the arguments says what is wrong with them


_TOO_LONG = "it takes longer than a request may"


def let_go(server: McpServer, task: asyncio.Task[Any]) -> None:
    """Have the calls of a task go on without it, whatever they are made for: resources and prompts take their time, too."""
    for live in list(server.app.services.live.calls.values()):
        if live.task is task:
            live.background("", _TOO_LONG)
