"""`POST /tools/call`: one governed call, in the order of OXP-24: the tool, what it requires, its input, then the call."""

from __future__ import annotations

import asyncio
import logging
import uuid
from collections.abc import Callable
from typing import Any

import msgspec

from ferrule.errors import FerruleError, SurfaceError
from ferrule.model.credentials import Handed
from ferrule.model.result import Pending, Result
from ferrule.runtime.pipeline.call import CallOptions
from ferrule.servers.asgi import Answer
from ferrule.servers.auth.callers import Caller
from ferrule.servers.edge import Edge
from ferrule.servers.oxp import outcomes
from ferrule.servers.oxp.complaints import parameter_errors
from ferrule.servers.oxp.door import is_principal, refused_credential
from ferrule.servers.oxp.ids import read_ref
from ferrule.servers.oxp.requirements import met
from ferrule.servers.oxp.shelf import Item, Shelf, Shelves
from ferrule.servers.oxp.values import Unfit, value_of
from ferrule.servers.oxp.wire import BadRequest, CallRequest, answer

_log = logging.getLogger("ferrule.oxp")


class Calling:
    """Makes the calls of one process."""

    def __init__(self, edge: Edge, shelves: Shelves) -> None:
        self._edge = edge
        self._app = edge.app
        self._shelves = shelves
        self._going: set[asyncio.Task[Any]] = set()
        edge.closing.append(self.aclose)

    async def aclose(self) -> None:
        """Wait for what is still under way; the app ends it when it stops."""
        if self._going:
            await asyncio.wait(self._going, timeout=self._edge.settings.shutdown_seconds)

    async def answer(
        self, caller: Caller, request: CallRequest, check_url: Callable[[str], str], *, is_bare: bool = False
    ) -> Answer:
        """The answer to one call. Raises BadRequest, and Refused (429)."""
        leave = await self._edge.turnstile.enter(caller)
        try:
            item, handed = await self._ready(caller, request, check_url)
            call_id = request.call_id or str(uuid.uuid4())
            going = asyncio.create_task(self._called(caller, item, request, call_id, handed))
        except BaseException:
            leave()
            raise
        going.add_done_callback(lambda task: leave())
        self._going.add(going)
        going.add_done_callback(self._going.discard)
        done, _ = await asyncio.wait({going}, timeout=self._edge.settings.limits.request_seconds)
        if not done:  # it goes on; the same call_id finds it
            return self._wrapped(outcomes.pending(call_id, "the call takes long and goes on", is_running=True), is_bare)
        return await self._told(item, request, call_id, going.result(), is_bare=is_bare)

    async def _ready(
        self, caller: Caller, request: CallRequest, check_url: Callable[[str], str]
    ) -> tuple[Item, Handed]:
        """The tool that is meant, and what the call brings for it. Raises BadRequest."""
        behalf = self._behalf(caller, request.context.user_id)
        shelf = await self.shelf(behalf)
        ref = read_ref(request.tool_id)
        if ref is None:
            raise BadRequest("`tool_id` is no Toolkit.Tool, with @x.y.z or @x behind it or without")
        item = shelf.find(ref)
        if item is None:
            await self._unknown(shelf, request)
            raise BadRequest(f"there is no tool {request.tool_id}")
        return item, await met(self._app, item.entry.tool, behalf, request.context, check_url)

    def _behalf(self, caller: Caller, user_id: str) -> Caller:
        """On whose behalf a call is made: the user it names, of the credential's own tenant. Raises BadRequest."""
        if not user_id or user_id == caller.identity.principal:
            return caller
        if not is_principal(user_id):
            raise BadRequest("`context.user_id` is no name for a user")
        if self._edge.settings.oxp.users == "own":
            who = caller.identity.principal
            why = f'{who} on behalf of {user_id!r}, which [serve.oxp] users = "own" does not allow'
            self._edge.refusals.tell(why, "oxp users")
            raise BadRequest("this credential may not call on behalf of that user")
        identity, holder = caller.identity, caller.identity.principal
        identity = msgspec.structs.replace(identity, principal=user_id, groups=frozenset())
        return msgspec.structs.replace(caller, identity=identity, is_operator=False, holder=holder)

    async def shelf(self, caller: Caller) -> Shelf:
        """The tools that a caller has. Raises Refused (401) for a credential whose agent, role or surface the catalog does not
        have, and BadRequest when nobody can tell now."""
        try:
            return await self._shelves.of(caller)
        except SurfaceError as error:
            _log.warning(
                "%s came by %s and has no surface: %s", caller.identity.principal, caller.identity.channel, error
            )
            raise refused_credential("there are no tools for this credential; ask whoever gave it to you") from None
        except FerruleError as error:
            _log.warning("a surface for %s cannot be made: %s", caller.identity.principal, error)
            raise BadRequest("the server is temporarily unavailable; try again later") from None

    async def _unknown(self, shelf: Shelf, request: CallRequest) -> None:
        """Put it on record. Names of tools have no `@`, so that nothing is found whatever changes meanwhile."""
        plain, _, version = request.tool_id.partition("@")
        await shelf.base.call(f"{plain}@{version or 'latest'}", bytes(request.input))

    async def _called(
        self, caller: Caller, item: Item, request: CallRequest, call_id: str, handed: Handed
    ) -> Result | Pending:
        options = CallOptions(
            idempotency_key=f"oxp {caller.identity.principal} {call_id}",
            native_call_id=call_id,
            trace_id=request.trace_id or None,
            handed=handed,
            is_exact=True,
        )
        outcome = await item.handle.call(item.name, bytes(request.input), options=options)
        if handed and isinstance(outcome, Pending):  # it may only wait for these
            outcome = await self._app.calls.resume(outcome.invocation_id, handed) or outcome
        _log.info("call %r of %s: %s, %s, trace %r", call_id, item.entry.tool.tool_id, outcome.invocation_id,
                  outcome.status, request.trace_id)  # fmt: skip
        return outcome

    async def _told(
        self, item: Item, request: CallRequest, call_id: str, outcome: Result | Pending, *, is_bare: bool
    ) -> Answer:
        tool = item.entry.tool
        if isinstance(outcome, Pending):
            return self._wrapped(outcomes.told_pending(call_id, outcome), is_bare)
        if outcome.error is None:
            is_checked = self._app.services.results.mismatch == "fail"
            try:
                value = await value_of(item.handle, tool, outcome, is_checked=is_checked)
            except Unfit as problem:
                return self._wrapped(outcomes.unfit(call_id, outcome, str(problem)), is_bare)
            return self._wrapped(outcomes.succeeded(call_id, outcome, value), is_bare)
        refusal = outcomes.refused(outcome)
        if refusal is not None:
            raise refusal
        if await outcomes.is_about_input(outcome, self._app.store):
            return outcomes.invalid_input(outcome.error.message, parameter_errors(tool, bytes(request.input)))
        return self._wrapped(outcomes.failed(call_id, tool, outcome), is_bare)

    def _wrapped(self, response: dict[str, Any], is_bare: bool) -> Answer:
        """In its envelope; a later draft's client finds the members beside it, too (OXP-49)."""
        return answer(200, {"result": response, **(response if is_bare else {})})
