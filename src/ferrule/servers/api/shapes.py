"""Parts shared by the shapes of requests and answers: descriptions and bounds for the OpenAPI document, and times.

A time in a query is RFC 3339, or a shorter form. The pattern in the document accepts exactly what the server does: not
even the 30th of February.
"""

from __future__ import annotations

import re
from typing import Annotated, Any

import msgspec

from ferrule.model.timestamps import parse_iso
from ferrule.servers.api.replies import Problem


def describe(text: str, **bounds: Any) -> msgspec.Meta:
    """Returns the description and the bounds of a member."""
    return msgspec.Meta(description=text, **bounds)


def whole_number(least: int, most: int) -> msgspec.Meta:
    """Returns the bounds of a whole number, for a member of the type `float`: in JSON, 2.0 is one, too."""
    return msgspec.Meta(multiple_of=1, ge=least, le=most, extra_json_schema={"type": "integer"})


Name = Annotated[str, describe("A tool's name, alias or id.", min_length=1, max_length=200)]
Reason = Annotated[str, describe("Why; it is kept with the record.", max_length=4000)]
Record = dict[str, Any]
Limit = Annotated[int, describe("How many on one page.", ge=1, le=500)]
RESULT = {"anyOf": [{"$ref": "#/components/schemas/ToolResult"}, {"type": "null"}]}
ResultOrNone = Annotated[Any, msgspec.Meta(extra_json_schema=RESULT)]


class ToolResult(msgspec.Struct, kw_only=True):
    """The result of a call: the standard's `tool_result` record. It may have more members."""

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


_DAY = "(?:(?:0[13578]|1[02])-(?:0[1-9]|[12][0-9]|3[01])|(?:0[469]|11)-(?:0[1-9]|[12][0-9]|30)|02-(?:0[1-9]|1[0-9]|2[0-8]))"
_LEAP_YEAR = "(?:19(?:7[26]|8[048]|9[26])|[2-9][0-9](?:0[48]|[2468][048]|[13579][26])|(?:[2468][048]|[3579][26])00)"
_DATE = f"(?:(?:19[7-9][0-9]|[2-9][0-9]{{3}})-{_DAY}|{_LEAP_YEAR}-02-29)"
_HOUR_AND_MINUTE = "(?:[01][0-9]|2[0-3]):[0-5][0-9]"
PATTERN = f"{_DATE}(?:T{_HOUR_AND_MINUTE}(?::[0-5][0-9](?:[.][0-9]{{1,9}})?)?(?:Z|[+-]{_HOUR_AND_MINUTE})?)?"
"""The pattern of a time. From 1970 on: no record is older."""
_TIME = re.compile(PATTERN)
Time = Annotated[str, msgspec.Meta(extra_json_schema={"pattern": f"^{PATTERN}$"})]
"""A time as `parse_moment` reads it."""


def parse_moment(name: str, text: str | None) -> int | None:
    """Returns a time in a query as microseconds since 1970; missing parts are midnight, and UTC. Raises Problem."""
    if text is None:
        return None
    if not _TIME.fullmatch(text):
        wanted = "a time as RFC 3339 writes it, from 1970 on: 2026-01-31, 2026-01-31T12:00:00Z"
        raise Problem(400, "invalid_query", f"the parameter {name!r} takes {wanted}")
    return parse_iso(text)
