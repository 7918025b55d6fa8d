"""Builds a surface from a catalog and a caller. Pure: the clock, ids and all that may differ between processes come in.

Tools come from `candidates` and `records`, objections from `filters`. Names, ids, `namespace.name` and aliases lead to
tools (AT-4 to AT-6): a stronger claim silences weaker ones (name or id, then a name with its namespace, then an alias),
and within a claim a visible tool beats a held one. Resources and prompts claim like an alias, so that they never cost a
tool its name. A held tool keeps its name against aliases, so that switching a tool off never sends its calls to another
one.
"""

from __future__ import annotations

from collections.abc import Callable, Container, Iterable

import msgspec

from ferrule.contracts.policy import PolicyEngine
from ferrule.contracts.surface import CatalogView, Provider, Readiness
from ferrule.errors import SurfaceError
from ferrule.model.hints import nearest
from ferrule.model.surface import SCOPES, LoadingState, Surface, SurfaceEntry, SurfaceRequest, SurfaceSettings
from ferrule.model.tool import Tool
from ferrule.model.value import JsonObject
from ferrule.runtime.surface.availability import DEFAULT_AVAILABILITY, Availability, read_availability
from ferrule.runtime.surface.candidates import Candidate, CandidateSelection, Hold, find_candidates, find_ceiling
from ferrule.runtime.surface.filters import FilterContext, FilterSubject, find_hold, find_policy_hold
from ferrule.runtime.surface.filters import check_switch as switch_filter
from ferrule.runtime.surface.records import (
    apply_constraints,
    list_roles,
    list_unresolved,
    read_surface_record,
    select_recorded_tools,
)
from ferrule.runtime.surface.search_tool import SEARCH_TOOL, SEARCH_TOOL_DIGEST

_Claims = dict[str, list[SurfaceEntry]]


def map_names(entries: Iterable[SurfaceEntry]) -> dict[str, tuple[str, ...]]:
    """Maps every callable name to the ids it leads to; several when it is ambiguous."""
    primary: _Claims = {}
    qualified: _Claims = {}
    aliases: _Claims = {}
    names: dict[str, tuple[str, ...]] = {}
    for entry in entries:
        tool = entry.tool
        _add_claim(primary if tool.exposed_as is None else aliases, tool.name, entry)
        if tool.tool_id != tool.name:
            _add_claim(primary, tool.tool_id, entry)
        _add_claim(qualified, f"{tool.namespace}.{tool.name}", entry)
        for alias in tool.aliases:
            _add_claim(aliases, alias, entry)
    # Weakest first: a stronger claim to the same name overwrites it.
    for claims in (aliases, qualified, primary):
        names.update(
            (name, _resolve_claim(claimants))
            for name, claimants in claims.items()
            if _is_counted(claimants, name, names)
        )
    return names


def _add_claim(claims: _Claims, name: str, entry: SurfaceEntry) -> None:
    claimants = claims.get(name)
    if claimants is None:
        claims[name] = [entry]
    elif claimants[-1] is not entry:
        claimants.append(entry)


def _is_counted(claimants: list[SurfaceEntry], name: str, weaker: dict[str, tuple[str, ...]]) -> bool:
    """Returns True for a claim that counts: removed tools claim a name only when no other tool does."""
    return name not in weaker or any(entry.standing != "excluded" for entry in claimants)


def _resolve_claim(claimants: list[SurfaceEntry]) -> tuple[str, ...]:
    if len(claimants) == 1:
        return (claimants[0].tool.tool_id,)
    for standings in (("loaded", "deferred"), ("blocked",), ("excluded",)):
        ids = dict.fromkeys(entry.tool.tool_id for entry in claimants if entry.standing in standings)
        if ids:
            return tuple(ids)
    return ()


