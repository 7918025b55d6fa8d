"""Selects the tools a surface considers: an agent's, a surface record's, or every tool; and a role as a ceiling over
them.

Tools are looked up by id, so an agent with twenty tools costs twenty look-ups however large the catalog is. A tool
that is not considered is not surfaced: calling it is answered like that, without looking further (AT-64, AML-88). A
role says what it grants, how, and within which limits (AML-94 to AML-96); it only tightens.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence

import msgspec

from ferrule.contracts.surface import CatalogEntry, CatalogView
from ferrule.errors import SurfaceError
from ferrule.model.effective import CALL, CALL_READ_ONLY, DENY, TOOL_ACCESS, CallLimits, Grants, access_of, strictest
from ferrule.model.hints import nearest
from ferrule.model.surface import HoldReason, Standing, SurfaceRequest
from ferrule.model.tool import Record, Tool
from ferrule.model.value import JsonObject, dig, is_integer

_USABLE = ("active", "deprecated", None)


class RoleCeiling:
    """The limits of one role."""

    __slots__ = ("grants", "name")

    def __init__(self, name: str, role: JsonObject) -> None:
        self.name = name
        self.grants = Grants(role, "tools")

    def why_refused(self, tool: Tool) -> str | None:
        """Returns why the role does not grant a tool; None when it does."""
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

    def find_limits(self, tool: Tool) -> CallLimits:
        """Finds the role's limits on a tool's use."""
        return strictest(grant.limits for grant in self.grants.of(tool.tool_id))


def find_ceiling(view: CatalogView, name: str) -> RoleCeiling:
    """Finds the role of that name. Raises SurfaceError when it is missing or inactive."""
    record = view.record("role", name)
    if record is None:
        known = sorted({role.record_id for role in view.records("role")})
        raise SurfaceError(
            f"there is no role {name!r} in the catalog; {nearest(name, known) or format_known('roles', known)}"
        )
    role = msgspec.json.decode(record.payload)
    if not isinstance(role, dict) or role.get("status") not in _USABLE:
        raise SurfaceError(
            f"the role {name!r} is not active, so nothing can be done in it; activate it and build again"
        )
    return RoleCeiling(name, role)


def format_known(what: str, names: list[str]) -> str:
    """Formats the known names, for a message about an unknown one."""
    if not names:
        return f"it has no {what}"
    more = f" and {len(names) - 5} more" if len(names) > 5 else ""
    return f"it has the {what} {', '.join(names[:5])}{more}"


class Hold(msgspec.Struct, frozen=True, gc=False):
    """A reason to hide a tool, and whether it may come back (`blocked`) or was removed (`excluded`)."""

    standing: Standing
    reason: HoldReason
    detail: str
    is_judged: bool = False
    """True when a call is refused by the policy itself, not by the surface."""


class Candidate(msgspec.Struct, gc=False):
    """A tool a surface considers, with what its agent says about it."""

    tool: Tool
    digest: str
    approval_from: tuple[str, ...] = ()
    max_calls_per_run: int | None = None
    pinned: str | None = None
    is_named: bool = False
    """True when an agent, a record or a pin names the tool, so that it is offered although deprecated."""
    hold: Hold | None = None
    """A reason against it that is known from the start."""
    wish: Standing | None = None
    """Where a surface record wants it."""


class CandidateSelection(msgspec.Struct):
    """The tools and settings a surface is made of."""

    candidates: dict[str, Candidate]
    reason: str
    tool_choice: str = "auto"
    instructions: str = ""
    max_tool_calls: int | None = None
    audit_level: str = ""
    is_confined: bool = False


def find_candidates(view: CatalogView, request: SurfaceRequest) -> CandidateSelection:
    """Finds the tools of the request's agent, or every tool of the catalog. Raises SurfaceError for an unknown agent."""
    if request.agent is None:
        found = {one.tool.tool_id: _make_candidate(view, request, one) for one in view.list_preferred()}
        return CandidateSelection(found, "every tool of the catalog")
    agent, manifest = view.record("agent", request.agent), view.record("manifest", request.agent)
    if agent is not None and manifest is not None:
        raise SurfaceError(f"{request.agent!r} is the name of an AML agent and of an ADL manifest; rename one of them")
    if agent is not None:
        return _select_agent_tools(view, request, agent)
    if manifest is not None:
        return _select_manifest_tools(view, request, manifest)
    raise _unknown_agent_error(view, request.agent)


def _unknown_agent_error(view: CatalogView, name: str) -> SurfaceError:
    known = sorted({record.record_id for kind in ("agent", "manifest") for record in view.records(kind)})
    return SurfaceError(
        f"there is no agent {name!r} in the catalog; {nearest(name, known) or format_known('agents', known)}"
    )


