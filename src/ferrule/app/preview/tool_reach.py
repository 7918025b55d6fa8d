"""The callers of one tool: the access of every agent, role and surface of the catalog, with the rules that decide.

Each gets a surface on a catalog with this tool alone, built by the same code as the surfaces of real callers. No call is
made and nothing is written.
"""

from __future__ import annotations

from collections.abc import Collection, Iterator, Mapping
from contextlib import suppress
from typing import Literal, NamedTuple

import msgspec

from ferrule.app.preview.narrowed_catalog import NarrowedCatalog
from ferrule.app.preview.preview import Verdict, preview_tool
from ferrule.contracts.policy import JudgedCall, PolicyEngine
from ferrule.contracts.surface import CatalogEntry, CatalogView, Readiness
from ferrule.errors import FerruleError
from ferrule.model.surface import SurfaceEntry, SurfaceRequest, SurfaceSettings
from ferrule.runtime.policy.classifiers import BUILTIN
from ferrule.runtime.policy.compiled import compile_rule, find_caller_mismatch, find_tool_mismatch
from ferrule.runtime.policy.engine import RuleEngine
from ferrule.runtime.policy.facts import compute_call_facts
from ferrule.runtime.policy.paths import PathBase
from ferrule.runtime.policy.records import PolicyRule
from ferrule.runtime.surface.build import build_surface

CallerKind = Literal["agent", "role", "surface", "anyone"]
_SOMEBODY = "somebody"
_HERE = "console"


class AccessRule(msgspec.Struct, frozen=True):
    """A rule about a caller's calls of a tool."""

    rule_id: str
    decision: str
    place: str
    """The file and line of the rule."""
    reason: str
    condition: str
    """The condition on calls, in words; empty: none."""
    is_always: bool
    """False when it applies to some calls only."""


class CallerAccess(msgspec.Struct, frozen=True, kw_only=True):
    """The access of one caller to a tool."""

    kind: CallerKind
    name: str
    access: Verdict
    """`blocked` also for a tool the caller does not have."""
    why: str
    is_deferred: bool = False
    """True when only a search finds it."""
    approval_from: tuple[str, ...] = ()
    depends_on_input: bool = False
    """True when the decision depends on the arguments."""
    rules: tuple[AccessRule, ...] = ()


class SurfaceContext(NamedTuple):
    """Everything that the surfaces of a process are built from."""

    catalog: CatalogView
    engine: PolicyEngine
    switched_off: Collection[str]
    readiness: Readiness | None
    settings: SurfaceSettings
    now: int


def list_caller_access(tool_id: str, here: SurfaceContext, most: int) -> tuple[list[CallerAccess], bool]:
    """Returns the access of each caller to a tool, and True when there are more than `most`. Empty for an unknown tool."""
    if not here.catalog.versions(tool_id):
        return [], False
    alone = here._replace(catalog=NarrowedCatalog(here.catalog, (tool_id,)))
    found: list[CallerAccess] = []
    for kind, name in _list_callers(here.catalog):
        if len(found) == most:
            return found, True
        found.append(_find_caller_access(tool_id, kind, name, alone))
    return found, False


def _list_callers(catalog: CatalogView) -> Iterator[tuple[CallerKind, str]]:
    yield "anyone", ""
    names = {record.record_id for kind in ("agent", "manifest") for record in catalog.records(kind)}
    yield from (("agent", name) for name in sorted(names))
    yield from (("role", name) for name in sorted({record.record_id for record in catalog.records("role")}))
    yield from (("surface", name) for name in sorted({record.record_id for record in catalog.records("surface")}))


