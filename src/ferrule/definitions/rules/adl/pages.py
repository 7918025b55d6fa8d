"""The pages of all ADL rules, in the order of their numbers."""

from ferrule.contracts.rule import RuleInfo, info_of
from ferrule.definitions.rules.adl import fields, tool_fields
from ferrule.definitions.rules.adl.manifest import RULES
from ferrule.model.diagnostic import Severity

_CONVERSION = RuleInfo(
    "ADL-54",
    "lost-in-conversion",
    Severity.WARNING,
    "A tool written as ADL leaves out, or has invented for it, what ADL cannot say or must have.",
    "Why: ADL has no version, status, owner or output schema of a tool; the agent's version stands for all its tools.",
)

PAGES: tuple[RuleInfo, ...] = tuple(
    sorted(
        (*fields.PAGES, *tool_fields.PAGES, *map(info_of, RULES.rules), _CONVERSION),
        key=lambda page: int(page.code.partition("-")[2]),
    )
)
