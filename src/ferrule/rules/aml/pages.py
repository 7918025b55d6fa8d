"""Pages of the rules of this standard."""

from ferrule.contracts.rule import RuleInfo

PAGES: tuple[RuleInfo, ...] = ()
