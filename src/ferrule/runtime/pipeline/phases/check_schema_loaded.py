"""Phase 3: requires that the caller has seen the tool's schema, even when the arguments happen to be valid (AT-110)."""

from __future__ import annotations

from ferrule.model.failure import Stop
from ferrule.runtime.pipeline.call import Call
from ferrule.runtime.pipeline.prepared import Prepared
from ferrule.runtime.pipeline.services import Services


def check_schema_loaded(call: Call, services: Services) -> Stop | None:
    """Stops with `schema_not_loaded`, and says how to load it."""
    return None if call.prepared.is_loaded else build_not_loaded(call.prepared, call.tool_name)


def build_not_loaded(prepared: Prepared, tool_name: str) -> Stop:
    """Builds the stop of a call whose tool's schema was not loaded."""
    entry = prepared.entry
    name = entry.tool.name if entry is not None else tool_name
    return Stop(
        "schema_not_loaded",
        f"the schema of {name!r} is not loaded yet, so its arguments cannot be checked;"
        f' call search_tools with {{"query": "select:{name}"}} first, then call it again',
    )