def build_surface(
    view: CatalogView,
    request: SurfaceRequest,
    *,
    engine: PolicyEngine | None,
    now: int,
    new_id: Callable[[], str],
    generation: int = 0,
    switched_off: Container[str] = (),
    readiness: Readiness | None = None,
    executors_can_run: Callable[[Tool], bool] | None = None,
    settings: SurfaceSettings = SurfaceSettings(),  # noqa: B008  # frozen
) -> Surface:
    """Builds the surface for one request.

    Without an engine nothing is held back for policy's sake; the permission phase still decides every call. Without
    `readiness` every credential counts as missing and no setup as done. Raises SurfaceError when the request names an
    agent, role or record that is not there or may not be used.
    """
    request = _check_scope(request)
    record = {} if request.surface_id is None else read_surface_record(view, request.surface_id)
    effective = apply_constraints(request, record) if record else request
    selection = select_recorded_tools(view, request, record) if record else find_candidates(view, request)
    ceilings = tuple(find_ceiling(view, name) for name in list_roles(request, record))
    context = FilterContext(effective, ceilings, switched_off, readiness, executors_can_run, engine)
    limit = settings.defer_above if request.defer_above is None else request.defer_above
    entries = _SurfaceBuilder(context).build_entries(selection, limit)
    return Surface(
        surface_id=new_id(),
        request=request,
        created_at=now,
        entries=entries,
        names=map_names(entries.values()),
        generation=generation,
        catalog_digest=view.digest,
        policy_refs=() if engine is None else (f"policy:{engine.digest}",),
        max_tool_calls=selection.max_tool_calls,
        audit_level=selection.audit_level,
        is_confined=selection.is_confined,
        tool_choice=selection.tool_choice,
        instructions=selection.instructions,
        reason=selection.reason,
        record=_add_unresolved(view, record),
    )


def _check_scope(request: SurfaceRequest) -> SurfaceRequest:
    written: str = request.scope
    if written in SCOPES:
        return request
    if written == "peer-agent":  # the core text's spelling (D-8)
        return msgspec.structs.replace(request, scope="peer_agent")
    hint = nearest(written, SCOPES) or f"use one of {', '.join(SCOPES)}"
    raise SurfaceError(f"there is no scope {written!r}; {hint}")


def _add_unresolved(view: CatalogView, record: JsonObject) -> JsonObject:
    missing = list_unresolved(view, record)
    return record | {"unresolved_tool_refs": missing} if missing else record


class _JudgedCandidate(msgspec.Struct, gc=False):
    """A candidate and what was found out about it."""

    candidate: Candidate
    stated: Availability
    hold: Hold | None
    provider: Provider | None = None


