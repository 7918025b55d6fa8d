"""The rules of AML agent files, as far as one file shows."""

from __future__ import annotations

from ferrule.contracts.rule import RuleSet
from ferrule.rules.aml.agent_fields import FIELDS
from ferrule.rules.aml.misnamed_definition import MisnamedAgent
from ferrule.rules.aml.missing_section import MissingSection
from ferrule.rules.aml.unapproved_version import UnapprovedVersion
from ferrule.rules.aml.undeclared_confirmation import UndeclaredConfirmation
from ferrule.rules.aml.weak_agent import WeakAgent

RULES = RuleSet(FIELDS, (UnapprovedVersion(), MisnamedAgent(), MissingSection(), UndeclaredConfirmation(), WeakAgent()))
