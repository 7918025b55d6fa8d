"""`ferrule_result`: the tool by which a model fetches the result of a call that it did not wait for.

The tool is the server's own, reads only, and sees only the caller's own calls. It is listed where a call may have to
wait.
"""

from __future__ import annotations

from typing import Annotated

import msgspec

from ferrule.model.result import Pending
from ferrule.model.surface import SurfaceEntry
from ferrule.model.value import JsonObject
from ferrule.runtime.pipeline.session import Session
from ferrule.servers.mcp.server import Exchange
from ferrule.servers.mcp.wire.results import BARE, encode_call_result, text_result, waiting_result

LOOKUP = "ferrule_result"
_MOST_SECONDS = 60.0
_MOST_JUDGED = 200
"""Tools to judge by the policy; beyond them, a tool that may act at all counts."""
_DESCRIPTION = (
    "Gives the result of a call of yours that had not ended when you were told so: it waited for a person, or took long. Give"
    " the invocation id you were told. Nothing is called again."
)
_SCHEMA = {
    "type": "object",
    "properties": {
        "invocation_id": {"type": "string", "minLength": 1, "maxLength": 200, "description": "Such as inv_…"},
        "wait_seconds": {
            "type": "number",
            "minimum": 0,
            "maximum": _MOST_SECONDS,
            "description": "How long to wait for it, if it has not ended yet.",
        },
    },
    "required": ["invocation_id"],
    "additionalProperties": False,
}


class _LookupArguments(msgspec.Struct, forbid_unknown_fields=True):
    invocation_id: Annotated[str, msgspec.Meta(min_length=1, max_length=200)]
    wait_seconds: Annotated[float, msgspec.Meta(ge=0, le=_MOST_SECONDS)] = 0.0


def is_needed(session: Session) -> bool:
    """True when calls of a surface's tools may have to wait for a person."""
    visible = [entry for entry in session.surface.entries.values() if entry.is_visible]
    return any(map(session.may_ask, visible[:_MOST_JUDGED])) or any(map(_may_act, visible[_MOST_JUDGED:]))


def _may_act(entry: SurfaceEntry) -> bool:
    facts = entry.tool.facts
    return bool(entry.approval_from) or facts.requires_user_interaction or facts.is_read_only is not True


def describe_lookup(revision: str) -> JsonObject:
    """Returns the tool as lists show it."""
    shown: JsonObject = {"name": LOOKUP, "description": _DESCRIPTION, "inputSchema": _SCHEMA}
    shown["annotations"] = {"readOnlyHint": True, "openWorldHint": False}
    return shown if revision == "2025-03-26" else {**shown, "title": "Result of a call"}


async def look_up(exchange: Exchange, arguments: bytes) -> bytes:
    """Returns the result of one of the caller's own calls, or the reason why it still waits."""
    try:
        asked = msgspec.json.decode(arguments, type=_LookupArguments)
    except (msgspec.MsgspecError, UnicodeDecodeError, RecursionError) as error:
        return text_result(exchange, f"the arguments do not fit: {error}", is_error=True)
    found = await exchange.surface.result(asked.invocation_id, asked.wait_seconds or None)
    if found is None:
        return text_result(exchange, "there is no such call of yours", is_error=True)
    if isinstance(found, Pending):
        return waiting_result(exchange, found, how_to_look_up(exchange, found))
    return encode_call_result(exchange.server, exchange.revision, found, BARE)


def how_to_look_up(exchange: Exchange, pending: Pending) -> str:
    """Returns the instruction, for a model, to fetch a result later."""
    call = pending.invocation_id
    if is_needed(exchange.surface.session):
        return f'call {LOOKUP} with {{"invocation_id": "{call}"}}, or have a person run \'ferrule result {call}\'.'
    return f"have a person run 'ferrule result {call}'."
