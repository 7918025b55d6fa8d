"""`POST /tools/call`: one governed call, in the order of OXP-24: the tool, its requirements, its input, then the call.

Invalid input is explained by parameter (`parameter_errors`). The value of a result is complete JSON that matches the
tool's output schema, or an error (OXP-32). `outcomes` decides between failures of the server and of the tool.
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
from ferrule.model.value import JsonObject
from ferrule.runtime.pipeline.arguments.complaints import Complaints
from ferrule.runtime.pipeline.call import RunOptions
from ferrule.runtime.redaction.sensitive_input import Mask
from ferrule.schema.internal_fields import internal_fields, model_schema
from ferrule.schema.schema_view import SchemaView
from ferrule.schema.validation.validators import compile_schema
from ferrule.servers.asgi import HttpAnswer
from ferrule.servers.auth.callers import Caller
from ferrule.servers.edge import Edge
from ferrule.servers.oxp import outcomes
from ferrule.servers.oxp.caller_tools import CallerTools, CallerToolsCache, ToolVersion
from ferrule.servers.oxp.credentials import is_principal, refuse_credential
from ferrule.servers.oxp.definitions import has_no_output, read_ref
from ferrule.servers.oxp.requirements import collect_credentials
from ferrule.servers.oxp.wire import OxpBadRequest, OxpCallRequest, make_answer

_LONGEST = 65_536
_MOST = 20


def explain_parameters(tool: Tool, written: bytes) -> dict[str, str]:
    """Returns a message for each invalid parameter; empty where errors cannot be assigned to parameters."""
    if len(written) > _LONGEST:
        return {}
    try:
        arguments = msgspec.json.decode(written)
        internal = internal_fields(tool)
        schema = model_schema(tool, internal)
        errors = list(compile_schema(bytes(schema)).iter_errors(arguments))
        complaints = Complaints(tool.name, SchemaView(msgspec.json.decode(schema)), Mask.of(tool), internal)
    except Exception:  # this only explains an error that is already reported
        return {}
    found: dict[str, dict[str, None]] = {}
    for error in errors[:_MOST]:
        texts = complaints.list_complaints([error], _MOST)
        for name in _find_parameters(error):
            own = [one.text for one in texts if one.path[:1] == (name,)] or [one.text for one in texts]
            found.setdefault(name, {}).update(dict.fromkeys(own or ["it does not fit"]))
    return {name: "\n".join(texts) for name, texts in found.items()}


def _find_parameters(error: Any) -> list[str]:
    """Returns the parameters that an error is about."""
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


class InvalidValue(Exception):
    """A result that cannot be returned as a value; the message is for the caller."""


async def read_value(handle: SurfaceHandle, tool: Tool, result: Result, *, is_checked: bool) -> Any:
    """Returns a tool's output as a value; None for no output. Raises InvalidValue.

    `is_checked`: the pipeline has already failed native output that does not match its schema.
    """
    if has_no_output(tool):
        return None
    value, is_native = await _extract_value(handle, result)
    if tool.output_schema is not None and not (is_native and is_checked):
        schema = bytes(tool.output_schema)
        if schema != b"null" and not compile_schema(schema).is_valid(value):
            raise InvalidValue(
                "the tool did its work, but what it gave does not fit its output schema, so it is not passed on"
            )
    return value


async def _extract_value(handle: SurfaceHandle, result: Result) -> tuple[Any, bool]:
    """Returns the value, and True when it is native output, which the pipeline has already checked."""
    if result.structured_content is not None:
        return result.structured_content, True
    shown = result.content if result.model_facing_content is None else result.model_facing_content
    blocks = [block for block in shown if block not in result.additional_context]
    stored = await _load_stored_value(handle, blocks)
    if stored is not _MISSING:
        return stored, False
    if len(blocks) == 1 and blocks[0].get("empty") is True:
        return None, True
    if all(block.get("type") == "text" for block in blocks):
        return "\n".join(str(block.get("text", "")) for block in blocks), False
    return list(blocks), False


async def _load_stored_value(handle: SurfaceHandle, blocks: list[JsonObject]) -> Any:
    """Returns the full output that was too large for the result: OXP has no references that a client could follow
    later.
    """
    ref = next((block for block in reversed(blocks) if isinstance(block.get("uri"), str)), None)
    if ref is None or ref.get("type") != "persisted_output_ref":
        return _MISSING
    try:
        data = await handle.payload(ref["uri"], limit=_LARGEST + 1)
    except PayloadGone:
        return _MISSING
    if len(data) > _LARGEST:
        raise InvalidValue(
            f"the tool did its work, but its output has more than {_LARGEST:,} bytes; ask for less of it"
        )
    media_type = str(ref.get("media_type", ""))
    try:
        return msgspec.json.decode(data) if "json" in media_type else data.decode()
    except (msgspec.DecodeError, UnicodeDecodeError, RecursionError):
        return _MISSING


_log = logging.getLogger("ferrule.oxp")


class OxpCalls:
    """Makes the OXP calls of one process."""

    def __init__(self, edge: Edge, tools_cache: CallerToolsCache) -> None:
        self._edge = edge
        self._app = edge.app
        self._tools_cache = tools_cache
        self._going: set[asyncio.Task[Any]] = set()
        edge.closing.append(self.aclose)

    async def aclose(self) -> None:
        """Waits for calls under way; the app ends them when it stops."""
        if self._going:
            await asyncio.wait(self._going, timeout=self._edge.settings.shutdown_seconds)

    async def answer(
        self, caller: Caller, request: OxpCallRequest, check_url: Callable[[str], str], *, is_bare: bool = False
    ) -> HttpAnswer:
        """Answers one call. Raises BadRequest, and Refused (429)."""
        leave = await resolve(self._edge.turnstile.enter(caller))
        try:
            item, handed = await self._find_tool_and_credentials(caller, request, check_url)
            call_id = request.call_id or str(uuid.uuid4())
            # A task of its own: the call goes on when its client disconnects or the request times out.
            going = asyncio.create_task(self._call(caller, item, request, call_id, handed))
        except BaseException:
            leave()
            raise
        going.add_done_callback(lambda task: leave())
        self._going.add(going)
        going.add_done_callback(self._going.discard)
        done, _ = await asyncio.wait({going}, timeout=self._edge.settings.limits.request_seconds)
        if not done:  # the call goes on; a retry with the same call_id finds it
            return self._wrap(
                outcomes.encode_pending(call_id, "the call takes long and goes on", is_running=True), is_bare
            )
        return await self._encode_outcome(item, request, call_id, going.result(), is_bare=is_bare)

    async def _find_tool_and_credentials(
        self, caller: Caller, request: OxpCallRequest, check_url: Callable[[str], str]
    ) -> tuple[ToolVersion, CallSecrets]:
        """Returns the tool, and the credentials that the call brings for it. Raises BadRequest."""
        behalf = self._impersonate(caller, request.context.user_id)
        tools = await self.load_tools(behalf)
        ref = read_ref(request.tool_id)
        if ref is None:
            raise OxpBadRequest("`tool_id` is no Toolkit.Tool, with @x.y.z or @x behind it or without")
        item = tools.find(ref)
        if item is None:
            await self._record_unknown(tools, request)
            raise OxpBadRequest(f"there is no tool {request.tool_id}")
        return item, await collect_credentials(self._app, item.entry.tool, behalf, request.context, check_url)

    def _impersonate(self, caller: Caller, user_id: str) -> Caller:
        """Returns the caller for the user that the call names, in the credential's own tenant. Raises BadRequest."""
        if not user_id or user_id == caller.identity.principal:
            return caller
        if not is_principal(user_id):
            raise OxpBadRequest("`context.user_id` is no name for a user")
        if self._edge.settings.oxp.users == "own":
            who = caller.identity.principal
            why = f'{who} on behalf of {user_id!r}, which [serve.oxp] users = "own" does not allow'
            self._edge.refusals.report(why, "oxp users")
            raise OxpBadRequest("this credential may not call on behalf of that user")
        identity, holder = caller.identity, caller.identity.principal
        # The groups are the credential's own; the user it acts for does not inherit them.
        identity = msgspec.structs.replace(identity, principal=user_id, groups=frozenset())
        return msgspec.structs.replace(caller, identity=identity, is_operator=False, holder=holder)

    async def load_tools(self, caller: Caller) -> CallerTools:
        """Returns the caller's tools. Raises Refused (401) for a credential whose agent, role or surface the catalog
        does not have, and BadRequest when the surface cannot be made now.
        """
        try:
            return await self._tools_cache.get(caller)
        except SurfaceError as error:
            _log.warning(
                "%s came by %s and has no surface: %s", caller.identity.principal, caller.identity.channel, error
            )
            raise refuse_credential("there are no tools for this credential; ask whoever gave it to you") from None
        except FerruleError as error:
            _log.warning("a surface for %s cannot be made: %s", caller.identity.principal, error)
            raise OxpBadRequest("the server is temporarily unavailable; try again later") from None

    async def _record_unknown(self, tools: CallerTools, request: OxpCallRequest) -> None:
        """Records a call of an unknown tool. Tool names have no `@`, so this name stays unknown whatever is reloaded
        meanwhile.
        """
        plain, _, version = request.tool_id.partition("@")
        await tools.base.call(f"{plain}@{version or 'latest'}", bytes(request.input))

    async def _call(
        self, caller: Caller, item: ToolVersion, request: OxpCallRequest, call_id: str, handed: CallSecrets
    ) -> Result | Pending:
        options = RunOptions(
            # No version in it: a client that repeats a call after an upgrade gets the answer, and runs nothing again.
            idempotency_key=f"oxp {caller.identity.principal} {call_id}",
            native_call_id=call_id,
            trace_id=request.trace_id or None,
            handed=handed,
            is_exact=True,
        )
        outcome = await item.handle.call(item.name, bytes(request.input), options=options)
        if handed and isinstance(outcome, Pending):  # a parked call may wait only for these credentials
            outcome = await self._app.calls.resume(outcome.invocation_id, handed) or outcome
        _log.info("call %r of %s: %s, %s, trace %r", call_id, item.entry.tool.tool_id, outcome.invocation_id,
                  outcome.status, request.trace_id)  # fmt: skip
        return outcome

    async def _encode_outcome(
        self, item: ToolVersion, request: OxpCallRequest, call_id: str, outcome: Result | Pending, *, is_bare: bool
    ) -> HttpAnswer:
        tool = item.entry.tool
        if isinstance(outcome, Pending):
            return self._wrap(outcomes.encode_recorded_pending(call_id, outcome), is_bare)
        if outcome.error is None:
            is_checked = self._app.services.results.mismatch == "fail"
            try:
                value = await read_value(item.handle, tool, outcome, is_checked=is_checked)
            except InvalidValue as problem:
                return self._wrap(outcomes.encode_invalid_value(call_id, outcome, str(problem)), is_bare)
            return self._wrap(outcomes.encode_success(call_id, outcome, value), is_bare)
        refusal = outcomes.find_refusal(outcome)
        if refusal is not None:
            raise refusal
        if await outcomes.is_about_input(outcome, self._app.store):
            return outcomes.encode_invalid_input(outcome.error.message, explain_parameters(tool, bytes(request.input)))
        return self._wrap(outcomes.encode_failure(call_id, tool, outcome), is_bare)

    def _wrap(self, response: JsonObject, is_bare: bool) -> HttpAnswer:
        """Returns the answer in its envelope; clients of a later draft also find its members at the top (OXP-49)."""
        return make_answer(200, {"result": response, **(response if is_bare else {})})
