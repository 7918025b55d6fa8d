"""Compares two surfaces, and finds changes that call for a new one (AT-71). For the `tool.surface.updated` event."""

from __future__ import annotations

import msgspec

from ferrule.model.surface import Surface, SurfaceEntry, SurfaceRequest
from ferrule.model.value import JsonObject

_CAUSES: dict[str, str] = {
    "features": "feature_gates",
    "model": "model_capability",
    "model_capabilities": "model_capability",
    "rules": "policy",
    "surface_id": "active_skill",
    "scope": "active_skill",
    "tenant": "workspace",
    "agent": "peer_agent",
    "is_subagent": "peer_agent",
    "is_interactive": "runtime_mode",
    "has_browser": "runtime_mode",
    "has_sandbox": "runtime_mode",
    "role": "role",
    "pins": "versions",
    "selected": "selection",
    "defer_above": "budget",
}
"""The change of the standard that each part of a request belongs to; parts not listed are the caller's identity."""


class MovedTool(msgspec.Struct, frozen=True):
    """A tool with another standing, or another definition."""

    tool_id: str
    before: str
    after: str
    reason: str | None = None
    """Why it is held back or deferred now."""
    is_redefined: bool = False
    """True when its definition changed."""


class SurfaceChange(msgspec.Struct, frozen=True, kw_only=True):
    """The differences between two surfaces. False when they show the same."""

    before: str
    """The old surface's id."""
    after: str
    added: tuple[str, ...] = ()
    removed: tuple[str, ...] = ()
    moved: tuple[MovedTool, ...] = ()
    causes: tuple[str, ...] = ()

    def __bool__(self) -> bool:
        return bool(self.added or self.removed or self.moved)

    def to_record(self) -> JsonObject:
        """Returns the data of an event."""
        record: JsonObject = msgspec.json.decode(msgspec.json.encode(self))
        return record


def compare_surfaces(old: Surface, new: Surface) -> SurfaceChange:
    """Compares a surface with the next. For the ledger: it names held tools too."""
    common = [tool_id for tool_id in old.entries if tool_id in new.entries]
    moved = (_compare_entries(old.entries[tool_id], new.entries[tool_id]) for tool_id in common)
    return SurfaceChange(
        before=old.surface_id,
        after=new.surface_id,
        added=tuple(tool_id for tool_id in new.entries if tool_id not in old.entries),
        removed=tuple(tool_id for tool_id in old.entries if tool_id not in new.entries),
        moved=tuple(one for one in moved if one is not None),
        causes=find_rebuild_causes(old, new.request, new.generation, new.catalog_digest),
    )


def _compare_entries(old: SurfaceEntry, new: SurfaceEntry) -> MovedTool | None:
    is_redefined = old.digest != new.digest
    held_alike = (old.standing, old.reason, old.loading_state) == (new.standing, new.reason, new.loading_state)
    if held_alike and not is_redefined:
        return None
    return MovedTool(new.tool.tool_id, old.standing, new.standing, new.reason, is_redefined)


def find_rebuild_causes(
    surface: Surface, request: SurfaceRequest, generation: int, catalog_digest: str | None = None
) -> tuple[str, ...]:
    """Finds the causes to make a surface again for this request; empty when it still holds.

    The generation stands for what lies outside a request: policy, credentials, switches, connected providers.
    """
    causes = [
        _CAUSES.get(name, "identity")
        for name in request.__struct_fields__
        if getattr(request, name) != getattr(surface.request, name)
    ]
    if catalog_digest is not None and catalog_digest != surface.catalog_digest:
        causes.append("workspace")
    if generation != surface.generation:
        causes.append("policy_or_credentials")
    return tuple(dict.fromkeys(causes))
