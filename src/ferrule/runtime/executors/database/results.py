"""Turns rows into a result: returned at once when few, streamed to the payload store when many, in the output schema's shape.

Past the limits a call fails; nothing is truncated silently. A tool with `x-truncate` returns the first rows and states
that there are more. An object with a member for rows (`rows`, or an array of objects by another name) gets them there; an
object with other members is one row; without an output schema the result is `{"rows": […], "row_count": n}`.
"""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Callable, Mapping
from typing import Any

import msgspec

from ferrule.contracts.executor import ExecutionFailed, Output
from ferrule.infra.network.guard import Forbidden
from ferrule.model.tool import Tool
from ferrule.model.value import JsonObject
from ferrule.runtime.executors.database.connections import PoolClosed
from ferrule.runtime.executors.database.engine import QueryReport, Rows
from ferrule.runtime.executors.database.failures import DatabaseFailed
from ferrule.runtime.executors.database.settings import QueryPlan, members_of

_FACTS = ("row_count", "affected", "truncated")
encode = msgspec.json.encode


class ResultShape(msgspec.Struct, frozen=True):
    """The shape of one tool's results."""

    tool_id: str
    rows_member: str | None
    """The member that holds the rows; None when one row is the result."""
    facts: tuple[str, ...]
    """Members besides the rows."""
    wants: Mapping[str, str]
    """JSON types by column."""
    requires: tuple[str, ...] = ()

    def value(self, rows: list[JsonObject], facts: Mapping[str, object]) -> Any:
        """Builds a complete result. Raises ExecutionFailed when the shape is one row and there is not exactly one."""
        known_facts = {name: facts[name] for name in self.facts if facts.get(name) is not None}
        if self.rows_member is not None:
            return {self.rows_member: rows, **known_facts}
        if len(rows) > 1:
            raise ExecutionFailed(
                "execution_failed",
                f"the database tool {self.tool_id!r} gives one row by its output schema, and its statement gave more; give the"
                " schema an array of objects for them, or limit the statement",
                code="several_rows",
            )
        if rows:
            return {**rows[0], **known_facts}
        if known_facts or not self.requires:
            return known_facts
        raise ExecutionFailed(
            "execution_failed", f"the database tool {self.tool_id!r} found no row for these arguments", code="no_row"
        )

    async def stream(
        self, held: list[bytes], more: AsyncIterator[bytes], facts: Mapping[str, object]
    ) -> AsyncIterator[bytes]:
        """Yields the result as JSON text, row by row. Reads `facts` only after the last row."""
        yield b"{" + encode(self.rows_member or "rows") + b":["
        separator = b"\n"
        for piece in held:
            yield separator + piece
            separator = b",\n"
        async for piece in more:
            yield separator + piece
            separator = b",\n"
        known_facts = {name: facts[name] for name in self.facts if facts.get(name) is not None}
        rest = b"," + encode(known_facts)[1:-1] if known_facts else b""
        yield b"\n]" + rest + b"}"


def shape_of(tool: Tool, plan: QueryPlan) -> ResultShape:
    """Derives the shape of a tool's results from its output schema. Raises ExecutionFailed (`setup_required`)."""
    schema = _schema(tool)
    members = members_of(tool.output_schema)
    place = plan.transport.rows_member
    if place is not None and members and place not in members:
        raise ExecutionFailed(
            "setup_required", f"'x-rows' of {tool.tool_id!r} names {place!r}, which its output schema does not have"
        )
    if place is None:
        holders = [name for name, member in members.items() if _holds_rows(member)]
        place = "rows" if "rows" in holders or not members else next(iter(holders), None)
    facts = tuple(name for name in _FACTS if name in members or (not members and name != "truncated"))
    if plan.transport.truncates and "truncated" not in facts:
        facts = (*facts, "truncated")
    if place is None:
        wants = _kinds({"properties": {name: member for name, member in members.items() if name not in facts}})
        required = schema.get("required")
        return ResultShape(tool.tool_id, None, facts, wants, tuple(required) if isinstance(required, list) else ())
    holder = members.get(place)
    return ResultShape(tool.tool_id, place, facts, _kinds(holder.get("items") if isinstance(holder, dict) else None))


def _schema(tool: Tool) -> JsonObject:
    try:
        read = msgspec.json.decode(tool.output_schema) if tool.output_schema else {}
    except msgspec.DecodeError:
        return {}
    return read if isinstance(read, dict) else {}


def _holds_rows(member: object) -> bool:
    """Returns True for an array of objects, or of items without a stated type."""
    if not isinstance(member, dict) or member.get("type") != "array":
        return False
    items = member.get("items")
    return not isinstance(items, dict) or not items or items.get("type", "object") == "object"


