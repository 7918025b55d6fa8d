"""Words of the OpenAPI document: descriptions and bounds of members, shared by the shapes of requests and answers."""

from __future__ import annotations

from typing import Annotated, Any

import msgspec


def says(text: str, **bounds: Any) -> msgspec.Meta:
    """What a member means, and what it may be."""
    return msgspec.Meta(description=text, **bounds)


def whole(least: int, most: int) -> msgspec.Meta:
    """A whole number, for a member of the type `float`: in JSON 2.0 is one, too."""
    return msgspec.Meta(multiple_of=1, ge=least, le=most, extra_json_schema={"type": "integer"})


Name = Annotated[str, says("A tool's name, alias or id.", min_length=1, max_length=200)]
Reason = Annotated[str, says("Why; it is kept with the record.", max_length=4000)]
Record = dict[str, Any]
Limit = Annotated[int, says("How many on one page.", ge=1, le=500)]
RESULT = {"anyOf": [{"$ref": "#/components/schemas/ToolResult"}, {"type": "null"}]}
ResultOrNone = Annotated[Any, msgspec.Meta(extra_json_schema=RESULT)]


class ToolResult(msgspec.Struct, kw_only=True):
    """How a call ended: the standard's `tool_result` record. It may have more members."""

    schema_version: str
    result_id: str
    invocation_id: str
    status: str
    created_at: str
    is_error: bool
    content: list[Record]
    redaction_state: str
    structured_content: Any = None
    error: Record | msgspec.UnsetType = msgspec.UNSET
