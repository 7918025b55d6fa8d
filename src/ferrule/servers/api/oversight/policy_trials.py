"""The policy asked about calls without making them: one hypothetical call, and the workspace's table of cases.

`app/preview/trial` does the work. Nothing is called and nothing is recorded.
"""

from __future__ import annotations

import asyncio
from pathlib import Path
from typing import Annotated, Any
from weakref import WeakKeyDictionary

import msgspec

from ferrule.app.preview.trial import CaseResult, PolicyTrial, TrialCall
from ferrule.errors import FerruleError, PolicyError, SurfaceError
from ferrule.model.decision import Ruling
from ferrule.runtime.policy.cases import Case, read_cases
from ferrule.runtime.policy.check import find_policy_files
from ferrule.runtime.policy.classifiers import BUILTIN
from ferrule.runtime.policy.engine import RuleEngine, RuleExplanation, make_engine
from ferrule.runtime.policy.facts import FLAGS
from ferrule.runtime.policy.load import load_policy
from ferrule.runtime.policy.records import Demand
from ferrule.runtime.policy.text import SOURCES, describe_demands
from ferrule.servers.api.ask import Ask
from ferrule.servers.api.oversight.policies import read_stamps
from ferrule.servers.api.replies import AnyReply, JsonReply, Problem
from ferrule.servers.api.shapes import Name, Record, describe
from ferrule.servers.edge import Edge
from ferrule.settings import load_settings

CASES_FILE = "policy.test.toml"
_MOST_CASES = 1000
_NOT_ASKED = Ruling("passthrough", "", "other")
"""The ruling of a call that ends before the policy is asked: no rule, no demand, the usual mode."""
Word = Annotated[str, msgspec.Meta(max_length=300)]


class ExplainBody(msgspec.Struct, kw_only=True, forbid_unknown_fields=True):
    """A hypothetical call."""

    tool: Name
    arguments: Annotated[Record, describe("The call's arguments.")] = {}
    principal: Annotated[Word, describe("On whose behalf.")] = "somebody"
    agent: Annotated[Word | None, describe("The agent that calls.")] = None
    role: Annotated[Word | None, describe("Another role than the agent's own.")] = None
    channel: Annotated[Word, describe("The credential it comes by.")] = "policy"
    tenant: Word | None = None
    model: Word | None = None
    is_interactive: Annotated[bool, describe("False when nobody can be asked.")] = True


class RuleConsidered(msgspec.Struct, kw_only=True):
    """One rule and why it matched or did not."""

    id: str
    decision: str
    source: str
    whose: str
    place: Annotated[str, describe("Where it is written.")]
    is_matched: bool
    why: str


class PolicyExplanation(msgspec.Struct, kw_only=True):
    """The policy's decision about a hypothetical call."""

    tool_id: str
    standing: str
    behavior: str
    message: str
    reason: str
    source: str | None
    rule: Annotated[str | None, describe("The rule that decides, if one does.")]
    mode: str
    requires: Annotated[list[str], describe("Who demands an approval besides the rules: `tool`, `role`, `agent`, …")]
    demands: Annotated[list[str], describe("What an ask wants besides a yes.")]
    facts: dict[str, Any]
    failures: Annotated[list[str], describe("Facts that could not be worked out.")]
    classifiers: list[Record]
    shadow: Record | None
    rules: list[RuleConsidered]


class CaseResults(msgspec.Struct, kw_only=True):
    """The results of the table of cases against the workspace's own rules."""

    file: Annotated[str | None, describe("The table; null when there is none.")]
    problem: Annotated[str | None, describe("Why it cannot be run.")]
    passed: int
    failed: int
    cases: list[CaseResult]


async def explain_policy(ask: Ask) -> AnyReply:
    """Returns what the policy would decide about a call, and why each rule matched or did not. Nothing is called."""
    body, app = ask.body(ExplainBody), ask.edge.app
    app.generation()
    off = {switch.tool_id for switch in await app.store.list_disabled()}
    trial = PolicyTrial(app.catalog, app.policy, switched_off=off, classifiers={**BUILTIN, **app.services.classifiers})
    optional = {"tenant": body.tenant, "model": body.model, "agent": body.agent or None, "role": body.role or None}
    caller = {name: value for name, value in optional.items() if value}
    caller |= {"principal": body.principal or "somebody", "channel": body.channel or "policy"}
    try:
        tried = await trial.try_call(
            body.tool, body.arguments, {**caller, "is_interactive": body.is_interactive}, app.services.now()
        )
        considered = trial.explain(tried)
    except (PolicyError, SurfaceError) as error:
        raise Problem(404, "cannot_be_judged", str(error)) from None
    return JsonReply(_encode_explanation(tried, considered))


