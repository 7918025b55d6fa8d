"""What a result looks like: as the definition's output schema has it.

An object with a member for rows (`rows`, or an array of objects by another name) gets them there. An object with other members is
one row. Without a word from the schema it is `{"rows": […], "row_count": n}`.
"""

from __future__ import annotations

from collections.abc import AsyncIterator, Mapping
from typing import Any

import msgspec

from ferrule.contracts.executor import ExecutionFailed
from ferrule.model.tool import Tool
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
