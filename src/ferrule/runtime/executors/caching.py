"""Result cache: keeps results of retrievals for a while where the settings say so (AML-18), never those of actions (AML-19).

A call answered from the cache was decided, hooked and recorded like any other; only the system behind the tool was not
called. A cached result belongs to one tool as it is defined, one input, and one caller: principal, tenant and agent. Equal
calls at the same moment share one call of the system: a caller that leaves does not disturb the others, and the call is
cancelled when the last one leaves. The executors behind the cache do not know it.
"""

from __future__ import annotations

import asyncio
import hashlib
import logging
from collections import OrderedDict
from collections.abc import Awaitable, Callable
from contextlib import suppress
from inspect import isawaitable
from typing import Any

import msgspec

from ferrule.contracts.executor import EMPTY, Context, ExecutionFailed, Executor, Output, Run, Support, Wire
from ferrule.contracts.payloads import PayloadWriter
from ferrule.infra.drivers import DriverMissing
from ferrule.infra.tasks import hear_failure
from ferrule.model.canonical import digest_of_tool
from ferrule.model.tool import Tool
from ferrule.model.upstreams import CacheUpstreams
from ferrule.model.value import JsonObject
from ferrule.runtime.executors.definition import tool_type

_LET_GO_SECONDS = 1.0


class Relay:
    """Wire that forwards the events of one shared call to every caller waiting for it. Safe from any thread."""

    def __init__(self) -> None:
        self.waiting: tuple[Context, ...] = ()
        self.secrets: tuple[str, ...] = ()
        """Values the call marked as secret; a caller that gets the result later must redact them too."""

    @property
    def _wires(self) -> list[Wire]:
        return [context.wire for context in self.waiting if context.wire is not None]

    def progress(self, facts: JsonObject) -> None:
        """Reports progress to every waiting caller."""
        for wire in self._wires:
            wire.progress(dict(facts))

    def partial(self, blocks: tuple[JsonObject, ...]) -> None:
        """Sends a partial result to every waiting caller."""
        for wire in self._wires:
            wire.partial(blocks)

    def background(self, task_id: str, message: str) -> None:
        """Tells every waiting caller that the call continues in the background."""
        for wire in self._wires:
            wire.background(task_id, message)

    def native(self, ref: JsonObject) -> None:
        """Records a native id for the caller that started the call."""
        for wire in self._wires[:1]:
            wire.native(ref)

    def secret(self, value: str) -> None:
        """Registers a secret with every waiting caller, present and future."""
        self.secrets += (value,)
        for wire in self._wires:
            wire.secret(value)

    def output(self, media_type: str, name: str) -> PayloadWriter:
        """Opens a payload writer of the caller that started the call."""
        wires = self._wires
        if not wires:
            raise ExecutionFailed("canceled", "nobody waits for this any more")
        return wires[0].output(media_type, name)


class SharedCall:
    """One call of the system behind a tool, and the callers waiting for it."""

    def __init__(
        self, start: Callable[[Context], Awaitable[Any]], leader: Context, on_abandoned: Callable[[SharedCall], None]
    ) -> None:
        """`start`: makes the call. `on_abandoned`: called when no caller waits any more, so that no other one joins."""
        self.leader = leader.invocation_id
        self.relay = Relay()
        self._on_abandoned = on_abandoned
        # Each waiting caller enforces its own deadline; the shared call itself has none.
        self._context = msgspec.structs.replace(leader, wire=self.relay, deadline=None, abort_callbacks=[])
        self._enter(leader)
        self._task = asyncio.ensure_future(_as_coroutine(start(self._context)))
        self._task.add_done_callback(hear_failure)

    async def join(self, context: Context) -> Any:
        """Waits for the shared call and returns its result. Raises what it raised."""
        # The leader entered when the call began.
        if all(each is not context for each in self._all):
            self._enter(context)
        context.on_abort(lambda: self._on_caller_abort(context))
        try:
            return await asyncio.shield(self._task)
        except asyncio.CancelledError:
            if not self._task.cancelled():
                # The shared call goes on: it is this caller that was cancelled.
                raise
            raise ExecutionFailed("canceled", "the call that this one shared was stopped") from None
        except ExecutionFailed as failed:
            raise _copy_failure(failed) from failed
        finally:
            await self._leave(context)

    @property
    def _all(self) -> tuple[Context, ...]:
        return self.relay.waiting

    def _enter(self, context: Context) -> None:
        for value in self.relay.secrets:
            context.hide(value)
        self.relay.waiting += (context,)

    def _on_caller_abort(self, context: Context) -> None:
        # Only when every waiting caller was aborted is the shared call aborted too.
        if all(each.aborted for each in self._all):
            self._on_abandoned(self)
            self._context.abort(context.abort_reason or "user_interruption")

    async def _leave(self, context: Context) -> None:
        self.relay.waiting = tuple(each for each in self._all if each is not context)
        if self._all or self._task.done():
            return
        self._on_abandoned(self)
        self._context.abort(context.abort_reason or "user_interruption")
        self._task.cancel()
        with suppress(asyncio.CancelledError):
            await asyncio.wait({self._task}, timeout=_LET_GO_SECONDS)


