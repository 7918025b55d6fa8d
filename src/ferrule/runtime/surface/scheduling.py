"""Which scheduler policy a surface follows: one of the catalog's records, on top of the workspace's own."""

from __future__ import annotations

from typing import Any, get_args

import msgspec

from ferrule.contracts.catalog import CatalogView
from ferrule.errors import SurfaceError
from ferrule.model.scheduling import LaneScope, SchedulerPolicy
from ferrule.model.surface import SurfaceRequest

_REF = "scheduler_policy_ref"


def scheduler_policy_of(catalog: CatalogView, request: SurfaceRequest, usual: SchedulerPolicy) -> SchedulerPolicy:
    """The policy of a request: the record it names, or the one its surface record names; else the usual one.

    Raises SurfaceError for a record that is not there, or says something no policy can mean: what is not understood is not
    passed over, for somebody relies on it.
    """
    named = request.scheduler_policy or _of_surface(catalog, request)
    if named is None:
        return usual
    record = catalog.record("scheduler_policy", named)
    if record is None:
        raise SurfaceError(f"the catalog has no scheduler policy {named!r}; correct the name, or add the record")
    said = {name: value for name, value in _members(record.payload).items() if name in _KNOWN}
    if said.get("scope") not in get_args(LaneScope):
        said.pop("scope", None)  # the standard leaves it free; only our own words mean something here
    try:
        return msgspec.convert({**msgspec.to_builtins(usual), **said}, SchedulerPolicy)
    except msgspec.ValidationError as error:
        raise SurfaceError(f"the scheduler policy {named!r} cannot be followed: {error}") from None


def _of_surface(catalog: CatalogView, request: SurfaceRequest) -> str | None:
    record = catalog.record("surface", request.surface_id) if request.surface_id else None
    said = _members(record.payload) if record is not None else {}
    policy = said.get("selection_policy")
    homes = (said, policy if isinstance(policy, dict) else {})
    found = next((home[_REF] for home in homes if isinstance(home.get(_REF), str)), None)
    return found or None


def _members(payload: msgspec.Raw) -> dict[str, Any]:
    value = msgspec.json.decode(payload)
    return value if isinstance(value, dict) else {}


_KNOWN = frozenset(SchedulerPolicy.__struct_fields__)
