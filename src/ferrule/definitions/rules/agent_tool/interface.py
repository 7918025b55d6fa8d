"""The rules of a tool interface that stands alone."""

from __future__ import annotations

from ferrule.contracts.rule import RuleSet
from ferrule.definitions.rules.agent_tool.contracts import UnsoundSchema
from ferrule.definitions.rules.agent_tool.discovery import UnsearchableHint
from ferrule.definitions.rules.agent_tool.fields import INTERFACE
from ferrule.definitions.rules.agent_tool.flag_expressions import CircularExpression, UnknownExpression
from ferrule.definitions.rules.agent_tool.leaked_field import LeakedField
from ferrule.definitions.rules.agent_tool.schema_version import OutdatedVersion
from ferrule.definitions.rules.agent_tool.security import CredentialValue

RULES = RuleSet(
    INTERFACE,
    (
        OutdatedVersion(),
        UnsearchableHint(),
        UnsoundSchema(),
        LeakedField(),
        UnknownExpression(),
        CircularExpression(),
        CredentialValue(),
    ),
)
