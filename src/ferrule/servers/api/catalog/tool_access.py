"""One tool over the catalog's whole population and over time: who may use it, and what became of it. For who administers."""

from __future__ import annotations

from typing import Annotated, Any

import msgspec

from ferrule.app.preview.tool_reach import Circumstances, Reach, RuleOn, reach_of, rules_about_others
from ferrule.servers.api.ask import Ask
from ferrule.servers.api.catalog.catalog import off_ids
from ferrule.servers.api.catalog.catalog_cache import bookcase
from ferrule.servers.api.replies import Problem, Replied, Reply, not_found
from ferrule.servers.api.shapes import says
from ferrule.workspace.tool_history import Step

_MOST_CALLERS = 200


class AccessRule(msgspec.Struct, kw_only=True):
    """A rule that concerns somebody's calls of a tool."""

    rule_id: str
    decision: str
    place: Annotated[str, says("Where it is written.")]
    reason: str
    condition: Annotated[str, says("What a call must be like for it to hold, in words; empty: anything.")]
    is_always: Annotated[bool, says("False when it holds for some calls only.")]


class AccessState(msgspec.Struct, kw_only=True):
    """What one caller may do with a tool."""

    kind: Annotated[str, says("`agent`, `role`, `surface`, or `anyone` who calls as none of them.")]
    name: str
    access: Annotated[
        str,
        says("`allow`, `ask`, `depends` (on the call), `deny`, or `blocked` before the policy is asked."),
    ]
    why: str
    is_deferred: Annotated[bool, says("True when it finds the tool by search only.")]
    approval_from: Annotated[list[str], says("Who demands an approval: `tool`, `role`, `agent`, `policy`.")]
    depends_on_input: Annotated[bool, says("True when other arguments than none may be decided otherwise.")]
    rules: list[AccessRule]


class ToolAccess(msgspec.Struct, kw_only=True):
    """Who may use a tool, asked as somebody in particular on nobody's behalf."""

    tool_id: str
    policy_digest: str
    items: list[AccessState]
    is_cut: Annotated[bool, says("True when there are more callers than are told.")]
    rules_about_some: Annotated[list[AccessRule], says("Rules that hold only for certain people, agents or channels.")]


class ToolStep(msgspec.Struct, kw_only=True):
    """One change of a tool."""

    to: Annotated[str, says("`release 3`, `in force`, or a version.")]
    at: str | None
    by: str | None
    message: str | None
    change: Annotated[str, says("`added`, `removed` or `changed`.")]
    old_version: str | None
    new_version: str | None
    is_breaking: bool
    breaking: Annotated[list[str], says("What breaks callers.")]
    weakened: Annotated[list[str], says("What its results no longer promise.")]
    has_counterexample: bool
    counterexample: Annotated[Any, says("Arguments that were accepted and no longer are.")]
    is_undecided: Annotated[bool, says("True when nobody can tell whether callers break.")]
    fields: Annotated[list[str], says("What of the definition differs.")]
    needed: Annotated[str, says("The version bump that takes.")]
    made: Annotated[str | None, says("The bump that was made.")]


class ToolChanges(msgspec.Struct, kw_only=True):
    """What became of a tool, the newest first."""

    tool_id: str
    releases: Annotated[int, says("Releases of the workspace; 0: nothing was published yet.")]
    items: list[ToolStep]


async def get_tool_access(ask: Ask) -> Replied:
    """Who may use a tool."""
    app, tool_id = ask.edge.app, ask.parts["tool_id"]
    versions = app.catalog.versions(tool_id)
    if not versions:
        raise not_found(f"there is no tool {tool_id[:200]!r} in the catalog")
    app.generation()  # reads the policy again, where its files changed
    here = Circumstances(
        app.catalog, app.policy, await off_ids(ask), app.readiness, app.surface_settings, app.services.now()
    )
    found, is_cut = reach_of(tool_id, here, _MOST_CALLERS)
    state = ToolAccess(
        tool_id=tool_id,
        policy_digest=app.policy.digest,
        items=[_access(each) for each in found],
        is_cut=is_cut,
        rules_about_some=[_rule(rule) for rule in rules_about_others(versions[0], app.policy)],
    )
    return Reply(state)


def _access(reach: Reach) -> AccessState:
    return AccessState(
        kind=reach.kind,
        name=reach.name,
        access=reach.access,
        why=reach.why,
        is_deferred=reach.is_deferred,
        approval_from=list(reach.approval_from),
        depends_on_input=reach.depends_on_input,
        rules=[_rule(rule) for rule in reach.rules],
    )


def _rule(rule: RuleOn) -> AccessRule:
    return AccessRule(**msgspec.structs.asdict(rule))


async def get_tool_changes(ask: Ask) -> Replied:
    """What became of a tool from release to release."""
    app, tool_id = ask.edge.app, ask.parts["tool_id"]
    if not app.catalog.versions(tool_id):
        raise not_found(f"there is no tool {tool_id[:200]!r} in the catalog")
    history = await bookcase(app).history(app, tool_id)
    if history.problem:
        raise Problem(409, "releases_unreadable", f"the releases cannot be read: {history.problem}")
    items = [_step(step) for step in history.steps]
    return Reply(ToolChanges(tool_id=tool_id, releases=history.releases, items=items))


def _step(step: Step) -> ToolStep:
    told: dict[str, Any] = {
        name: list(value) if isinstance(value, tuple) else value for name, value in msgspec.structs.asdict(step).items()
    }
    return ToolStep(**told)
