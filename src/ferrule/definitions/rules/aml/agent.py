"""The rules of AML agent files, as far as one file shows."""

from __future__ import annotations

from ferrule.contracts.rule import RuleSet
from ferrule.definitions.rules.aml.agent_fields import FIELDS
from ferrule.definitions.rules.aml.idle_safeguard import IdleSafeguard
from ferrule.definitions.rules.aml.misnamed_definition import MisnamedAgent
from ferrule.definitions.rules.aml.missing_section import MissingSection
from ferrule.definitions.rules.aml.unapproved_version import UnapprovedVersion
from ferrule.definitions.rules.aml.weak_agent import WeakAgent

RULES = RuleSet(FIELDS, (UnapprovedVersion(), MisnamedAgent(), MissingSection(), IdleSafeguard(), WeakAgent()))
