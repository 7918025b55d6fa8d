"""The rules of a tool declaration, in the order they run; embedded records are checked along."""

from __future__ import annotations

from ferrule.contracts.rule import RuleSet
from ferrule.definitions.rules.agent_tool.contracts import MissingInputContract, MissingOutputContract, UnsoundSchema
from ferrule.definitions.rules.agent_tool.discovery import CustomKind, UnsearchableHint, Untitled
from ferrule.definitions.rules.agent_tool.fields import DECLARATION
from ferrule.definitions.rules.agent_tool.flag_expressions import CircularExpression, UnknownExpression
from ferrule.definitions.rules.agent_tool.identity import MismatchedIdentity
from ferrule.definitions.rules.agent_tool.leaked_field import LeakedField
from ferrule.definitions.rules.agent_tool.profile_lint import UnfamiliarKind, UnfamiliarWord, VagueShellProfile
from ferrule.definitions.rules.agent_tool.schema_version import OutdatedVersion
from ferrule.definitions.rules.agent_tool.security import CredentialValue, MissingPermissionProfile, UnclassifiableTool

RULES = RuleSet(
    DECLARATION,
    (
        OutdatedVersion(),
        UnsearchableHint(),
        Untitled(),
        CustomKind(),
        MissingInputContract(),
        MissingOutputContract(),
        UnsoundSchema(),
        LeakedField(),
        MismatchedIdentity(),
        UnknownExpression(),
        CircularExpression(),
        MissingPermissionProfile(),
        UnclassifiableTool(),
        CredentialValue(),
        UnfamiliarWord(),
        UnfamiliarKind(),
        VagueShellProfile(),
    ),
)