class _SurfaceBuilder:
    """Weighs candidates and gives each its one standing."""

    def __init__(self, context: FilterContext) -> None:
        self.context = context
        self.request = context.request

    def build_entries(self, selection: CandidateSelection, limit: int) -> dict[str, SurfaceEntry]:
        """Builds an entry for every considered tool, by id; adds the search tool when one is deferred."""
        weighed = [self._judge(candidate) for candidate in selection.candidates.values()]
        # Counted before any is deferred: what would be loaded is what crowds a surface.
        shown = sum(one.hold is None and self._is_offered(one.candidate) for one in weighed)
        entries = {one.candidate.tool.tool_id: self._make_entry(one, shown > limit) for one in weighed}
        if any(entry.standing == "deferred" for entry in entries.values()):
            entries[SEARCH_TOOL.tool_id] = self._make_search_entry()
        return entries

    def _judge(self, candidate: Candidate) -> _JudgedCandidate:
        tool = candidate.tool
        stated = read_availability(tool)
        # A hold known from the start saves asking the filters.
        objection = candidate.hold or find_hold(FilterSubject(tool, stated, self.context))
        if self.context.ceilings:
            self._add_limits(candidate)
        if objection is None and self.context.engine is not None:
            objection = find_policy_hold(self.context.engine, _make_loaded(candidate), self.request)
        provider = None if objection is not None else self._find_provider(tool)
        return _JudgedCandidate(candidate, stated, objection, provider)

    def _find_provider(self, tool: Tool) -> Provider | None:
        readiness = self.context.readiness
        if readiness is None:
            return None
        try:
            return readiness.provider(tool)
        except Exception as error:
            return Provider("its provider", is_failed=True, detail=f"asking about it failed ({type(error).__name__})")

    def _add_limits(self, candidate: Candidate) -> None:
        """Adds an approval if a role asks for it, and the smallest number of calls any role allows."""
        for role in self.context.ceilings:
            approval, calls = role.find_limits(candidate.tool)
            if approval and "role" not in candidate.approval_from:
                candidate.approval_from = (*candidate.approval_from, "role")
            if calls is not None:
                candidate.max_calls_per_run = min(calls, candidate.max_calls_per_run or calls)

    def _is_offered(self, candidate: Candidate) -> bool:
        """Returns True for a tool that models are shown. Resources and prompts are listed elsewhere."""
        if candidate.tool.exposed_as is not None:
            return False
        return candidate.is_named or candidate.tool.lifecycle != "deprecated"

    def _make_entry(self, weighed: _JudgedCandidate, is_crowded: bool) -> SurfaceEntry:
        candidate = weighed.candidate
        if weighed.hold is not None:
            return _make_held(candidate, weighed.hold)
        if weighed.provider is not None:
            return _make_pending(candidate, weighed.provider)
        tool_id = candidate.tool.tool_id
        is_offered = self._is_offered(candidate)
        if tool_id in self.request.selected:
            return _make_loaded(candidate, self.request.selected[tool_id], is_offered)
        if _is_deferred(candidate, weighed.stated, is_crowded):
            return _make_deferred(candidate, is_offered)
        return _make_loaded(candidate, None, is_offered)

    def _make_search_entry(self) -> SurfaceEntry:
        candidate = Candidate(SEARCH_TOOL, SEARCH_TOOL_DIGEST)
        objection = find_hold(FilterSubject(SEARCH_TOOL, DEFAULT_AVAILABILITY, self.context), (switch_filter,))
        if objection is None and self.context.engine is not None:
            objection = find_policy_hold(self.context.engine, _make_loaded(candidate), self.request)
        return _make_loaded(candidate) if objection is None else _make_held(candidate, objection)


def _is_deferred(candidate: Candidate, stated: Availability, is_crowded: bool) -> bool:
    """Decides by the surface record's wish first, then `always_load`, then every reason to defer (AT-37)."""
    if candidate.wish in ("loaded", "deferred"):
        return candidate.wish == "deferred"
    if stated.is_always_loaded or candidate.tool.exposed_as is not None:
        return False
    return is_crowded or stated.is_deferred or candidate.tool.lifecycle == "deferred"


def _make_loaded(candidate: Candidate, selection_ref: str | None = None, is_offered: bool = True) -> SurfaceEntry:
    return SurfaceEntry(
        candidate.tool,
        candidate.digest,
        "loaded",
        detail="deprecated: use it only where it is used already" if candidate.tool.lifecycle == "deprecated" else "",
        approval_from=candidate.approval_from,
        max_calls_per_run=candidate.max_calls_per_run,
        selection_ref=selection_ref,
        pinned=candidate.pinned,
        is_offered=is_offered,
    )


def _make_deferred(candidate: Candidate, is_offered: bool) -> SurfaceEntry:
    entry = _make_loaded(candidate, None, is_offered)
    detail = entry.detail or "its schema is shown once it is selected"
    return msgspec.structs.replace(entry, standing="deferred", loading_state="deferred", detail=detail)


def _make_pending(candidate: Candidate, provider: Provider) -> SurfaceEntry:
    state: LoadingState = "unavailable" if provider.is_failed else "pending_provider"
    word = "cannot be reached" if provider.is_failed else "is still connecting"
    return msgspec.structs.replace(
        _make_loaded(candidate),
        standing="deferred",
        reason="deferred_until_discovered",
        detail=f"{provider.name!r} {word}" + (f": {provider.detail}" if provider.detail else ""),
        loading_state=state,
        pending_provider=provider.name,
    )


def _make_held(candidate: Candidate, objection: Hold) -> SurfaceEntry:
    return msgspec.structs.replace(
        _make_loaded(candidate),
        standing=objection.standing,
        reason=objection.reason,
        detail=objection.detail,
        loading_state="unavailable",
        is_judged=objection.is_judged,
    )