async def _as_coroutine(awaitable: Awaitable[object]) -> Any:
    return await awaitable


def _copy_failure(failed: ExecutionFailed) -> ExecutionFailed:
    """Copies a failure for another waiting caller: one exception object must not be raised in two tasks."""
    if isinstance(failed, DriverMissing):
        return DriverMissing(failed.extra)
    return ExecutionFailed(
        failed.error_class,
        failed.message,
        code=failed.code,
        retry_after=failed.retry_after,
        native_error_ref=failed.native_error_ref,
        output=failed.output,
        is_retryable=failed.is_retryable,
    )


_log = logging.getLogger("ferrule.cache")


class _StoredOutput(msgspec.Struct, frozen=True, array_like=True):
    """The parts of an output that can be returned more than once."""

    value: Any
    content: tuple[dict[str, Any], ...] | None
    is_empty: bool
    ui_summary: str | None
    search_text: str | None


class _Entry(msgspec.Struct, frozen=True):
    packed: bytes
    kept_at: float
    seconds: float
    secrets: tuple[str, ...]


_unpack = msgspec.msgpack.Decoder(_StoredOutput).decode


class ResultCache:
    """The results that one process caches."""

    def __init__(self, settings: CacheUpstreams, tick: Callable[[], float]) -> None:
        """`tick`: seconds, of a clock that never goes back."""
        self._settings = settings
        self._tick = tick
        self._entries: OrderedDict[bytes, _Entry] = OrderedDict()
        self._refused: set[str] = set()
        self.shared_calls: dict[bytes, SharedCall] = {}

    def ttl_seconds(self, tool: Tool) -> float:
        """Returns how long results of a tool are cached; 0 for a tool that is never cached, as actions are, whatever the
        settings say."""
        is_named = tool.tool_id in self._settings.tools
        seconds = self._settings.tools.get(tool.tool_id, self._settings.ttl_seconds)
        if not seconds:
            return 0.0
        if tool.dialect == "aml":
            is_right = tool_type(tool) == "retrieval"
        else:
            # No other dialect has types of tools: its tool has to be named, and its author must have stated the fact.
            is_right = is_named and tool.facts.is_read_only is True and "is_read_only" not in tool.inferred_facts
        if is_named and not is_right and tool.tool_id not in self._refused:
            self._refused.add(tool.tool_id)
            _log.warning("[cache] names %s, which does not only read: its results are not kept", tool.tool_id)
        return seconds if is_right else 0.0

    def wrap(self, executor: Executor, tool: Tool) -> Executor:
        """Returns the executor itself or, for a tool whose results are cached, one that looks into the cache first."""
        seconds = self.ttl_seconds(tool)
        return CachingExecutor(executor, self, seconds) if seconds else executor

    def find(self, key: bytes, context: Context) -> Output | None:
        """Returns a fresh copy of a cached output; None when there is none or it has expired."""
        entry = self._entries.get(key)
        if entry is None:
            return None
        age = self._tick() - entry.kept_at
        if age >= entry.seconds:
            del self._entries[key]
            return None
        self._entries.move_to_end(key)
        for value in entry.secrets:
            context.hide(value)
        return unpack_output(entry.packed, {"age_seconds": round(age, 3)})

    def store(self, key: bytes, packed: bytes, seconds: float, secrets: tuple[str, ...]) -> None:
        """Stores a packed result; evicts the least recently used one when the cache is full."""
        if len(packed) > self._settings.max_entry_bytes:
            return
        self._entries[key] = _Entry(packed, self._tick(), seconds, secrets)
        self._entries.move_to_end(key)
        if len(self._entries) > self._settings.max_entries:
            self._entries.popitem(last=False)


