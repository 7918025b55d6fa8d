"""`POST /tools/call`: one governed call, in the order of OXP-24: the tool, what it requires, its input, then the call.

An input that does not fit is explained by parameter (`parameter_errors`). The value of a result is JSON that fits the
tool's output schema, whole, or an error (OXP-32). `outcomes` decides between failures of the server and of the tool.
"""

from __future__ import annotations

import asyncio
import logging
import uuid
from collections.abc import Callable
from typing import Any

import msgspec

from ferrule.app.surface import SurfaceHandle
from ferrule.contracts.payloads import PayloadGone
from ferrule.errors import FerruleError, SurfaceError
from ferrule.infra.tasks import resolve
from ferrule.model.credentials import CallSecrets
from ferrule.model.result import Pending, Result
from ferrule.model.tool import Tool
from ferrule.runtime.pipeline.arguments.complaints import Complaints
from ferrule.runtime.pipeline.call import CallOptions
from ferrule.runtime.redaction.sensitive_input import Mask
from ferrule.schema.internal_fields import internal_fields, model_schema
from ferrule.schema.schema_view import SchemaView
from ferrule.schema.validation.validators import compile_schema
from ferrule.servers.asgi import Answer
from ferrule.servers.auth.callers import Caller
from ferrule.servers.edge import Edge
from ferrule.servers.oxp import outcomes
from ferrule.servers.oxp.credentials import is_principal, refused_credential
from ferrule.servers.oxp.definitions import has_no_output, read_ref
from ferrule.servers.oxp.requirements import met
from ferrule.servers.oxp.shelf import Item, Shelf, Shelves
from ferrule.servers.oxp.wire import BadRequest, CallRequest, answer

_LONGEST = 65_536
_MOST = 20


def parameter_errors(tool: Tool, written: bytes) -> dict[str, str]:
    """A message for each parameter that does not fit; empty where that cannot be told apart."""
    if len(written) > _LONGEST:
        return {}
    try:
        arguments = msgspec.json.decode(written)
        internal = internal_fields(tool)
        schema = model_schema(tool, internal)
        errors = list(compile_schema(bytes(schema)).iter_errors(arguments))
        complaints = Complaints(tool.name, SchemaView(msgspec.json.decode(schema)), Mask.of(tool), internal)
    except Exception:  # it only explains: a schema or an input that nobody can read is told of already
        return {}
    found: dict[str, dict[str, None]] = {}
    for error in errors[:_MOST]:
        told = complaints.each([error], _MOST)
        for name in _parameters(error):
            own = [one.text for one in told if one.path[:1] == (name,)] or [one.text for one in told]
            found.setdefault(name, {}).update(dict.fromkeys(own or ["it does not fit"]))
    return {name: "\n".join(texts) for name, texts in found.items()}


def _parameters(error: Any) -> list[str]:
    """The parameters an error is about."""
    path = tuple(error.instance_path)
    if path:
        return [str(path[0])]
    facts = error.kind.as_dict()
    match error.kind.name:
        case "required" | "dependentRequired":
            return [str(facts["property"])]
        case "additionalProperties" | "unevaluatedProperties":
            return [str(name) for name in facts["unexpected"]]
        case _:
            return []


_LARGEST = 16 * 1024**2
_MISSING = object()


class Unfit(Exception):
    """A result that cannot be given as a value; the message is for the caller."""


async def value_of(handle: SurfaceHandle, tool: Tool, result: Result, *, is_checked: bool) -> Any:
    """What a tool returned; None for nothing. `is_checked`: what does not fit has failed already. Raises Unfit."""
    if has_no_output(tool):
        return None
    value, is_native = await _given(handle, result)
    if tool.output_schema is not None and not (is_native and is_checked):
        schema = bytes(tool.output_schema)
        if schema != b"null" and not compile_schema(schema).is_valid(value):
            raise Unfit(
                "the tool did its work, but what it gave does not fit its output schema, so it is not passed on"
            )
    return value


async def _given(handle: SurfaceHandle, result: Result) -> tuple[Any, bool]:
    """The value, and whether it is the tool's own, which the pipeline has looked at already."""
    if result.structured_content is not None:
        return result.structured_content, True
    shown = result.content if result.model_facing_content is None else result.model_facing_content
    blocks = [block for block in shown if block not in result.additional_context]
    stored = await _stored(handle, blocks)
    if stored is not _MISSING:
        return stored, False
    if len(blocks) == 1 and blocks[0].get("empty") is True:
        return None, True
    if all(block.get("type") == "text" for block in blocks):
        return "\n".join(str(block.get("text", "")) for block in blocks), False
    return list(blocks), False


async def _stored(handle: SurfaceHandle, blocks: list[dict[str, Any]]) -> Any:
    """The whole of a result that was too large to be told: OXP has no references that could be followed later."""
    ref = next((block for block in reversed(blocks) if isinstance(block.get("uri"), str)), None)
    if ref is None or ref.get("type") != "persisted_output_ref":
        return _MISSING
    try:
        data = await handle.payload(ref["uri"], limit=_LARGEST + 1)
    except PayloadGone:
        return _MISSING
    if len(data) > _LARGEST:
        raise Unfit(f"the tool did its work, but its output has more than {_LARGEST:,} bytes; ask for less of it")
    media_type = str(ref.get("media_type", ""))
    try:
        return msgspec.json.decode(data) if "json" in media_type else data.decode()
    except (msgspec.DecodeError, UnicodeDecodeError, RecursionError):
        return _MISSING


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
        leave = await resolve(self._edge.turnstile.enter(caller))
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
    ) -> tuple[Item, CallSecrets]:
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
            self._edge.refusals.report(why, "oxp users")
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
        self, caller: Caller, item: Item, request: CallRequest, call_id: str, handed: CallSecrets
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
