"""The rules of an ADL manifest, in the order they run: what an earlier one reports, a later one does not ask about."""

from ferrule.contracts.rule import RuleSet
from ferrule.definitions.rules.adl import blocks, fields, tool_fields
from ferrule.definitions.rules.adl.builtin_tool import ParsedShellCommand, RedefinedBuiltin, UnrestrictedFileTool
from ferrule.definitions.rules.adl.incomplete_tool import AbsentToolField, EmptyToolField
from ferrule.definitions.rules.adl.injection import (
    DeepInjection,
    InjectedBuiltinConfig,
    MalformedInjection,
    RepeatedInjection,
    UndefinedInjection,
)
from ferrule.definitions.rules.adl.literal_secret import LiteralSecret
from ferrule.definitions.rules.adl.malformed_language import MalformedLanguage
from ferrule.definitions.rules.adl.superseded_shape import SupersededShape
from ferrule.definitions.rules.adl.tool_identity import DifferingToolName, DuplicateToolId
from ferrule.definitions.rules.adl.tool_schema import UnsoundToolSchema, UnusualToolSchema
from ferrule.definitions.rules.adl.unsupported_feature import UnsupportedFeature
from ferrule.definitions.rules.adl.unsupported_skill import UnsupportedSkill
from ferrule.definitions.rules.adl.unused_service import UnusedService

RULES = RuleSet(
    fields.ROWS + blocks.ROWS + tool_fields.ROWS,
    (
        SupersededShape(),
        MalformedLanguage(),
        DuplicateToolId(),
        AbsentToolField(),
        EmptyToolField(),
        UnsoundToolSchema(),
        UnusualToolSchema(),
        DifferingToolName(),
        RedefinedBuiltin(),
        UnrestrictedFileTool(),
        ParsedShellCommand(),
        MalformedInjection(),
        RepeatedInjection(),
        InjectedBuiltinConfig(),
        UndefinedInjection(),
        DeepInjection(),
        UnusedService(),
        LiteralSecret(),
        UnsupportedSkill(),
        UnsupportedFeature(),
    ),
)
