"""Collects the compiler's parts from the registries: dialects, rules, and their pages. Loaded on first use."""

from __future__ import annotations

from functools import cache

from ferrule.contracts.dialect import Dialect
from ferrule.contracts.registry import Registry
from ferrule.contracts.rule import CompatRule, LibraryRule, RuleInfo, RuleSet
from ferrule.definitions.compiler.check import CheckParts
from ferrule.definitions.dialects.builtin import DIALECTS
from ferrule.definitions.rules.builtin import COMPAT_RULES, LIBRARY_RULES, PAGES, RULE_SETS

DOCUMENTATION = "https://github.com/ferrule-dev/ferrule/blob/main/docs/reference/rules/"
"""The address of the generated rule pages: one file per standard, the rule's code as anchor."""
_PAGE_FILES = {"AML": "aml.md", "ADL": "adl.md", "OXP": "oxp.md", "AT": "agent-tool.md", "FER": "ferrule.md"}

dialects: Registry[Dialect] = Registry("dialect", DIALECTS)
_rule_sets: Registry[RuleSet] = Registry("kind of definition", RULE_SETS)
_library_rules: Registry[tuple[LibraryRule, ...]] = Registry("standard", LIBRARY_RULES)
_compat_rules: Registry[tuple[CompatRule, ...]] = Registry("set of compatibility rules", COMPAT_RULES)
_pages: Registry[tuple[RuleInfo, ...]] = Registry("standard", PAGES)


@cache
def load_parts() -> CheckParts:
    """Returns the built-in dialects and rules."""
    return CheckParts(tuple(dialects), _rule_sets.get, _list_library_rules, build_page_url)


def build_page_url(rule: str) -> str:
    """Returns the address of a rule's documentation page."""
    return f"{DOCUMENTATION}{_PAGE_FILES.get(rule.partition('-')[0], 'index.md')}#{rule.lower()}"


@cache
def list_rule_pages() -> tuple[RuleInfo, ...]:
    """Returns every rule's page, in the order of the standards."""
    return tuple(page for pages in _pages for page in pages)


def list_compat_rules() -> tuple[CompatRule, ...]:
    """Returns the rules that compare the published state with a candidate."""
    return tuple(rule for rules in _compat_rules for rule in rules)


def _list_library_rules() -> tuple[LibraryRule, ...]:
    return tuple(rule for rules in _library_rules for rule in rules)
