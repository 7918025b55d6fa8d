"""The rules of profiles and scheduler policies that stand alone."""

from __future__ import annotations

from ferrule.contracts.rule import RuleSet
from ferrule.definitions.rules.agent_tool.profile_fields import EXECUTION, PERMISSION, SCHEDULER
from ferrule.definitions.rules.agent_tool.profile_lint import UnfamiliarKind, UnfamiliarWord, VagueShellProfile
from ferrule.definitions.rules.agent_tool.schema_version import OutdatedVersion
from ferrule.definitions.rules.agent_tool.security import CredentialValue

EXECUTION_RULES = RuleSet(EXECUTION, (OutdatedVersion(), UnfamiliarKind(), VagueShellProfile()))
PERMISSION_RULES = RuleSet(PERMISSION, (OutdatedVersion(), CredentialValue(), UnfamiliarWord()))
SCHEDULER_RULES = RuleSet(SCHEDULER, (OutdatedVersion(),))
