"""The rules of AML IAM role files, as far as one file shows."""

from __future__ import annotations

from ferrule.contracts.rule import RuleSet
from ferrule.definitions.rules.aml.misnamed_definition import MisnamedRole
from ferrule.definitions.rules.aml.role_fields import FIELDS
from ferrule.definitions.rules.aml.unapproved_version import UnapprovedVersion
from ferrule.definitions.rules.aml.weak_role import WeakRole

RULES = RuleSet(FIELDS, (UnapprovedVersion(), MisnamedRole(), WeakRole()))
COLLECTION_RULES = RuleSet((), ())
"""Collections are read for what roles say about them, and not checked themselves."""
