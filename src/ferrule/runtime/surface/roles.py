"""A role as a ceiling over a surface: what it grants, how, and within which limits (AML-94 to AML-96). It only tightens."""

from __future__ import annotations

from typing import Any

import msgspec

from ferrule.contracts.catalog import CatalogView
from ferrule.errors import SurfaceError
from ferrule.model.effective import CALL, CALL_READ_ONLY, DENY, TOOL_ACCESS, Grants, Limits, access_of, strictest
from ferrule.model.hints import nearest
from ferrule.model.tool import Tool

_USABLE = ("active", "deprecated", None)


class Ceiling:
    """What one role lets through."""

    __slots__ = ("grants", "name")

    def __init__(self, name: str, role: dict[str, Any]) -> None:
        self.name = name
        self.grants = Grants(role, "tools")

    def objection(self, tool: Tool) -> str | None:
        """Why the role does not let a tool through; None when it does."""
        access = access_of(self.grants.of(tool.tool_id), TOOL_ACCESS)
        if access == CALL or (access == CALL_READ_ONLY and tool.facts.is_read_only is True):
            return None
        if access == CALL_READ_ONLY:
            return f"the role {self.name!r} grants {tool.tool_id!r} for reading only, and the tool is not declared read-only"
        if access == DENY:
            return f"the role {self.name!r} denies {tool.tool_id!r}"
        return (
            f"the role {self.name!r} does not grant {tool.tool_id!r}; add it to the role's tools, or use another role"
        )

    def limits(self, tool: Tool) -> Limits:
        """What the role says about the tool's use."""
        return strictest(grant.limits for grant in self.grants.of(tool.tool_id))


def ceiling(view: CatalogView, name: str) -> Ceiling:
    """The role of that name. Raises SurfaceError when there is none, or it may not be used."""
    record = view.record("role", name)
    if record is None:
        known = sorted({role.record_id for role in view.records("role")})
        raise SurfaceError(
            f"there is no role {name!r} in the catalog; {nearest(name, known) or listed('roles', known)}"
        )
    role = msgspec.json.decode(record.payload)
    if not isinstance(role, dict) or role.get("status") not in _USABLE:
        raise SurfaceError(
            f"the role {name!r} is not active, so nothing can be done in it; activate it and build again"
        )
    return Ceiling(name, role)


def listed(what: str, names: list[str]) -> str:
    """What there is, for a message that says what there is not."""
    if not names:
        return f"it has no {what}"
    more = f" and {len(names) - 5} more" if len(names) > 5 else ""
    return f"it has the {what} {', '.join(names[:5])}{more}"