def _encode_explanation(tried: TrialCall, considered: list[RuleExplanation]) -> PolicyExplanation:
    found = tried.preview
    ruling = found.ruling or _NOT_ASKED
    is_by_rule = ruling.reason_type == "rule" and bool(ruling.rule_refs)
    return PolicyExplanation(
        tool_id=tried.entry.tool.tool_id,
        standing=tried.entry.standing,
        behavior=found.verdict,
        message=found.why,
        reason=ruling.reason_type,
        source=ruling.source,
        rule=ruling.rule_refs[0] if is_by_rule else None,
        mode=ruling.mode,
        requires=list(tried.entry.approval_from),
        demands=_list_demands(ruling),
        facts={name: getattr(found.judged.facts, name) for name in FLAGS} if found.judged is not None else {},
        failures=list(found.failures),
        classifiers=[msgspec.to_builtins(note) for note in ruling.classifiers],
        shadow=msgspec.to_builtins(ruling.shadow) if ruling.shadow is not None else None,
        rules=[_encode_considered(each) for each in considered],
    )


def _list_demands(ruling: Ruling) -> list[str]:
    wanted = ruling.requirement
    if ruling.behavior != "ask":
        return []
    return describe_demands(
        Demand(wanted.approvers, wanted.people, wanted.not_requester, wanted.channels, wanted.expires_seconds)
    )


def _encode_considered(each: RuleExplanation) -> RuleConsidered:
    rule = each.rule
    return RuleConsidered(
        id=rule.rule_id,
        decision=rule.decision,
        source=rule.source,
        whose=SOURCES[rule.source],
        place=rule.place,
        is_matched=each.is_matched,
        why=each.why,
    )


_results: WeakKeyDictionary[Edge, tuple[Any, CaseResults]] = WeakKeyDictionary()
"""The last results of the cases, and the state of the files they depend on."""


async def run_policy_cases(ask: Ask) -> AnyReply:
    """Runs the table of cases against the workspace's own rules, as `ferrule policy test` does."""
    app = ask.edge.app
    try:
        table = load_settings(app.root).policy
        state = (
            app.catalog.digest,
            table,
            read_stamps([*find_policy_files(app.root, table).values(), app.root / CASES_FILE]),
        )
        known = _results.get(ask.edge)
        if known is None or known[0] != state:
            known = _results[ask.edge] = (state, await _run_cases(ask))
        return JsonReply(known[1])
    except FerruleError as error:
        problem = str(error).replace(f"{app.root}/", "")
        return JsonReply(CaseResults(file=CASES_FILE, problem=problem, passed=0, failed=0, cases=[]))


async def _run_cases(ask: Ask) -> CaseResults:
    app = ask.edge.app
    cases = await asyncio.to_thread(_read_cases, app.root)
    if cases is None:
        return CaseResults(file=None, problem=None, passed=0, failed=0, cases=[])
    engine = await asyncio.to_thread(_build_own_engine, app.root)
    tested = await PolicyTrial(app.catalog, engine).test_cases(cases[:_MOST_CASES])
    passed = sum(one.passed for one in tested)
    return CaseResults(file=CASES_FILE, problem=None, passed=passed, failed=len(tested) - passed, cases=tested)


def _read_cases(root: Path) -> list[Case] | None:
    """Returns the workspace's cases; None when it has no table. Raises PolicyError."""
    try:
        text = (root / CASES_FILE).read_text(encoding="utf-8-sig")
    except FileNotFoundError:
        return None
    except (OSError, UnicodeDecodeError):
        raise PolicyError(f"{CASES_FILE} cannot be read") from None
    return read_cases(text, CASES_FILE)


def _build_own_engine(root: Path) -> RuleEngine:
    settings = load_settings(root)
    policy = load_policy(
        root, settings.policy, {}, expires_seconds=settings.approval.expires_seconds, is_personal=False
    )
    return make_engine(policy)