def _kinds(schema: object) -> dict[str, str]:
    members = schema.get("properties") if isinstance(schema, dict) else None
    if not isinstance(members, dict):
        return {}
    found: dict[str, str] = {}
    for name, member in members.items():
        kind = member.get("type") if isinstance(member, dict) else None
        kinds = [kind] if isinstance(kind, str) else kind if isinstance(kind, list) else []
        named = [each for each in kinds if each in ("number", "integer", "string", "boolean", "object", "array")]
        if len(named) == 1:
            found[name] = named[0]
    return found


FAILURES = (DatabaseFailed, Forbidden, OSError, TimeoutError, PoolClosed)
"""The exceptions that an engine may raise."""
_HELD_BYTES = 1024 * 1024
"""The largest result that is returned at once; a longer one is streamed."""


class RowCollector:
    """Collector of the rows of one call."""

    def __init__(self, plan: QueryPlan, shape: ResultShape, rows: Rows, answer: QueryReport) -> None:
        self._plan = plan
        self._shape = shape
        self._rows = rows
        self._answer = answer
        self._count = self._size = 0
        self._facts: JsonObject = {}

    async def output(self, failure: Callable[[Exception], ExecutionFailed], end: float) -> Output:
        """Builds the output of the call. A stream outlives this method: `failure` translates its errors, and it ends at `end`."""
        plan, shape = self._plan, self._shape
        held: list[JsonObject] = []
        pieces: list[bytes] = []
        # A change has to be committed before the call answers, so its rows are read to the end here.
        may_stream = plan.is_read_only and shape.rows_member is not None
        async for batch in self._rows:
            kept = await self._take_within_limits(batch)
            held += kept.rows
            pieces += kept.pieces
            if kept.is_last:
                break
            if may_stream and self._size > _HELD_BYTES:
                stream = shape.stream(pieces, self._encode_rest(failure, end), self._facts)
                return Output(stream=stream, media_type="application/json", file_name=f"{plan.tool_id}.json")
        self._record_counts()
        return Output(shape.value(held, self._facts))

    async def _encode_rest(self, failure: Callable[[Exception], ExecutionFailed], end: float) -> AsyncIterator[bytes]:
        """Yields the encoded rows after those already read."""
        try:
            while True:
                async with asyncio.timeout_at(end):
                    batch = await anext(self._rows, None)
                if batch is None:
                    break
                kept = await self._take_within_limits(batch)
                for piece in kept.pieces:
                    yield piece
                if kept.is_last:
                    break
            self._record_counts()
        except FAILURES as error:
            raise failure(error) from None
        finally:
            await self._rows.aclose()

    def _record_counts(self) -> None:
        self._facts.update(row_count=self._count, affected=self._answer.affected)
        if self._plan.transport.truncates:
            self._facts.setdefault("truncated", False)

    async def _take_within_limits(self, batch: list[JsonObject]) -> _EncodedBatch:
        """Encodes a batch up to the limits. Raises ExecutionFailed (`result_too_large`)."""
        plan = self._plan
        pieces: list[bytes] = []
        for position, row in enumerate(batch):
            piece = encode(row)
            if self._count == plan.max_rows or self._size + len(piece) > plan.max_bytes:
                # Closing stops the query, and rolls a change back.
                await self._rows.aclose()
                return self._end_at_limit(batch[:position], pieces)
            self._count += 1
            self._size += len(piece)
            pieces.append(piece)
        return _EncodedBatch(batch, pieces)

    def _end_at_limit(self, rows: list[JsonObject], pieces: list[bytes]) -> _EncodedBatch:
        plan = self._plan
        if plan.transport.truncates and plan.is_read_only:
            self._facts["truncated"] = True
            return _EncodedBatch(rows, pieces, True)
        is_rows = self._count == plan.max_rows
        limit = f"{plan.max_rows:,} rows" if is_rows else f"{plan.max_bytes:,} bytes"
        undone = "" if plan.is_read_only else "; its change was taken back"
        raise ExecutionFailed(
            "result_too_large",
            f"the database tool {plan.tool_id!r} found more than {limit}, which is its limit{undone}; ask for less, or raise"
            f" {'x-max-rows of the tool or max_rows' if is_rows else 'max_bytes'} of [database]",
            code="too_many_rows" if is_rows else "too_many_bytes",
        )


class _EncodedBatch(msgspec.Struct):
    rows: list[dict[str, Any]]
    pieces: list[bytes]
    is_last: bool = False
