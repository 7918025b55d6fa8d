"""The pages of every AML rule that can be reported, in the order of their codes.

The codes in the table of `fields.py` have their pages here, those of `transport_fields.py` in `transport_pages.py`; a rule
with a class brings its own.
"""

from __future__ import annotations

from ferrule.contracts.rule import RuleInfo, info_of
from ferrule.definitions.rules.aml import agent_fields, role_fields
from ferrule.definitions.rules.aml.agent_links import UnusableRole
from ferrule.definitions.rules.aml.idle_safeguard import IdleSafeguard
from ferrule.definitions.rules.aml.tool import TOOL_RULES
from ferrule.definitions.rules.aml.tool_references import (
    DeprecatedTool,
    DisabledTool,
    DraftTool,
    ForbiddenAccess,
    LoosenedLimit,
    UngrantedReference,
    UnresolvedTool,
)
from ferrule.definitions.rules.aml.transport_pages import TRANSPORT_PAGES
from ferrule.definitions.rules.aml.weak_agent import WeakAgent
from ferrule.definitions.rules.aml.weak_role import WeakRole
from ferrule.model.diagnostic import Severity

_AGENT_CLASSES = (
    DisabledTool,
    DeprecatedTool,
    DraftTool,
    UnresolvedTool,
    LoosenedLimit,
    UnusableRole,
    UngrantedReference,
    ForbiddenAccess,
    WeakRole,
    IdleSafeguard,
    WeakAgent,
)

AGENT_PAGES: tuple[RuleInfo, ...] = tuple(
    sorted(
        (*agent_fields.INFOS, *role_fields.INFOS, *(info_of(rule) for rule in _AGENT_CLASSES)),
        key=lambda page: int(page.code.removeprefix("AML-")),
    )
)


FIELD_PAGES = (
    RuleInfo(
        "AML-2",
        "unreadable-front-matter",
        Severity.ERROR,
        "A tool, agent or role file begins with YAML front matter: a line `---`, one mapping, and a line `---`.",
        "Why: everything the compiler reads stands there; the Markdown below it is for people.\n"
        "Bad:  a file without the closing `---`\nGood: `---`, the fields, `---`, then prose",
    ),
    RuleInfo(
        "AML-6",
        "repeated-key",
        Severity.ERROR,
        'A key is written once. `400` and `"400"` are the same key.',
        "Why: readers disagree on which of the two values counts.\nBad:  status: draft … status: active\nGood: status: active",
    ),
    RuleInfo(
        "AML-7",
        "missing-field",
        Severity.ERROR,
        "A tool file has spec_version, tool_id, version, status, meta.name, meta.description, meta.owner, type, "
        "interface.input, interface.output and use_guidance, and none of them is empty.",
        "Why: catalog, model and runtime each need them.\nBad:  owner:\nGood: owner: payments-team",
    ),
    RuleInfo(
        "AML-9",
        "malformed-tool-id",
        Severity.ERROR,
        "`tool_id` is 3 to 64 lower-case letters, digits, hyphens and underscores.",
        "Why: the id is a file name, a callable name and a reference at once.\n"
        "Bad:  tool_id: Send Email\nGood: tool_id: send-email",
    ),
    RuleInfo(
        "AML-10",
        "malformed-version",
        Severity.ERROR,
        "`version` is a semantic version; a pre-release or build label is accepted with a warning.",
        "Why: publishing compares versions.\nBad:  version: v1.0\nGood: version: 1.0.0",
    ),
    RuleInfo(
        "AML-11",
        "unknown-status",
        Severity.ERROR,
        "`status` is draft, active, deprecated or disabled.",
        "Bad:  status: retired\nGood: status: deprecated",
    ),
    RuleInfo(
        "AML-12",
        "malformed-meta",
        Severity.ERROR,
        "`meta` is a mapping of texts; `tags` is a list of texts and `last_updated` a calendar date, YYYY-MM-DD.",
        "Bad:  last_updated: April 2025\nGood: last_updated: 2025-04-01",
    ),
    RuleInfo(
        "AML-14",
        "unknown-tool-type",
        Severity.ERROR,
        "`type` says how the tool behaves: retrieval, action, function or human.",
        "Why: the runtime caches, repeats and pauses by it. The protocol belongs in `transport.type`.\n"
        "Bad:  type: rest-api\nGood: type: action",
    ),
    RuleInfo(
        "AML-15",
        "unknown-key",
        Severity.WARNING,
        "The blocks of a tool file take no other keys than the standard's; in `transport` those of its type.",
        "Why: a misspelt key is silently without effect. In `transport` keys that begin with `x-` are an executor's extensions.\n"
        "Bad:  use_guidence:\nGood: use_guidance:",
    ),
    RuleInfo(
        "AML-23",
        "malformed-interface",
        Severity.ERROR,
        "`interface`, `interface.input` and `interface.output` are mappings.",
        "Bad:  input: none\nGood: input: {type: object}",
    ),
    RuleInfo(
        "AML-73",
        "malformed-guidance",
        Severity.ERROR,
        "`use_guidance` is a mapping; `use_when` and `avoid_when` are lists of texts, `side_effects` a text or a list of texts.",
        "Bad:  use_when: always\nGood: use_when: [the customer asks for an invoice]",
    ),
    RuleInfo(
        "AML-74",
        "missing-guidance",
        Severity.WARNING,
        "`use_when` and `avoid_when` are both given and not empty.",
        "Why: they are what the model is told when it chooses between tools.\n"
        "Bad:  avoid_when: []\nGood: avoid_when: [the address has not been verified]",
    ),
)
"""Codes with a class of their own are documented there."""


def _number(page: RuleInfo) -> int:
    return int(page.code.rsplit("-", 1)[-1])


_TABLES = FIELD_PAGES + TRANSPORT_PAGES
_LISTED = {page.code for page in _TABLES}
_CLASSES = tuple(info_of(rule) for rule in TOOL_RULES if rule.code not in _LISTED)
_TOOL_CODES = _LISTED | {page.code for page in _CLASSES}

PAGES: tuple[RuleInfo, ...] = tuple(
    sorted((*_TABLES, *_CLASSES, *(page for page in AGENT_PAGES if page.code not in _TOOL_CODES)), key=_number)
)
