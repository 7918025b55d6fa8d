"""Keeps results of retrievals for a while where the settings say so (AML-18), and never those of actions (AML-19).

A call that is answered from here was decided, hooked and recorded like any other; only the system behind was not asked. A
kept result belongs to one tool as it is defined, one input, and one caller: principal, tenant and agent. Equal calls at
the same moment make one call of the system behind: a caller that goes away takes nothing from the others, and the last
one to go away stops it.
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
from ferrule.runtime.executors.definition import tool_type

_LET_GO_SECONDS = 1.0


class Relay:
    """Passes on to everybody who waits what the one call says. Safe from any thread."""

    def __init__(self) -> None:
        self.waiting: tuple[Context, ...] = ()
        self.secrets: tuple[str, ...] = ()
        """What was said to be secret: whoever gets the result later has to know too."""

    @property
    def _wires(self) -> list[Wire]:
        return [context.wire for context in self.waiting if context.wire is not None]

    def progress(self, facts: dict[str, Any]) -> None:
        """Everybody sees how far it is."""
        for wire in self._wires:
            wire.progress(dict(facts))

    def partial(self, blocks: tuple[dict[str, Any], ...]) -> None:
        """Everybody sees the parts that are ready."""
        for wire in self._wires:
            wire.partial(blocks)

    def background(self, task_id: str, message: str) -> None:
        """Everybody may go on with something else."""
        for wire in self._wires:
            wire.background(task_id, message)

    def native(self, ref: dict[str, Any]) -> None:
        """A native id belongs to whoever began."""
        for wire in self._wires[:1]:
            wire.native(ref)

    def secret(self, value: str) -> None:
        """Nobody tells it."""
        self.secrets += (value,)
        for wire in self._wires:
            wire.secret(value)

    def output(self, media_type: str, name: str) -> PayloadWriter:
        """Bytes are kept for whoever began."""
        wires = self._wires
        if not wires:
            raise ExecutionFailed("canceled", "nobody waits for this any more")
        return wires[0].output(media_type, name)


class Flight:
    """One call of the system behind, and everybody who waits for it."""

    def __init__(
        self, start: Callable[[Context], Awaitable[Any]], leader: Context, abandoned: Callable[[Flight], None]
    ) -> None:
        """`start`: makes the call. `abandoned`: told when nobody waits any more, so that nobody else joins."""
        self.leader = leader.invocation_id
        self.relay = Relay()
        self._abandoned = abandoned
        # Each who waits has a deadline of their own: the call has none but theirs.
        self._context = msgspec.structs.replace(leader, wire=self.relay, deadline=None, abort_callbacks=[])
        self._enter(leader)
        self._task = asyncio.ensure_future(_awaited(start(self._context)))
        self._task.add_done_callback(hear_failure)

    async def join(self, context: Context) -> Any:
        """Wait for it. Raises what it raised."""
        if all(each is not context for each in self._all):
            self._enter(context)
        context.on_abort(lambda: self._told_to_stop(context))
        try:
            return await asyncio.shield(self._task)
        except asyncio.CancelledError:
            if not self._task.cancelled():
                raise
            raise ExecutionFailed("canceled", "the call that this one shared was stopped") from None
        except ExecutionFailed as failed:
            raise _again(failed) from failed
        finally:
            await self._left(context)

    @property
    def _all(self) -> tuple[Context, ...]:
        return self.relay.waiting

    def _enter(self, context: Context) -> None:
        for value in self.relay.secrets:
            context.hide(value)
        self.relay.waiting += (context,)

    def _told_to_stop(self, context: Context) -> None:
        """Somebody should stop. When all should, so should the call."""
        if all(each.aborted for each in self._all):
            self._abandoned(self)
            self._context.abort(context.abort_reason or "user_interruption")

    async def _left(self, context: Context) -> None:
        self.relay.waiting = tuple(each for each in self._all if each is not context)
        if self._all or self._task.done():
            return
        self._abandoned(self)
        self._context.abort(context.abort_reason or "user_interruption")
        self._task.cancel()
        with suppress(asyncio.CancelledError):
            await asyncio.wait({self._task}, timeout=_LET_GO_SECONDS)


async def _awaited(awaitable: Awaitable[Any]) -> Any:
    return await awaitable


def _again(failed: ExecutionFailed) -> ExecutionFailed:
    """The same failure for one more who waited: an exception is raised once."""
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


class _Kept(msgspec.Struct, frozen=True, array_like=True):
    """What of an output can be given twice."""

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


_unpack = msgspec.msgpack.Decoder(_Kept).decode


class Cache:
    """What one process keeps."""

    def __init__(self, settings: CacheUpstreams, tick: Callable[[], float]) -> None:
        """`tick`: seconds, of a clock that never goes back."""
        self._settings = settings
        self._tick = tick
        self._entries: OrderedDict[bytes, _Entry] = OrderedDict()
        self._refused: set[str] = set()
        self.flights: dict[bytes, Flight] = {}

    def seconds(self, tool: Tool) -> float:
        """How long results of a tool are kept; 0 for not at all. An action's never are, whatever the settings say."""
        is_named = tool.tool_id in self._settings.tools
        seconds = self._settings.tools.get(tool.tool_id, self._settings.ttl_seconds)
        if not seconds:
            return 0.0
        if tool.dialect == "aml":
            is_right = tool_type(tool) == "retrieval"
        else:
            is_right = is_named and tool.facts.is_read_only is True and "is_read_only" not in tool.inferred_facts
        if is_named and not is_right and tool.tool_id not in self._refused:
            self._refused.add(tool.tool_id)
            _log.warning("[cache] names %s, which does not only read: its results are not kept", tool.tool_id)
        return seconds if is_right else 0.0

    def around(self, executor: Executor, tool: Tool) -> Executor:
        """The executor itself, or for a tool whose results are kept, one that looks here first."""
        seconds = self.seconds(tool)
        return CachingExecutor(executor, self, seconds) if seconds else executor

    def find(self, key: bytes, context: Context) -> Output | None:
        """What is kept, as an output of its own; None when there is nothing, or it is too old."""
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
        return unpacked(entry.packed, {"age_seconds": round(age, 3)})

    def keep(self, key: bytes, packed: bytes, seconds: float, secrets: tuple[str, ...]) -> None:
        """Keep a result; the one that was not asked for longest makes room."""
        if len(packed) > self._settings.max_entry_bytes:
            return
        self._entries[key] = _Entry(packed, self._tick(), seconds, secrets)
        self._entries.move_to_end(key)
        if len(self._entries) > self._settings.max_entries:
            self._entries.popitem(last=False)


