"""The policy for operators: its state, the problems in its files, and its rules in order of precedence.

`policy_decisions` counts what they decided, `policy_trials` asks them about calls. This module decides nothing.
"""

from __future__ import annotations

import asyncio
from collections import Counter
from collections.abc import Iterable
from pathlib import Path
from typing import Annotated, Any, Literal
from weakref import WeakKeyDictionary

import msgspec

from ferrule.contracts.policy import PolicyEngine
from ferrule.errors import FerruleError
from ferrule.model.diagnostic import Diagnostic, Severity
from ferrule.model.outline import Library
from ferrule.model.timestamps import iso
from ferrule.runtime.policy.check import check_policy, find_policy_files
from ferrule.runtime.policy.engine import RuleEngine
from ferrule.runtime.policy.load import SETTINGS_FILE, RefusingPolicy
from ferrule.runtime.policy.records import PolicyFile, PolicyRule
from ferrule.runtime.policy.ruling import collect_modes, format_modes
from ferrule.runtime.policy.text import SOURCES, describe_conditions, describe_demands, sort_by_precedence
from ferrule.runtime.redaction.redactor import ONLY_GIVEN
from ferrule.servers.api.ask import Ask
from ferrule.servers.api.replies import AnyReply, JsonReply, link_header, next_link
from ferrule.servers.api.shapes import Limit, Record, describe
from ferrule.servers.edge import Edge
from ferrule.settings import load_settings
from ferrule.workspace.check_cache import is_inside
from ferrule.workspace.excerpts import mask_lines

_AROUND = 2
"""Lines shown before and after one with an error."""
_LONGEST_LINE = 300
_since: WeakKeyDictionary[Edge, tuple[str, str]] = WeakKeyDictionary()
"""The digest of the policy in force, and when the ledger recorded it."""

Word = Annotated[str, msgspec.Meta(max_length=300)]
Decision = Literal["allow", "ask", "deny", "passthrough"]


class PolicyProblem(msgspec.Struct, kw_only=True):
    """A problem in a file of the policy, at its place."""

    file: str
    line: int
    column: int
    severity: str
    code: str
    message: str
    hint: str | None
    excerpt: Annotated[list[Record], describe("The lines around it: `number`, `text`, `is_meant`.")]


class PolicySource(msgspec.Struct, kw_only=True):
    """One file of the policy."""

    source: Annotated[str, describe("Which of the sources of rules it is.")]
    whose: Annotated[str, describe("The same in plain words.")]
    name: str
    digest: str
    mode: str | None
    rules: int


class PolicyOverview(msgspec.Struct, kw_only=True):
    """The policy in force, without its rules."""

    is_usable: Annotated[bool, describe("False when it cannot be used: every call is refused then.")]
    problem: Annotated[str | None, describe("Why it cannot be used.")]
    problems: Annotated[list[PolicyProblem], describe("What is wrong with its files, as they are written now.")]
    digest: Annotated[str, describe("Equal digests decide equally.")]
    in_force_since: Annotated[str | None, describe("When it came into force, as the ledger has it.")]
    mode: Annotated[str | None, describe("What holds where no rule decides; null while the policy cannot be used.")]
    engine: Annotated[str, describe("`rules`, or `cedar` for rules and Cedar policies.")]
    cedar: Annotated[str | None, describe("The Cedar policies.")]
    sources: list[PolicySource]
    rules: Annotated[dict[str, int], describe("How many rules decide what.")]
    groups: dict[str, list[str]]
    classifiers: list[Record]
    authoritative_hooks: list[str]
    shadow: Annotated[str | None, describe("A policy that is only watched; null when there is none.")]
    shadow_problem: str | None


class RuleQuery(msgspec.Struct, kw_only=True):
    """Filters for rules."""

    limit: Limit = 100
    cursor: Annotated[
        Annotated[int, msgspec.Meta(ge=1, le=10**9)] | None, describe("Go on after this place in the order.")
    ] = None
    decision: Annotated[Decision | None, describe("Only rules that say so.")] = None
    text: Annotated[Word | None, describe("Only rules with this in their id, reason, file or conditions.")] = None


