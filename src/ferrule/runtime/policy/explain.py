"""Why a call is decided as it is: every rule that was considered, in order, with what it did not match."""

from __future__ import annotations

from typing import NamedTuple

from ferrule.contracts.policy import Judged
from ferrule.model.surface import SurfaceEntry, SurfaceRequest
from ferrule.runtime.policy.compiled import caller_miss, compile_rule, tool_miss
from ferrule.runtime.policy.engine import RuleEngine
from ferrule.runtime.policy.globs import fits
from ferrule.runtime.policy.paths import Base
from ferrule.runtime.policy.records import PolicyRule
from ferrule.runtime.policy.view import ToolView


class Considered(NamedTuple):
    """One rule and what came of it."""

    rule: PolicyRule
    is_matched: bool
    why: str
    """What it did not match; `every matcher fits` when it did."""


def explain_rules(engine: RuleEngine, entry: SurfaceEntry, request: SurfaceRequest, judged: Judged) -> list[Considered]:
    """Every rule of every source, in the order of the sources."""
    view = engine.view(entry)
    handed = (rule for file in engine.handed_over(request) for rule in file.rules)
    found = [_considered(rule, engine, view, request, judged) for rule in (*engine.rules, *handed)]
    cedar = engine.cedar_hits(view, request, judged)
    return found + [Considered(hit.rule, True, "its conditions hold") for hit in cedar]


def _considered(
    rule: PolicyRule, engine: RuleEngine, view: ToolView, request: SurfaceRequest, judged: Judged
) -> Considered:
    miss = tool_miss(rule, view)
    if miss == "tool" and rule.decision == "allow" and any(fits(rule.tool, alias) for alias in view.aliases):
        return Considered(rule, False, "`tool` fits an alias only, and an allow goes by the tool's own name")
    if miss is not None:
        return Considered(rule, False, f"`{miss}` does not fit the tool")
    miss = caller_miss(rule, request, engine.policy.groups)
    if miss is not None:
        return Considered(rule, False, f"`{miss}` does not fit the caller")
    compiled = compile_rule(rule, view, Base(engine.policy.root, engine.policy.home))
    missed = [check.key for check in compiled.checks if not check.test(judged)]
    if missed:
        return Considered(
            rule,
            False,
            f"{' and '.join(f'`{key}`' for key in missed)} {'does' if len(missed) == 1 else 'do'} not hold for these arguments",
        )
    return Considered(rule, True, "every matcher fits")
