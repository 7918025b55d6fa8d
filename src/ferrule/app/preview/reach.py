"""The tools that an agent, a role or a surface may reach: how each is loaded there, and the policy's verdict.

Reads a surface that was built for the purpose; nothing is called or recorded. Where the policy depends on arguments, on the
principal or on the credential, the verdict says so and does not guess.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable
from typing import Any, Literal, NamedTuple, get_args

import msgspec

from ferrule.app.preview.preview import Verdict, preview_tool
from ferrule.contracts.policy import PolicyEngine
from ferrule.contracts.surface import CatalogView
from ferrule.definitions.content.tokens import estimate_tokens as estimated
from ferrule.model.surface import Surface, SurfaceEntry, SurfaceRequest, SurfaceSettings
from ferrule.model.tool import Record
from ferrule.model.value import dig
from ferrule.runtime.surface.render import render
from ferrule.runtime.surface.search_tool import SEARCH_TOOL

Kind = Literal["agent", "role", "surface", "none"]
KINDS: tuple[Kind, ...] = get_args(Kind)
Loading = Literal["loaded", "deferred", "hidden", "gone"]
"""`hidden`: it can be called by name and is not listed. `gone`: unknown on that surface."""


class ReachableTool(NamedTuple):
    """One tool, as it is on a surface."""

    entry: SurfaceEntry
    verdict: Verdict
    loading: Loading
    why: str


class ToolUser(msgspec.Struct, frozen=True, kw_only=True):
    """An agent, role or surface that reaches tools."""

    kind: Kind
    id: str
    title: str = ""
    description: str = ""
    version: str | None = None
    dialect: str = ""
    role: str | None = None
    """The role of an agent, as its file names it."""
    status: str = ""


def list_users(catalog: CatalogView, kind: Kind) -> list[ToolUser]:
    """Returns all users of a kind in the catalog, by id; of several versions the newest."""
    kinds = ("agent", "manifest") if kind == "agent" else (kind,) if kind != "none" else ()
    ids = sorted({(record.record_id, name) for name in kinds for record in catalog.records(name)})
    found = [(catalog.record(name, record_id), kind) for record_id, name in ids]
    return [_make_user(record, kind) for record, kind in found if record is not None]


def find_user(catalog: CatalogView, kind: Kind, name: str) -> ToolUser | None:
    """Finds one user by name; None when there is none."""
    if kind == "none":
        return ToolUser(kind="none", id="", title="No agent", description="Keys that name no agent, role or surface.")
    for record_kind in ("agent", "manifest") if kind == "agent" else (kind,):
        record = catalog.record(record_kind, name)
        if record is not None:
            return _make_user(record, kind)
    return None


def _make_user(record: Record, kind: Kind) -> ToolUser:
    payload: Any = msgspec.json.decode(record.payload)
    about = dig(payload, ("definition", "meta")) or dig(payload, ("meta",)) or dig(payload, ("metadata",)) or {}
    said = about if isinstance(about, dict) else {}
    status = dig(payload, ("definition", "status")) or dig(payload, ("status",))
    role = dig(payload, ("definition", "role"))
    return ToolUser(
        kind=kind,
        id=record.record_id,
        title=_text(said.get("name")),
        description=_text(said.get("description")) or _text(dig(payload, ("surface_reason",))),
        version=record.version,
        dialect=record.dialect,
        role=role if isinstance(role, str) else None,
        status=_text(status),
    )


def _text(value: object) -> str:
    return value if isinstance(value, str) else ""


def make_surface_request(
    kind: Kind, name: str, *, principal: str, tenant: str, channel: str = "console"
) -> SurfaceRequest:
    """Makes the request for a surface of this user."""
    return SurfaceRequest(
        principal=principal,
        channel=channel,
        tenant=tenant,
        agent=name if kind == "agent" else None,
        role=name if kind == "role" else None,
        surface_id=name if kind == "surface" else None,
    )


def list_entries(surface: Surface) -> list[SurfaceEntry]:
    """Returns the tools of a surface by id, without the search tool."""
    own = (entry for entry in surface.entries.values() if entry.tool is not SEARCH_TOOL)
    return sorted(own, key=lambda entry: entry.tool.tool_id)


def reach_tool(surface: Surface, entry: SurfaceEntry, engine: PolicyEngine) -> ReachableTool:
    """Returns one tool with its verdict and how it is loaded."""
    found = preview_tool(entry, surface.request, engine)
    loading: Loading = "loaded" if entry.standing == "loaded" else "deferred"
    if not entry.is_visible:
        loading = "gone"
    elif not entry.is_offered:
        loading = "hidden"
    return ReachableTool(entry, found.verdict, loading, found.why)


def count_loading(found: Iterable[SurfaceEntry]) -> dict[str, int]:
    """Counts the tools that are loaded, deferred, hidden and gone. Cheap: no rule is asked."""
    counts: Counter[str] = Counter(dict.fromkeys(get_args(Loading), 0))
    for entry in found:
        if not entry.is_visible:
            counts["gone"] += 1
        elif not entry.is_offered:
            counts["hidden"] += 1
        else:
            counts[entry.standing] += 1
    return dict(counts)


def estimate_surface_tokens(surface: Surface, settings: SurfaceSettings) -> int:
    """Estimates the tokens a model reads before it can use the surface."""
    shown = render(surface, settings)
    texts: list[str | bytes] = [shown.instructions]
    for tool in shown.tools:
        texts += (tool.name, tool.description, bytes(tool.input_schema))
    return estimated(*texts)
