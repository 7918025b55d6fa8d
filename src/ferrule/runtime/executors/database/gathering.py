"""Rows on their way: held while they are few, streamed to the payload store when they are many, counted always.

Past the limits a call fails and says so; nothing is cut in silence. A tool with `x-truncate` gives the first rows and says that
there are more.
"""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Callable
from typing import Any

import msgspec

from ferrule.contracts.executor import ExecutionFailed, Output
from ferrule.infra.network.guard import Forbidden
from ferrule.runtime.executors.database.engine import Answer, Rows
from ferrule.runtime.executors.database.failures import DatabaseFailed
from ferrule.runtime.executors.database.pools import PoolClosed
from ferrule.runtime.executors.database.settings import Plan
from ferrule.runtime.executors.database.shape import Shape, encode

FAILURES = (DatabaseFailed, Forbidden, OSError, TimeoutError, PoolClosed)
"""What can come out of an engine."""
_HELD_BYTES = 1024 * 1024
"""A longer result is streamed."""


class Gathering:
    """The rows of one call."""

    def __init__(self, plan: Plan, shape: Shape, rows: Rows, answer: Answer) -> None:
        self._plan = plan
        self._shape = shape
        self._rows = rows
        self._answer = answer
        self._count = self._size = 0
        self._facts: dict[str, Any] = {}

    async def output(self, failure: Callable[[Exception], ExecutionFailed], end: float) -> Output:
        """What the call gives. A stream outlives this: `failure` says what its failures mean, and it is over at `end`."""
        plan, shape = self._plan, self._shape
        held: list[dict[str, Any]] = []
        pieces: list[bytes] = []
        may_stream = plan.is_read_only and shape.place is not None
        async for batch in self._rows:
            kept = await self._counted(batch)
            held += kept.rows
            pieces += kept.pieces
            if kept.is_last:
                break
            if may_stream and self._size > _HELD_BYTES:
                stream = shape.stream(pieces, self._more(failure, end), self._facts)
                return Output(stream=stream, media_type="application/json", file_name=f"{plan.tool_id}.json")
        self._tell()
        return Output(shape.value(held, self._facts))

    async def _more(self, failure: Callable[[Exception], ExecutionFailed], end: float) -> AsyncIterator[bytes]:
        """The rows that come after those that were held."""
        try:
            while True:
                async with asyncio.timeout_at(end):
                    batch = await anext(self._rows, None)
                if batch is None:
                    break
                kept = await self._counted(batch)
                for piece in kept.pieces:
                    yield piece
                if kept.is_last:
                    break
            self._tell()
        except FAILURES as error:
            raise failure(error) from None
        finally:
            await self._rows.aclose()

    def _tell(self) -> None:
        self._facts.update(row_count=self._count, affected=self._answer.affected)
        if self._plan.transport.truncates:
            self._facts.setdefault("truncated", False)

    async def _counted(self, batch: list[dict[str, Any]]) -> _Kept:
        """A batch as far as the limits go. Raises ExecutionFailed (`result_too_large`)."""
        plan = self._plan
        pieces: list[bytes] = []
        for position, row in enumerate(batch):
            piece = encode(row)
            if self._count == plan.max_rows or self._size + len(piece) > plan.max_bytes:
                await self._rows.aclose()
                return self._past(batch[:position], pieces)
            self._count += 1
            self._size += len(piece)
            pieces.append(piece)
        return _Kept(batch, pieces)

    def _past(self, rows: list[dict[str, Any]], pieces: list[bytes]) -> _Kept:
        plan = self._plan
        if plan.transport.truncates and plan.is_read_only:
            self._facts["truncated"] = True
            return _Kept(rows, pieces, True)
        is_rows = self._count == plan.max_rows
        limit = f"{plan.max_rows:,} rows" if is_rows else f"{plan.max_bytes:,} bytes"
        undone = "" if plan.is_read_only else "; its change was taken back"
        raise ExecutionFailed(
            "result_too_large",
            f"the database tool {plan.tool_id!r} found more than {limit}, which is its limit{undone}; ask for less, or raise"
            f" {'x-max-rows of the tool or max_rows' if is_rows else 'max_bytes'} of [database]",
            code="too_many_rows" if is_rows else "too_many_bytes",
        )


class _Kept(msgspec.Struct):
    rows: list[dict[str, Any]]
    pieces: list[bytes]
    is_last: bool = False