class CachingExecutor:
    """An executor behind the cache."""

    def __init__(self, executor: Executor, cache: ResultCache, seconds: float) -> None:
        self._executor = executor
        self._cache = cache
        self._seconds = seconds
        self.support: Support = executor.support

    def can_run(self, tool: Tool) -> bool:
        """Returns what the wrapped executor says."""
        return self._executor.can_run(tool)

    def prepare(self, tool: Tool) -> Run:
        """Returns the tool's runner. Raises ExecutionFailed."""
        return CachedRun(self._executor.prepare(tool), digest_of_tool(tool), self._cache, self._seconds)

    async def aclose(self) -> None:
        """Closes nothing: the wrapped executor is closed by its owner."""


class CachedRun:
    """A tool's runner behind the cache. All other attributes are those of the wrapped runner."""

    wants_context = True

    def __init__(self, run: Run, digest: str, cache: ResultCache, seconds: float) -> None:
        self._run = run
        self._digest = digest
        self._cache = cache
        self._seconds = seconds

    def __getattr__(self, name: str) -> Any:
        return getattr(self._run, name)

    async def __call__(self, arguments: JsonObject, context: Context) -> Any:
        """Returns the cached output, or runs the tool and caches its output. Raises ExecutionFailed, which is never cached."""
        key = self._key(arguments, context)
        if key is None:
            return await self._run_tool(arguments, context)
        found = self._cache.find(key, context)
        if found is not None:
            return found
        flights = self._cache.shared_calls
        flight = flights.get(key)
        if flight is None:
            flight = flights[key] = SharedCall(
                lambda shared: self._run_and_store(key, arguments, shared),
                context,
                lambda over: self._forget_shared_call(key, over),
            )
        given, packed = await flight.join(context)
        # The leader gets the output itself, which may hold what cannot be packed.
        if flight.leader == context.invocation_id:
            return given
        # An output that cannot be packed belongs to one call alone, so this caller runs the tool for itself.
        return await self._run_tool(arguments, context) if packed is None else _unpack_shared(packed, flight.leader)

    async def _run_and_store(self, key: bytes, arguments: JsonObject, shared: Context) -> tuple[Any, bytes | None]:
        # It is there: the task makes its first step after the caller has put it into the table.
        flight = self._cache.shared_calls.get(key)
        try:
            given = await self._run_tool(arguments, shared)
            packed = pack_output(given)
            if packed is not None and flight is not None and not shared.aborted:
                self._cache.store(key, packed, self._seconds, flight.relay.secrets)
            return given, packed
        finally:
            if flight is not None:
                self._forget_shared_call(key, flight)

    def _forget_shared_call(self, key: bytes, flight: SharedCall) -> None:
        if self._cache.shared_calls.get(key) is flight:
            del self._cache.shared_calls[key]

    async def _run_tool(self, arguments: JsonObject, context: Context) -> Any:
        given = self._run(arguments, context)
        return await given if isawaitable(given) else given

    def _key(self, arguments: JsonObject, context: Context) -> bytes | None:
        """Returns the cache key of a call; None for input without a canonical encoding, which is never cached."""
        caller = (context.principal, context.tenant, context.agent, context.is_confined)
        try:
            # Sorted, so that the same arguments in another order have the same key.
            written = msgspec.msgpack.encode(
                (self._digest, caller, arguments, dict(context.values), dict(context.credentials)), order="sorted"
            )
        except (TypeError, ValueError, OverflowError, RecursionError):
            return None
        return hashlib.sha256(written).digest()


def pack_output(given: object) -> bytes | None:
    """Packs an output so that it can be returned again; None for one that belongs to its call alone: a stream, files, changes
    of the context, something private, a question."""
    output = given if type(given) is Output else Output(given)
    if (
        output.stream is not None
        or output.artifact_refs
        or output.resource_refs
        or output.context_modifiers
        or output.is_private
        or output.is_acknowledgement
        or isinstance(output.value, msgspec.Struct)
        or any(block.get("type") not in ("text", "json", "image") for block in output.content or ())
    ):
        return None
    is_empty = output.value is EMPTY
    kept = _StoredOutput(
        None if is_empty else output.value, output.content, is_empty, output.ui_summary, output.search_text
    )
    try:
        return msgspec.msgpack.encode(kept)
    except (TypeError, ValueError, OverflowError, RecursionError):
        return None


def unpack_output(packed: bytes, how: JsonObject) -> Output:
    """Rebuilds a packed output; `how` records in the result what the cache did."""
    kept = _unpack(packed)
    return Output(
        EMPTY if kept.is_empty else kept.value,
        kept.content,
        ui_summary=kept.ui_summary,
        search_text=kept.search_text,
        cache=how,
    )


def _unpack_shared(packed: bytes, leader: str) -> Output:
    return unpack_output(packed, {"shared_with": leader})
