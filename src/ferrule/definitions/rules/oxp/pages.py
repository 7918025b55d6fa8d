"""The page of every OXP rule."""

from __future__ import annotations

from ferrule.contracts.rule import RuleInfo, info_of
from ferrule.definitions.rules.oxp import fields
from ferrule.definitions.rules.oxp.library import DuplicateId, MisleadingName
from ferrule.definitions.rules.oxp.mismatched_version import MismatchedVersion
from ferrule.definitions.rules.oxp.missing_schema import LaterDraft, MissingParameters
from ferrule.definitions.rules.oxp.schemas import ExcludedKeyword, UnsoundSchema
from ferrule.definitions.rules.oxp.undescribed_parameter import UndescribedParameter

_CLASSES = (
    DuplicateId,
    MismatchedVersion,
    MisleadingName,
    MissingParameters,
    UndescribedParameter,
    ExcludedKeyword,
    UnsoundSchema,
    LaterDraft,
)


def _number(page: RuleInfo) -> int:
    return int(page.code.rpartition("-")[2])


PAGES: tuple[RuleInfo, ...] = tuple(sorted((*fields.PAGES, *map(info_of, _CLASSES)), key=_number))