class RuleState(msgspec.Struct, kw_only=True):
    """One rule."""

    place: Annotated[int, describe("Its place in the order of precedence, from 1.")]
    id: str
    decision: str
    source: str
    whose: str
    file: str
    line: int
    reason: str
    conditions: Annotated[list[str], describe("When it holds, in plain words; empty: always.")]
    demands: Annotated[list[str], describe("What an ask wants besides a yes.")]


class RulePage(msgspec.Struct, kw_only=True):
    """Rules in order of precedence."""

    items: list[RuleState]
    total: Annotated[int, describe("How many fit, on all pages.")]
    next: Annotated[str | None, describe("Where the next page is.")] = None


_problem_cache: WeakKeyDictionary[Edge, tuple[Any, list[PolicyProblem]]] = WeakKeyDictionary()
"""Problems found in the files, and the state of the files then; checking a long table takes a while."""
_rule_cache: WeakKeyDictionary[RuleEngine, list[RuleState]] = WeakKeyDictionary()
"""The rules of an engine, in order and in words."""


async def get_policy(ask: Ask) -> AnyReply:
    """Returns the policy in force."""
    app = ask.edge.app
    app.generation()  # reloads changed files, as a call would
    engine = app.policy
    problems = await asyncio.to_thread(_find_problems, ask.edge)
    policy = engine.policy if isinstance(engine, RuleEngine) else None
    files = policy.files if policy is not None else ()
    counts = Counter(rule.decision for rule in rules_of(ask))
    overview = PolicyOverview(
        is_usable=policy is not None,
        problem=engine.why if isinstance(engine, RefusingPolicy) else None,
        problems=problems,
        digest=engine.digest,
        in_force_since=await _find_start(ask),
        mode=format_modes(collect_modes(files)) if policy is not None else None,
        engine="rules" if policy is None or policy.cedar is None else "cedar",
        cedar=None if policy is None else policy.cedar,
        sources=[_encode_source(file) for file in files],
        rules={decision: counts[decision] for decision in ("deny", "ask", "allow", "passthrough")},
        groups={} if policy is None else {name: list(members) for name, members in policy.groups.items()},
        classifiers=[msgspec.to_builtins(use) for file in files for use in file.classifiers],
        authoritative_hooks=[hook for file in files for hook in file.authoritative_hooks],
        shadow=None if policy is None else policy.shadow_ref or None,
        shadow_problem=None if policy is None else policy.shadow_problem or None,
    )
    return JsonReply(overview)


def _encode_source(file: PolicyFile) -> PolicySource:
    return PolicySource(
        source=file.source,
        whose=SOURCES[file.source],
        name=file.name,
        digest=file.digest,
        mode=file.mode,
        rules=len(file.rules),
    )


async def _find_start(ask: Ask) -> str | None:
    """Returns when the ledger recorded this policy. Cached, since the row may lie far back."""
    app = ask.edge.app
    digest, at = _since.get(ask.edge, ("", ""))
    if digest == app.policy.digest:
        return at
    rows = await app.store.rows_before(None, 1, kinds=("policy",))
    if not rows or rows[0].facts().get("digest") != app.policy.digest:
        return None
    _since[ask.edge] = (app.policy.digest, iso(rows[0].at))
    return iso(rows[0].at)


def _find_problems(edge: Edge) -> list[PolicyProblem]:
    """Returns the problems in the files as they are now."""
    root = edge.app.root
    try:
        table = load_settings(root).policy
    except FerruleError as error:
        broken = Diagnostic("settings", Severity.ERROR, "", SETTINGS_FILE, 1, 1, 1, 1, str(error))
        return [_encode_problem(edge, broken, {})]
    paths = find_policy_files(root, table)
    state = (table, read_stamps(paths.values()))
    known, problems = _problem_cache.get(edge, (None, []))
    if known != state:
        found = check_policy(root, table, Library(()), functions=None)
        problems = [_encode_problem(edge, each, paths) for diagnostics in found.values() for each in diagnostics]
        _problem_cache[edge] = (state, problems)
    return problems