class CachingExecutor:
    """One executor, with the cache before it."""

    def __init__(self, executor: Executor, cache: Cache, seconds: float) -> None:
        self._executor = executor
        self._cache = cache
        self._seconds = seconds
        self.support: Support = executor.support

    def can_run(self, tool: Tool) -> bool:
        """As the executor says."""
        return self._executor.can_run(tool)

    def prepare(self, tool: Tool) -> Run:
        """The tool's runner. Raises ExecutionFailed."""
        return CachedRun(self._executor.prepare(tool), digest_of_tool(tool), self._cache, self._seconds)

    async def aclose(self) -> None:
        """The executor is somebody else's to close."""


class CachedRun:
    """One tool's runner, asked only for what is not kept. Everything else it says about itself is the runner's own."""

    wants_context = True

    def __init__(self, run: Run, digest: str, cache: Cache, seconds: float) -> None:
        self._run = run
        self._digest = digest
        self._cache = cache
        self._seconds = seconds

    def __getattr__(self, name: str) -> Any:
        return getattr(self._run, name)

    async def __call__(self, arguments: dict[str, Any], context: Context) -> Any:
        """What is kept, or what the runner gives. Raises ExecutionFailed, and keeps nothing then."""
        key = self._key(arguments, context)
        if key is None:
            return await self._alone(arguments, context)
        found = self._cache.find(key, context)
        if found is not None:
            return found
        flights = self._cache.flights
        flight = flights.get(key)
        if flight is None:
            flight = flights[key] = Flight(
                lambda shared: self._asked(key, arguments, shared), context, lambda over: self._over(key, over)
            )
        given, packed = await flight.join(context)
        if flight.leader == context.invocation_id:
            return given
        return await self._alone(arguments, context) if packed is None else _shared(packed, flight.leader)

    async def _asked(self, key: bytes, arguments: dict[str, Any], shared: Context) -> tuple[Any, bytes | None]:
        flight = self._cache.flights.get(key)
        try:
            given = await self._alone(arguments, shared)
            packed = packed_of(given)
            if packed is not None and flight is not None and not shared.aborted:
                self._cache.keep(key, packed, self._seconds, flight.relay.secrets)
            return given, packed
        finally:
            if flight is not None:
                self._over(key, flight)

    def _over(self, key: bytes, flight: Flight) -> None:
        if self._cache.flights.get(key) is flight:
            del self._cache.flights[key]

    async def _alone(self, arguments: dict[str, Any], context: Context) -> Any:
        given = self._run(arguments, context)
        return await given if isawaitable(given) else given

    def _key(self, arguments: dict[str, Any], context: Context) -> bytes | None:
        """Names what may be shared; None for a call whose input cannot be written down in one way."""
        caller = (context.principal, context.tenant, context.agent, context.is_confined)
        try:
            written = msgspec.msgpack.encode(
                (self._digest, caller, arguments, dict(context.values), dict(context.credentials)), order="sorted"
            )
        except (TypeError, ValueError, OverflowError, RecursionError):
            return None
        return hashlib.sha256(written).digest()


def packed_of(given: Any) -> bytes | None:
    """An output as bytes from which it can be given again; None for one that belongs to its call alone: a stream, files, changes
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
    kept = _Kept(None if is_empty else output.value, output.content, is_empty, output.ui_summary, output.search_text)
    try:
        return msgspec.msgpack.encode(kept)
    except (TypeError, ValueError, OverflowError, RecursionError):
        return None


def unpacked(packed: bytes, how: dict[str, Any]) -> Output:
    """The output again, with what the cache had to do with it."""
    kept = _unpack(packed)
    return Output(
        EMPTY if kept.is_empty else kept.value,
        kept.content,
        ui_summary=kept.ui_summary,
        search_text=kept.search_text,
        cache=how,
    )


def _shared(packed: bytes, leader: str) -> Output:
    return unpacked(packed, {"shared_with": leader})