def _select_agent_tools(view: CatalogView, request: SurfaceRequest, record: Record) -> CandidateSelection:
    """Selects the tools in an AML agent's compiled payload, each in the version it was compiled with."""
    payload: JsonObject = msgspec.json.decode(record.payload)
    status = dig(payload, ("definition", "status"))
    if status == "disabled":
        raise SurfaceError(f"the agent {record.record_id!r} is disabled; activate it and build again")
    found: dict[str, Candidate] = {}
    for entry in payload.get("tools", ()):
        candidate = _find_compiled(view, request, record.record_id, entry)
        if candidate is not None:
            found[candidate.tool.tool_id] = candidate
    calls = dig(payload, ("definition", "runtime", "max_tool_calls"))
    level = dig(payload, ("definition", "policies", "audit_level"))
    return CandidateSelection(
        found,
        f"the tools of the agent {record.record_id!r}",
        payload.get("tool_choice", "auto"),
        payload.get("instructions", ""),
        calls if is_integer(calls) else None,
        level if isinstance(level, str) else "",
        # Only a plain true lets its tools reach hosts that are not listed.
        dig(payload, ("definition", "policies", "allow_external_http")) is not True,
    )


def _find_compiled(view: CatalogView, request: SurfaceRequest, agent: str, entry: JsonObject) -> Candidate | None:
    versions = view.versions(entry["tool_id"])
    if not versions:
        return None
    compiled = next((one for one in versions if one.digest == entry["digest"]), None)
    wanted = request.pins.get(entry["tool_id"], entry["version"])
    hold = None
    if compiled is None:
        hold = _make_hold(
            "policy_blocked", f"the agent {agent!r} was compiled with another definition of it; build again"
        )
    elif wanted != entry["version"]:
        detail = f"the agent {agent!r} was compiled with version {entry['version']}, so version {wanted} is not used"
        hold = _make_hold("policy_blocked", detail)
    chosen = compiled or versions[0]
    return Candidate(
        chosen.tool,
        chosen.digest,
        tuple(entry.get("approval_from", ())),
        entry.get("max_calls_per_run"),
        entry["version"],
        is_named=True,
        hold=hold,
    )


def _select_manifest_tools(view: CatalogView, request: SurfaceRequest, record: Record) -> CandidateSelection:
    """Selects the tools an ADL manifest lists: their namespace is the agent's name, their version the manifest's."""
    items = dig(msgspec.json.decode(record.payload), ("spec", "tools"))
    names = [item.get("id") for item in items if isinstance(item, dict)] if isinstance(items, list) else []
    found: dict[str, Candidate] = {}
    for name in names:
        versions = [one for one in view.versions(f"{record.record_id}.{name}") if one.tool.dialect == "adl"]
        own = next((one for one in versions if one.tool.version == record.version), None)
        if own is not None:
            found[own.tool.tool_id] = _make_pinned(request, versions, own, is_named=True)
    return CandidateSelection(found, f"the tools of the agent {record.record_id!r}")


def look_up_candidates(view: CatalogView, request: SurfaceRequest, tool_ids: Iterable[str]) -> dict[str, Candidate]:
    """Looks up candidates for these ids; skips ids that are not in the catalog."""
    found: dict[str, Candidate] = {}
    for tool_id in tool_ids:
        if versions := view.versions(tool_id):
            found[tool_id] = _make_pinned(request, versions, versions[0], is_named=True)
    return found


def _make_candidate(view: CatalogView, request: SurfaceRequest, one: CatalogEntry) -> Candidate:
    """Returns a tool of the catalog as it is, in the version the request asks for."""
    tool = one.tool
    if tool.tool_id in request.pins:
        return _make_pinned(request, view.versions(tool.tool_id), one)
    sources = ("tool",) if tool.approval_required else ()
    hold = _hold_contested(tool) if one.is_contested else None
    return Candidate(tool, one.digest, sources, tool.max_calls_per_run, hold=hold)


def _make_pinned(
    request: SurfaceRequest, versions: Sequence[CatalogEntry], preferred: CatalogEntry, *, is_named: bool = False
) -> Candidate:
    wanted = request.pins.get(preferred.tool.tool_id)
    chosen = preferred if wanted is None else next((one for one in versions if one.tool.version == wanted), None)
    tool = (chosen or preferred).tool
    candidate = Candidate(
        tool,
        (chosen or preferred).digest,
        ("tool",) if tool.approval_required else (),
        tool.max_calls_per_run,
        wanted,
        is_named=is_named or wanted is not None,
    )
    if preferred.is_contested:
        candidate.hold = _hold_contested(tool)
    elif chosen is None:
        there = ", ".join(one.tool.version or "none" for one in versions)
        candidate.hold = _make_hold("feature_disabled", f"version {wanted} is not in the catalog, which has {there}")
    return candidate


def _hold_contested(tool: Tool) -> Hold:
    detail = (
        f"several differently named tools have the id {tool.tool_id!r}, so it is not clear which is meant; rename one"
    )
    return _make_hold("feature_disabled", detail)


def _make_hold(reason: HoldReason, detail: str) -> Hold:
    return Hold("blocked", reason, detail)