def read_stamps(paths: Iterable[Path]) -> tuple[Any, ...]:
    """Returns a value that changes when one of these files does."""
    found = []
    for path in paths:
        try:
            facts = path.stat()
            found.append((str(path), facts.st_mtime_ns, facts.st_size, facts.st_ino))
        except OSError:
            found.append((str(path), 0, 0, 0))
    return tuple(found)


def _encode_problem(edge: Edge, found: Diagnostic, paths: dict[str, Path]) -> PolicyProblem:
    return PolicyProblem(
        file=found.file,
        line=found.line,
        column=found.column,
        severity=found.severity.name.lower(),
        code=found.rule,
        message=_redact(edge, found.message.replace(f"{edge.app.root}/", "")),
        hint=found.hint and _redact(edge, found.hint),
        excerpt=_excerpt(edge, paths.get(found.file), found.line),
    )


def _redact(edge: Edge, text: str) -> str:
    """Returns a text with known secrets redacted."""
    return str((edge.app.services.redactor or ONLY_GIVEN).value(text, ())[0])


def _excerpt(edge: Edge, path: Path | None, line: int) -> list[Record]:
    """Returns the lines around one, redacted; none of a file outside the workspace."""
    if path is None or not is_inside(str(path), edge.app.root):
        return []
    try:
        text = path.read_text(encoding="utf-8-sig")
    except (OSError, UnicodeDecodeError):
        return []
    lines = text.splitlines()
    first, last = max(1, line - _AROUND), min(len(lines), line + _AROUND)
    shown = mask_lines("\n".join(lines[first - 1 : last]), (), lambda text: _redact(edge, text)).lines
    return [
        {"number": number, "text": each[:_LONGEST_LINE], "is_meant": number == line}
        for number, each in enumerate(shown, start=first)
        if number <= last
    ]


def rules_of(ask: Ask) -> tuple[PolicyRule, ...]:
    """Returns the rules in force; none while the policy is invalid."""
    engine = ask.edge.app.policy
    return engine.rules if isinstance(engine, RuleEngine) else ()


async def list_rules(ask: Ask) -> AnyReply:
    """Lists the rules in force, in order of precedence."""
    wanted = ask.query(RuleQuery)
    fitting = [rule for rule in _list_in_order(ask.edge.app.policy) if _matches(rule, wanted)]
    rest = [rule for rule in fitting if rule.place > (wanted.cursor or 0)]
    page = rest[: wanted.limit]
    if len(rest) <= wanted.limit:
        return JsonReply(RulePage(items=page, total=len(fitting)))
    address = next_link("/v1/policy/rules", ask.pairs, str(page[-1].place))
    return JsonReply(RulePage(items=page, total=len(fitting), next=address), headers=(link_header(address),))


def _list_in_order(engine: PolicyEngine) -> list[RuleState]:
    if not isinstance(engine, RuleEngine):
        return []
    if engine not in _rule_cache:
        ordered = sort_by_precedence(engine.rules)
        _rule_cache[engine] = [_encode_rule(rule, place) for place, rule in enumerate(ordered, start=1)]
    return _rule_cache[engine]


def _encode_rule(rule: PolicyRule, place: int) -> RuleState:
    return RuleState(
        place=place,
        id=rule.rule_id,
        decision=rule.decision,
        source=rule.source,
        whose=SOURCES[rule.source],
        file=rule.file,
        line=rule.line,
        reason=rule.reason,
        conditions=describe_conditions(rule),
        demands=describe_demands(rule.demand) if rule.decision == "ask" else [],
    )


def _matches(rule: RuleState, wanted: RuleQuery) -> bool:
    text = (wanted.text or "").lower()
    texts = (rule.id, rule.reason, f"{rule.file}:{rule.line}", *rule.conditions)
    return wanted.decision in (None, rule.decision) and any(text in part.lower() for part in texts)
