"""Pages of every AML rule that can be reported, in the order of their codes."""

from __future__ import annotations

from ferrule.contracts.rule import RuleInfo, info_of
from ferrule.definitions.rules.aml.agent_pages import PAGES as AGENT_PAGES
from ferrule.definitions.rules.aml.field_pages import FIELD_PAGES
from ferrule.definitions.rules.aml.tool import TOOL_RULES
from ferrule.definitions.rules.aml.transport_pages import TRANSPORT_PAGES


def _number(page: RuleInfo) -> int:
    return int(page.code.rsplit("-", 1)[-1])


_TABLES = FIELD_PAGES + TRANSPORT_PAGES
_LISTED = {page.code for page in _TABLES}
_CLASSES = tuple(info_of(rule) for rule in TOOL_RULES if rule.code not in _LISTED)
_TOOL_CODES = _LISTED | {page.code for page in _CLASSES}

PAGES: tuple[RuleInfo, ...] = tuple(
    sorted((*_TABLES, *_CLASSES, *(page for page in AGENT_PAGES if page.code not in _TOOL_CODES)), key=_number)
)
