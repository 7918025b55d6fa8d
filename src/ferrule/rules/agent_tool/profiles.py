"""Rules."""

from ferrule.contracts.rule import RuleSet

EXECUTION_RULES = RuleSet((), ())
PERMISSION_RULES = RuleSet((), ())
SCHEDULER_RULES = RuleSet((), ())
