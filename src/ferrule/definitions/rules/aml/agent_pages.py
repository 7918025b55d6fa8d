"""Pages of the rules about AML agents and roles."""

from __future__ import annotations

from ferrule.contracts.rule import RuleInfo, info_of
from ferrule.definitions.rules.aml import agent_fields, role_fields
from ferrule.definitions.rules.aml.agent_links import UnusableRole
from ferrule.definitions.rules.aml.tool_references import (
    DeprecatedTool,
    DisabledTool,
    DraftTool,
    ForbiddenAccess,
    LoosenedLimit,
    UngrantedReference,
    UnresolvedTool,
)
from ferrule.definitions.rules.aml.undeclared_confirmation import UndeclaredConfirmation
from ferrule.definitions.rules.aml.weak_agent import WeakAgent
from ferrule.definitions.rules.aml.weak_role import WeakRole

_CLASSES = (
    DisabledTool,
    DeprecatedTool,
    DraftTool,
    UnresolvedTool,
    LoosenedLimit,
    UnusableRole,
    UngrantedReference,
    ForbiddenAccess,
    WeakRole,
    UndeclaredConfirmation,
    WeakAgent,
)

PAGES: tuple[RuleInfo, ...] = tuple(
    sorted(
        (*agent_fields.INFOS, *role_fields.INFOS, *(info_of(rule) for rule in _CLASSES)),
        key=lambda page: int(page.code.removeprefix("AML-")),
    )
)
