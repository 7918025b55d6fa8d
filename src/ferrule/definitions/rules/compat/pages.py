"""The compatibility rules, and their pages."""

from __future__ import annotations

from ferrule.contracts.rule import CompatRule, RuleInfo, info_of
from ferrule.definitions.rules.compat.breaking_input import BreakingInput
from ferrule.definitions.rules.compat.understated_role_version import UnderstatedRoleVersion
from ferrule.definitions.rules.compat.vanished_tool import VanishedTool
from ferrule.definitions.rules.compat.versions import ChangedContract, RepublishedAgent, StaleVersion, WeakenedOutput
from ferrule.model.diagnostic import Severity

COMPAT_RULES: tuple[CompatRule, ...] = (
    VanishedTool(),
    StaleVersion(),
    BreakingInput(),
    WeakenedOutput(),
    RepublishedAgent(),
    UnderstatedRoleVersion(),
    ChangedContract(),
)

RECHECKED = RuleInfo(
    "AML-85",
    "broken-by-change",
    Severity.ERROR,
    "When a tool changes, every published agent and role that uses it is checked again.",
    "Why:  a tool that is disabled, or now asks for approval, can break an agent nobody touched. Findings the agent or role\n"
    "      did not have before are reported on its own file, under their own rules (AML-78, AML-92, AML-94, …).",
)

_SHARED = frozenset({"AML-89"})
"""Codes whose page belongs to the rules about single files."""

PAGES: tuple[RuleInfo, ...] = (
    *(info_of(type(rule)) for rule in COMPAT_RULES if rule.code not in _SHARED),
    RECHECKED,
)
