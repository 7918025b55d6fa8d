"""Reads the catalog records that a surface follows: its set of tools (AT-63), and its scheduler policy.

A surface record is followed within what the agent may use. A scheduler policy stands on top of the workspace's own;
one that cannot be understood is an error, since somebody relies on it. `build` and the app stand above.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import get_args

import msgspec

from ferrule.contracts.surface import CatalogView
from ferrule.errors import SurfaceError
from ferrule.model.hints import nearest
from ferrule.model.scheduling import LaneScope, SchedulerPolicy
from ferrule.model.surface import HOLD_REASONS, HoldReason, Standing, SurfaceRequest
from ferrule.model.value import JsonObject
from ferrule.runtime.surface.candidates import (
    Candidate,
    CandidateSelection,
    Hold,
    find_candidates,
    format_known,
    look_up_candidates,
)

_LISTS: tuple[tuple[str, Standing | None], ...] = (
    ("tool_refs", None),
    ("loaded_tools", "loaded"),
    ("deferred_tools", "deferred"),
    ("blocked_tools", "blocked"),
    ("excluded_tools", "excluded"),
)
"""A tool in several lists goes by the last of them, which is the strictest."""
_SHOWN = ("tool_refs", "loaded_tools", "deferred_tools")


def read_surface_record(view: CatalogView, surface_id: str) -> JsonObject:
    """Reads the record of that id. Raises SurfaceError when there is none."""
    record = view.record("surface", surface_id)
    if record is None:
        known = sorted({surface.record_id for surface in view.records("surface")})
        hint = nearest(surface_id, known) or format_known("surfaces", known)
        raise SurfaceError(f"there is no surface {surface_id!r} in the catalog; {hint}")
    payload: JsonObject = msgspec.json.decode(record.payload)
    return payload


def apply_constraints(request: SurfaceRequest, record: JsonObject) -> SurfaceRequest:
    """Narrows the request by the record: its model capabilities count where the request says nothing, and only the
    agent that `role_constraints` names may use it."""
    constraints = record.get("role_constraints")
    constraints = constraints if isinstance(constraints, dict) else {}
    agent = constraints.get("agent")
    if agent is not None and agent != request.agent:
        raise SurfaceError(f"the surface {request.surface_id!r} is for the agent {agent!r}, not for {request.agent!r}")
    capabilities = record.get("model_capabilities")
    return msgspec.structs.replace(
        request,
        model_capabilities={**(capabilities if isinstance(capabilities, dict) else {}), **request.model_capabilities},
        is_interactive=request.is_interactive and constraints.get("interactive") is not False,
    )


def list_roles(request: SurfaceRequest, record: JsonObject) -> tuple[str, ...]:
    """Lists the roles that bound the surface: the request's, and the one the record demands."""
    constraints = record.get("role_constraints")
    demanded = constraints.get("role") if isinstance(constraints, dict) else None
    names = (request.role, demanded if isinstance(demanded, str) else None)
    return tuple(dict.fromkeys(name for name in names if name))


def select_recorded_tools(view: CatalogView, request: SurfaceRequest, record: JsonObject) -> CandidateSelection:
    """Selects the tools the record lists, of those the agent may use, each with the standing it wants.

    A record that only holds tools back leaves all the others.
    """
    wishes = _read_wishes(view, record)
    is_listing = any(key in record for key in _SHOWN)
    if request.agent is not None or not is_listing:
        selection = find_candidates(view, request)
        known = selection.candidates
        found = {tool_id: known[tool_id] for tool_id in wishes if tool_id in known} if is_listing else known
    else:
        selection, found = CandidateSelection({}, ""), look_up_candidates(view, request, wishes)
    for tool_id, wish in wishes.items():
        if tool_id in found:
            _apply_wish(found[tool_id], *wish)
    choice = record.get("default_tool_choice")
    selection.candidates = found
    selection.reason = f"the tools of the surface record {request.surface_id!r}"
    # An agent that is to use no tool still uses none.
    if isinstance(choice, str) and selection.tool_choice != "none":
        selection.tool_choice = choice
    return selection


