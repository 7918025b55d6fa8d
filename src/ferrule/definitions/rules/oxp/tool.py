"""The rules of an OXP tool definition, in the order they run; and those of a catalog in a later draft's shape."""

from __future__ import annotations

from ferrule.contracts.rule import RuleSet
from ferrule.definitions.rules.oxp.fields import ROWS
from ferrule.definitions.rules.oxp.mismatched_version import MismatchedVersion
from ferrule.definitions.rules.oxp.missing_schema import LaterDraft, MissingParameters
from ferrule.definitions.rules.oxp.schemas import ExcludedKeyword, UnsoundSchema
from ferrule.definitions.rules.oxp.undescribed_parameter import UndescribedParameter

RULES = RuleSet(
    ROWS, (MissingParameters(), MismatchedVersion(), ExcludedKeyword(), UnsoundSchema(), UndescribedParameter())
)
CATALOG_RULES = RuleSet((), (LaterDraft(),))
