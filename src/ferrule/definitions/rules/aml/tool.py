"""The rules for AML tool files, in the order they run: the table first, then rules that build on sound values."""

from __future__ import annotations

from ferrule.contracts.rule import Rule, RuleSet
from ferrule.definitions.rules.aml.contradictory_schema import ContradictorySchema
from ferrule.definitions.rules.aml.exposed_connection import ExposedConnection
from ferrule.definitions.rules.aml.fields import FIELDS
from ferrule.definitions.rules.aml.governance_default import GovernanceDefault
from ferrule.definitions.rules.aml.incomplete_attachment import IncompleteAttachment
from ferrule.definitions.rules.aml.incomplete_connection import IncompleteConnection
from ferrule.definitions.rules.aml.incomplete_secret_source import IncompleteSecretSource
from ferrule.definitions.rules.aml.keyword_outside_subset import KeywordOutsideSubset
from ferrule.definitions.rules.aml.malformed_schema_keyword import MalformedSchemaKeyword
from ferrule.definitions.rules.aml.mismatched_scheme import MismatchedScheme
from ferrule.definitions.rules.aml.misnamed_definition import MisnamedToolFile
from ferrule.definitions.rules.aml.misshapen_function_id import MisshapenFunctionId
from ferrule.definitions.rules.aml.misused_field import (
    EmptyBlock,
    MalformedErrorCode,
    UndatedDeprecation,
    UnusableExtension,
)
from ferrule.definitions.rules.aml.repeated_side_effect import RepeatedSideEffect
from ferrule.definitions.rules.aml.risky_inline_attachment import RiskyInlineAttachment
from ferrule.definitions.rules.aml.schema_subset import RefusedReference, UnsupportedFormat, UntypedInterfaceRoot
from ferrule.definitions.rules.aml.superfluous_credential_field import SuperfluousCredentialField
from ferrule.definitions.rules.aml.superseded_key import SupersededKey
from ferrule.definitions.rules.aml.transport_fields import TRANSPORT_FIELDS
from ferrule.definitions.rules.aml.unapproved_version import UnapprovedVersion
from ferrule.definitions.rules.aml.unbalanced_description import UnbalancedDescription
from ferrule.definitions.rules.aml.undescribed_property import UndescribedProperty
from ferrule.definitions.rules.aml.unknown_schema_type import UnknownSchemaType
from ferrule.definitions.rules.aml.unstated_side_effects import UnstatedSideEffects
from ferrule.definitions.rules.aml.written_secret import WrittenSecret

_WHOLE_FILE: tuple[Rule, ...] = (
    EmptyBlock(),
    MisnamedToolFile(),
    UnapprovedVersion(),
    UnbalancedDescription(),
    SupersededKey(),
    MalformedErrorCode(),
    UnstatedSideEffects(),
    UndatedDeprecation(),
    UnusableExtension(),
)
_SCHEMAS: tuple[Rule, ...] = (
    MalformedSchemaKeyword(),
    RefusedReference(),
    UnknownSchemaType(),
    UntypedInterfaceRoot(),
    KeywordOutsideSubset(),
    UnsupportedFormat(),
    IncompleteAttachment(),
    ContradictorySchema(),
    RiskyInlineAttachment(),
    UndescribedProperty(),
    GovernanceDefault(),
)
_TRANSPORT: tuple[Rule, ...] = (
    WrittenSecret(),
    RepeatedSideEffect(),
    MisshapenFunctionId(),
    ExposedConnection(),
    IncompleteSecretSource(),
    MismatchedScheme(),
    SuperfluousCredentialField(),
    IncompleteConnection(),
)

TOOL_RULES = _WHOLE_FILE + _SCHEMAS + _TRANSPORT
RULES = RuleSet(FIELDS + TRANSPORT_FIELDS, TOOL_RULES)