def list_unresolved(view: CatalogView, record: JsonObject) -> list[str]:
    """Lists the tools of the record that the catalog lacks."""
    return sorted({ref for key, _ in _LISTS for ref, _ in _list_entries(record, key) if not _find_ids(view, ref)})


def _apply_wish(candidate: Candidate, standing: Standing | None, entry: JsonObject) -> None:
    candidate.is_named, candidate.wish = True, standing
    if candidate.hold is None and standing in ("blocked", "excluded"):
        written = entry.get("reason")
        reason: HoldReason = next((known for known in HOLD_REASONS if known == written), "policy_blocked")
        detail = entry.get("detail") or f"the surface record holds it back: {written or 'no reason given'}"
        candidate.hold = Hold(standing, reason, str(detail))


def _read_wishes(view: CatalogView, record: JsonObject) -> dict[str, tuple[Standing | None, JsonObject]]:
    found: dict[str, tuple[Standing | None, JsonObject]] = {}
    for key, standing in _LISTS:
        for ref, entry in _list_entries(record, key):
            ids = _find_ids(view, ref)
            if len(ids) > 1 and key in _SHOWN:  # a name of several tools shows none of them, and holds back all (AT-6)
                continue
            found.update((tool_id, (standing, entry)) for tool_id in ids)
    return found


def _find_ids(view: CatalogView, ref: str) -> Sequence[str]:
    """Returns the id itself, else the ids of the tools a name may mean."""
    return (ref,) if view.versions(ref) else view.find_ids(ref)


def _list_entries(record: JsonObject, key: str) -> Iterable[tuple[str, JsonObject]]:
    written = record.get(key)
    for entry in written if isinstance(written, list) else ():
        if isinstance(entry, str):
            yield entry, {}
        elif isinstance(entry, dict) and isinstance(ref := entry.get("tool_id") or entry.get("name"), str):
            yield ref, entry


_REF = "scheduler_policy_ref"


def find_scheduler_policy(catalog: CatalogView, request: SurfaceRequest, usual: SchedulerPolicy) -> SchedulerPolicy:
    """Finds the policy of a request: the record it names, or the one its surface record names; else the usual one.

    Raises SurfaceError for a record that is missing, or has values no policy can follow: the caller relies on it.
    """
    named = request.scheduler_policy or _find_policy_ref(catalog, request)
    if named is None:
        return usual
    record = catalog.record("scheduler_policy", named)
    if record is None:
        raise SurfaceError(f"the catalog has no scheduler policy {named!r}; correct the name, or add the record")
    said = {name: value for name, value in _read_members(record.payload).items() if name in _KNOWN}
    if said.get("scope") not in get_args(LaneScope):
        said.pop("scope", None)  # the standard leaves it free; only our own words mean something here
    try:
        return msgspec.convert({**msgspec.to_builtins(usual), **said}, SchedulerPolicy)
    except msgspec.ValidationError as error:
        raise SurfaceError(f"the scheduler policy {named!r} cannot be followed: {error}") from None


def _find_policy_ref(catalog: CatalogView, request: SurfaceRequest) -> str | None:
    record = catalog.record("surface", request.surface_id) if request.surface_id else None
    said = _read_members(record.payload) if record is not None else {}
    policy = said.get("selection_policy")
    homes = (said, policy if isinstance(policy, dict) else {})
    found = next((home[_REF] for home in homes if isinstance(home.get(_REF), str)), None)
    return found or None


def _read_members(payload: msgspec.Raw) -> JsonObject:
    value = msgspec.json.decode(payload)
    return value if isinstance(value, dict) else {}


_KNOWN = frozenset(SchedulerPolicy.__struct_fields__)
