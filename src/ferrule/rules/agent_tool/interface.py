"""Rules."""

from ferrule.contracts.rule import RuleSet

RULES = RuleSet((), ())
