"""Phase 3: nothing runs unless the caller had seen the tool's schema, even when the arguments happen to fit (AT-110)."""

from __future__ import annotations

from ferrule.model.failure import Stop
from ferrule.runtime.pipeline.call import Call
from ferrule.runtime.pipeline.prepared import Prepared
from ferrule.runtime.pipeline.services import Services


def check_schema_loaded(call: Call, services: Services) -> Stop | None:
    """Adds nothing but the proof. Stops with `schema_not_loaded`, and says how to load it."""
    return None if call.prepared.is_loaded else not_loaded(call.prepared, call.tool_name)


def not_loaded(prepared: Prepared, tool_name: str) -> Stop:
    """The refusal of a call whose tool's schema was not loaded."""
    entry = prepared.entry
    name = entry.tool.name if entry is not None else tool_name
    return Stop(
        "schema_not_loaded",
        f"the schema of {name!r} is not loaded yet, so its arguments cannot be checked;"
        f' call search_tools with {{"query": "select:{name}"}} first, then call it again',
    )
