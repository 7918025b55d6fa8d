"""The rules for AML tool files, in the order they run: the table first, then rules that build on sound values."""

from __future__ import annotations

from ferrule.contracts.rule import Rule, RuleSet
from ferrule.rules.aml.contradictory_schema import ContradictorySchema
from ferrule.rules.aml.empty_block import EmptyBlock
from ferrule.rules.aml.exposed_connection import ExposedConnection
from ferrule.rules.aml.fields import FIELDS
from ferrule.rules.aml.governance_default import GovernanceDefault
from ferrule.rules.aml.incomplete_attachment import IncompleteAttachment
from ferrule.rules.aml.incomplete_connection import IncompleteConnection
from ferrule.rules.aml.incomplete_secret_source import IncompleteSecretSource
from ferrule.rules.aml.keyword_outside_subset import KeywordOutsideSubset
from ferrule.rules.aml.malformed_keyword import MalformedKeyword
from ferrule.rules.aml.mismatched_scheme import MismatchedScheme
from ferrule.rules.aml.misnamed_file import MisnamedFile
from ferrule.rules.aml.misplaced_status import MisplacedStatus
from ferrule.rules.aml.misshapen_function_id import MisshapenFunctionId
from ferrule.rules.aml.refused_reference import RefusedReference
from ferrule.rules.aml.repeated_effect import RepeatedEffect
from ferrule.rules.aml.risky_inline import RiskyInline
from ferrule.rules.aml.sentence_count import SentenceCount
from ferrule.rules.aml.superfluous_credential_field import SuperfluousCredentialField
from ferrule.rules.aml.superseded_key import SupersededKey
from ferrule.rules.aml.transport_fields import TRANSPORT_FIELDS
from ferrule.rules.aml.unapproved_version import UnapprovedVersion
from ferrule.rules.aml.undated_deprecation import UndatedDeprecation
from ferrule.rules.aml.undescribed_property import UndescribedProperty
from ferrule.rules.aml.unknown_type import UnknownType
from ferrule.rules.aml.unstated_effects import UnstatedEffects
from ferrule.rules.aml.unsupported_format import UnsupportedFormat
from ferrule.rules.aml.untyped_root import UntypedRoot
from ferrule.rules.aml.unusable_extension import UnusableExtension
from ferrule.rules.aml.written_secret import WrittenSecret

_WHOLE_FILE: tuple[Rule, ...] = (
    EmptyBlock(),
    MisnamedFile(),
    UnapprovedVersion(),
    SentenceCount(),
    SupersededKey(),
    MisplacedStatus(),
    UnstatedEffects(),
    UndatedDeprecation(),
    UnusableExtension(),
)
_SCHEMAS: tuple[Rule, ...] = (
    MalformedKeyword(),
    RefusedReference(),
    UnknownType(),
    UntypedRoot(),
    KeywordOutsideSubset(),
    UnsupportedFormat(),
    IncompleteAttachment(),
    ContradictorySchema(),
    RiskyInline(),
    UndescribedProperty(),
    GovernanceDefault(),
)
_TRANSPORT: tuple[Rule, ...] = (
    WrittenSecret(),
    RepeatedEffect(),
    MisshapenFunctionId(),
    ExposedConnection(),
    IncompleteSecretSource(),
    MismatchedScheme(),
    SuperfluousCredentialField(),
    IncompleteConnection(),
)

TOOL_RULES = _WHOLE_FILE + _SCHEMAS + _TRANSPORT
RULES = RuleSet(FIELDS + TRANSPORT_FIELDS, TOOL_RULES)
