"""What a tool's definition asks to be given besides its input (ADL `inject`): the logger, the agent's config, its services.

Stubs are written from this and functions are bound by it; who makes the services is `functions`' business.
"""

from __future__ import annotations

import msgspec

from ferrule.model.tool import Tool

LOGGER, CONFIG = "logger", "config"


def entries_of(tool: Tool) -> tuple[str, ...] | None:
    """What a tool's definition injects; None when its dialect knows no such thing."""
    if tool.dialect != "adl":
        return None
    payload = msgspec.json.decode(tool.payload)
    item = payload.get("tool") if isinstance(payload, dict) else None
    inject = item.get("inject") if isinstance(item, dict) else None
    return tuple(entry for entry in inject if isinstance(entry, str)) if isinstance(inject, list) else ()
