"""One tool across all callers and over time: who may use it, and its changes from release to release; for operators.

`app/preview/tool_reach` and `workspace/tool_history` work it out. Nothing is called.
"""

from __future__ import annotations

from typing import Annotated

import msgspec

from ferrule.app.preview.tool_reach import (
    AccessRule,
    CallerAccess,
    SurfaceContext,
    list_caller_access,
    list_rules_about_others,
)
from ferrule.servers.api.ask import Ask
from ferrule.servers.api.catalog.catalog import list_switched_off
from ferrule.servers.api.catalog.catalog_cache import find_catalog_cache
from ferrule.servers.api.replies import AnyReply, JsonReply, Problem, not_found
from ferrule.servers.api.shapes import describe
from ferrule.workspace.tool_history import ToolStep

_MOST_CALLERS = 200


class AccessState(msgspec.Struct, kw_only=True):
    """One caller's access to a tool."""

    kind: Annotated[str, describe("`agent`, `role`, `surface`, or `anyone` who calls as none of them.")]
    name: str
    access: Annotated[
        str,
        describe("`allow`, `ask`, `depends` (on the call), `deny`, or `blocked` before the policy is asked."),
    ]
    why: str
    is_deferred: Annotated[bool, describe("True when it finds the tool by search only.")]
    approval_from: Annotated[list[str], describe("Who demands an approval: `tool`, `role`, `agent`, `policy`.")]
    depends_on_input: Annotated[bool, describe("True when other arguments than none may be decided otherwise.")]
    rules: list[AccessRule]


class ToolAccess(msgspec.Struct, kw_only=True):
    """Access to a tool, worked out for no particular principal."""

    tool_id: str
    policy_digest: str
    items: list[AccessState]
    is_cut: Annotated[bool, describe("True when there are more callers than are told.")]
    rules_about_some: Annotated[
        list[AccessRule], describe("Rules that hold only for certain people, agents or channels.")
    ]


class ToolChanges(msgspec.Struct, kw_only=True):
    """The history of a tool, the newest change first."""

    tool_id: str
    releases: Annotated[int, describe("Releases of the workspace; 0: nothing was published yet.")]
    items: list[ToolStep]


async def get_tool_access(ask: Ask) -> AnyReply:
    """Returns who may use a tool."""
    app, tool_id = ask.edge.app, ask.parts["tool_id"]
    versions = app.catalog.versions(tool_id)
    if not versions:
        raise not_found(f"there is no tool {tool_id[:200]!r} in the catalog")
    app.generation()  # reloads a policy whose files changed
    here = SurfaceContext(
        app.catalog, app.policy, await list_switched_off(ask), app.readiness, app.surface_settings, app.services.now()
    )
    found, is_cut = list_caller_access(tool_id, here, _MOST_CALLERS)
    state = ToolAccess(
        tool_id=tool_id,
        policy_digest=app.policy.digest,
        items=[_encode_access(each) for each in found],
        is_cut=is_cut,
        rules_about_some=list_rules_about_others(versions[0], app.policy),
    )
    return JsonReply(state)


def _encode_access(reach: CallerAccess) -> AccessState:
    return AccessState(
        kind=reach.kind,
        name=reach.name,
        access=reach.access,
        why=reach.why,
        is_deferred=reach.is_deferred,
        approval_from=list(reach.approval_from),
        depends_on_input=reach.depends_on_input,
        rules=list(reach.rules),
    )


async def get_tool_changes(ask: Ask) -> AnyReply:
    """Returns the history of a tool from release to release."""
    app, tool_id = ask.edge.app, ask.parts["tool_id"]
    if not app.catalog.versions(tool_id):
        raise not_found(f"there is no tool {tool_id[:200]!r} in the catalog")
    history = await find_catalog_cache(app).load_history(app, tool_id)
    if history.problem:
        raise Problem(409, "releases_unreadable", f"the releases cannot be read: {history.problem}")
    return JsonReply(ToolChanges(tool_id=tool_id, releases=history.releases, items=list(history.steps)))