def _find_caller_access(tool_id: str, kind: CallerKind, name: str, here: SurfaceContext) -> CallerAccess:
    request = SurfaceRequest(
        principal=_SOMEBODY,
        channel=_HERE,
        agent=name if kind == "agent" else None,
        role=name if kind == "role" else None,
        surface_id=name if kind == "surface" else None,
    )
    try:
        surface = build_surface(
            here.catalog,
            request,
            engine=here.engine,
            now=here.now,
            new_id=lambda: "srf_looked_at",
            switched_off=here.switched_off,
            readiness=here.readiness,
            settings=here.settings,
        )
    except FerruleError as error:
        return CallerAccess(kind=kind, name=name, access="blocked", why=str(error))
    entry = surface.entries.get(tool_id)
    if entry is None:
        return CallerAccess(kind=kind, name=name, access="blocked", why="it is not among its tools")
    found = preview_tool(entry, surface.request, here.engine)
    is_blocked = found.verdict == "blocked"
    return CallerAccess(
        kind=kind,
        name=name,
        access=found.verdict,
        why=found.why,
        is_deferred=entry.standing == "deferred",
        approval_from=() if is_blocked else entry.approval_from,
        depends_on_input=found.verdict == "depends",
        rules=_list_rules(entry, surface.request, here),
    )


def _make_judged_call(entry: SurfaceEntry, now: int) -> JudgedCall:
    return JudgedCall({}, compute_call_facts(entry.tool, {}, BUILTIN)[0], now)


def _list_rules(entry: SurfaceEntry, request: SurfaceRequest, here: SurfaceContext) -> tuple[AccessRule, ...]:
    """Returns the rules that apply to every call of this caller, then those that apply to some."""
    engine = here.engine
    if not isinstance(engine, RuleEngine):
        return ()
    view = engine.get_view(entry)
    base = PathBase(engine.policy.root, engine.policy.home)
    found = [
        _make_access_rule(rule, is_always=not compile_rule(rule, view, base).checks)
        for rule in engine.find_candidates(view)
        if find_tool_mismatch(rule, view) is None and find_caller_mismatch(rule, request, engine.policy.groups) is None
    ]
    with suppress(Exception):  # rules that Cedar fails on are left out; the ruling counts
        found += [
            _make_access_rule(hit.rule, is_always=True)
            for hit in engine.find_cedar_hits(view, request, _make_judged_call(entry, here.now))
        ]
    return tuple(sorted(found, key=lambda rule: not rule.is_always))


def list_rules_about_others(listed: CatalogEntry, engine: PolicyEngine) -> list[AccessRule]:
    """Returns the rules about this tool that apply only to certain people, agents or channels."""
    if not isinstance(engine, RuleEngine):
        return []
    view = engine.get_view(SurfaceEntry(listed.tool, listed.digest, "loaded"))
    anybody = SurfaceRequest(principal=_SOMEBODY, channel=_HERE)
    return [
        _make_access_rule(rule, is_always=False)
        for rule in engine.find_candidates(view)
        if find_tool_mismatch(rule, view) is None
        and find_caller_mismatch(rule, anybody, engine.policy.groups) is not None
    ]


def _make_access_rule(rule: PolicyRule, *, is_always: bool) -> AccessRule:
    return AccessRule(rule.rule_id, rule.decision, rule.place, rule.reason, describe_condition(rule), is_always)


_OPERATORS: Mapping[str, str] = {
    "equals": "is", "not": "is not", "in": "is", "not_in": "is not", "above": "is above", "below": "is below",
    "at_least": "is at least", "at_most": "is at most", "matches": "matches", "contains": "contains",
    "starts_with": "starts with",
}  # fmt: skip
_VALUES = ("path", "command", "url", "resource")
_WHO = ("principal", "agent", "channel", "tenant", "model")


def describe_condition(rule: PolicyRule) -> str:
    """Describes the condition of a rule in words: `amount_eur is above 100 and reason is "late"`."""
    said = [f"{key} is {' or '.join(getattr(rule, key))}" for key in _WHO if getattr(rule, key)]
    for key in _VALUES:
        values = getattr(rule, key)
        if values is not None:
            said.append(f"{key} fits {' or '.join(values.patterns)}")
    for condition in rule.when:
        name = ".".join(condition.path)
        if condition.operator == "present":
            said.append(f"{name} is {'given' if condition.operand is True else 'not given'}")
        else:
            said.append(f"{name} {_OPERATORS[condition.operator]} {_describe_operand(condition.operand)}")
    return " and ".join(said)


def _describe_operand(value: object) -> str:
    if isinstance(value, list | tuple):
        return " or ".join(map(_describe_operand, value))
    return msgspec.json.encode(value).decode()
