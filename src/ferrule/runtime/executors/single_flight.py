"""Equal calls at the same moment make one call of the system behind. Whoever asks joins; whoever goes away takes nothing from the
others, and the last one to go away stops it."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable
from contextlib import suppress
from typing import Any

import msgspec

from ferrule.contracts.executor import Context, ExecutionFailed, Wire
from ferrule.contracts.payloads import PayloadWriter
from ferrule.infra.drivers import DriverMissing
from ferrule.runtime.executors.waits import heard

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
        self._task.add_done_callback(heard)

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
