"""The rules of Agent Tool records, by kind and in the order they run; those of a declaration check embedded records as well."""

from __future__ import annotations

from ferrule.contracts.rule import RuleSet
from ferrule.definitions.rules.agent_tool.ambiguous_membership import AmbiguousMembership
from ferrule.definitions.rules.agent_tool.contracts import MissingInputContract, MissingOutputContract, UnsoundSchema
from ferrule.definitions.rules.agent_tool.discovery import CustomKind, UnsearchableHint, UntitledTool
from ferrule.definitions.rules.agent_tool.fields import DECLARATION, INTERFACE
from ferrule.definitions.rules.agent_tool.flag_expressions import CircularExpression, UnknownExpression
from ferrule.definitions.rules.agent_tool.leaked_internal_field import LeakedInternalField
from ferrule.definitions.rules.agent_tool.mismatched_identity import MismatchedIdentity
from ferrule.definitions.rules.agent_tool.profile_fields import EXECUTION, PERMISSION, SCHEDULER, SURFACE
from ferrule.definitions.rules.agent_tool.profile_lint import (
    MalformedExecutionProfile,
    UnfamiliarAccessKind,
    VagueShellProfile,
)
from ferrule.definitions.rules.agent_tool.schema_version import UnknownSchemaVersion
from ferrule.definitions.rules.agent_tool.security import CredentialValue, MissingPermissionProfile, UnclassifiableTool

DECLARATION_RULES = RuleSet(
    DECLARATION,
    (
        UnknownSchemaVersion(),
        UnsearchableHint(),
        UntitledTool(),
        CustomKind(),
        MissingInputContract(),
        MissingOutputContract(),
        UnsoundSchema(),
        LeakedInternalField(),
        MismatchedIdentity(),
        UnknownExpression(),
        CircularExpression(),
        MissingPermissionProfile(),
        UnclassifiableTool(),
        CredentialValue(),
        UnfamiliarAccessKind(),
        MalformedExecutionProfile(),
        VagueShellProfile(),
    ),
)
INTERFACE_RULES = RuleSet(
    INTERFACE,
    (
        UnknownSchemaVersion(),
        UnsearchableHint(),
        UnsoundSchema(),
        LeakedInternalField(),
        UnknownExpression(),
        CircularExpression(),
        CredentialValue(),
    ),
)
EXECUTION_RULES = RuleSet(EXECUTION, (UnknownSchemaVersion(), MalformedExecutionProfile(), VagueShellProfile()))
PERMISSION_RULES = RuleSet(PERMISSION, (UnknownSchemaVersion(), CredentialValue(), UnfamiliarAccessKind()))
SCHEDULER_RULES = RuleSet(SCHEDULER, (UnknownSchemaVersion(),))
SURFACE_RULES = RuleSet(SURFACE, (UnknownSchemaVersion(), AmbiguousMembership()))
