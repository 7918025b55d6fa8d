"""Rows on their way into a result: held while few, streamed to the payload store when many, shaped as the output schema says.

Past the limits a call fails and says so; nothing is cut in silence. A tool with `x-truncate` gives the first rows and
says that there are more. An object with a member for rows (`rows`, or an array of objects by another name) gets them
there; an object with other members is one row; without a word from the schema it is `{"rows": […], "row_count": n}`.
"""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Callable, Mapping
from typing import Any

import msgspec

from ferrule.contracts.executor import ExecutionFailed, Output
from ferrule.infra.network.guard import Forbidden
from ferrule.model.tool import Tool
from ferrule.runtime.executors.database.connections import PoolClosed
from ferrule.runtime.executors.database.engine import Answer, Rows
from ferrule.runtime.executors.database.failures import DatabaseFailed
from ferrule.runtime.executors.database.settings import Plan, members_of

_FACTS = ("row_count", "affected", "truncated")
encode = msgspec.json.encode


class Shape(msgspec.Struct, frozen=True):
    """The form of one tool's results."""

    tool_id: str
    place: str | None
    """The member for rows; None when one row is the result."""
    facts: tuple[str, ...]
    """Members besides the rows."""
    wants: Mapping[str, str]
    """JSON types by column."""
    requires: tuple[str, ...] = ()

    def value(self, rows: list[dict[str, Any]], facts: Mapping[str, Any]) -> Any:
        """A whole result. Raises ExecutionFailed where one row is wanted and there is another number of them."""
        told = {name: facts[name] for name in self.facts if facts.get(name) is not None}
        if self.place is not None:
            return {self.place: rows, **told}
        if len(rows) > 1:
            raise ExecutionFailed(
                "execution_failed",
                f"the database tool {self.tool_id!r} gives one row by its output schema, and its statement gave more; give the"
                " schema an array of objects for them, or limit the statement",
                code="several_rows",
            )
        if rows:
            return {**rows[0], **told}
        if told or not self.requires:
            return told
        raise ExecutionFailed(
            "execution_failed", f"the database tool {self.tool_id!r} found no row for these arguments", code="no_row"
        )

    async def stream(
        self, held: list[bytes], more: AsyncIterator[bytes], facts: Mapping[str, Any]
    ) -> AsyncIterator[bytes]:
        """The same as JSON text, row by row. `facts` is looked at when all rows have come."""
        yield b"{" + encode(self.place or "rows") + b":["
        separator = b"\n"
        for piece in held:
            yield separator + piece
            separator = b",\n"
        async for piece in more:
            yield separator + piece
            separator = b",\n"
        told = {name: facts[name] for name in self.facts if facts.get(name) is not None}
        rest = b"," + encode(told)[1:-1] if told else b""
        yield b"\n]" + rest + b"}"


def shape_of(tool: Tool, plan: Plan) -> Shape:
    """The form of a tool's results. Raises ExecutionFailed (`setup_required`)."""
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
        return Shape(tool.tool_id, None, facts, wants, tuple(required) if isinstance(required, list) else ())
    holder = members.get(place)
    return Shape(tool.tool_id, place, facts, _kinds(holder.get("items") if isinstance(holder, dict) else None))


def _schema(tool: Tool) -> dict[str, Any]:
    try:
        read = msgspec.json.decode(tool.output_schema) if tool.output_schema else {}
    except msgspec.DecodeError:
        return {}
    return read if isinstance(read, dict) else {}


def _holds_rows(member: Any) -> bool:
    """True for an array of objects, or of nothing that is said."""
    if not isinstance(member, dict) or member.get("type") != "array":
        return False
    items = member.get("items")
    return not isinstance(items, dict) or not items or items.get("type", "object") == "object"


def _kinds(schema: Any) -> dict[str, str]:
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
