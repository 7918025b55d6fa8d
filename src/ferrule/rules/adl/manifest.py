"""The rules of an ADL manifest, in the order they run: what an earlier one reports, a later one does not ask about."""

from ferrule.contracts.rule import RuleSet
from ferrule.rules.adl import blocks, fields, tool_fields
from ferrule.rules.adl.builtin_tool import ParsedShellCommand, RedefinedBuiltin, UnrestrictedFileTool
from ferrule.rules.adl.differing_tool_name import DifferingToolName
from ferrule.rules.adl.duplicate_tool_id import DuplicateToolId
from ferrule.rules.adl.incomplete_tool import AbsentToolField, EmptyToolField
from ferrule.rules.adl.injection import (
    DeepInjection,
    InjectedBuiltinConfig,
    MalformedInjection,
    RepeatedInjection,
    UndefinedInjection,
)
from ferrule.rules.adl.language_choice import LanguageChoice
from ferrule.rules.adl.literal_secret import LiteralSecret
from ferrule.rules.adl.service_use import UnusedService
from ferrule.rules.adl.skill_needs import SkillNeeds
from ferrule.rules.adl.superseded_shape import SupersededShape
from ferrule.rules.adl.target_limits import TargetLimits
from ferrule.rules.adl.tool_schema import UnsoundToolSchema, UnusualToolSchema

RULES = RuleSet(
    fields.ROWS + blocks.ROWS + tool_fields.ROWS,
    (
        SupersededShape(),
        LanguageChoice(),
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
        SkillNeeds(),
        TargetLimits(),
    ),
)
