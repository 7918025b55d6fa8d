"""The table of structural rules for `spec.tools`, `spec.services` and `spec.config`, and the pages of the codes it carries."""

from __future__ import annotations

from collections.abc import Iterator

from ferrule.contracts.expect import boolean, integer, mapping, matching, one_of, sequence, string
from ferrule.contracts.rule import Closed, Expectation, Required, Row, RuleInfo
from ferrule.definitions.rules.adl.mapping_rows import REQUIRED, TEXT, TEXTS, EachItem, build_member_rows
from ferrule.model.builtin_tools import BUILTIN_TOOLS
from ferrule.model.diagnostic import Severity
from ferrule.model.value import JsonValue

IDENTIFIER = "[a-zA-Z_][a-zA-Z0-9_]*"
TOOL_KEYS = frozenset({"id", "name", "description", "tags", "schema", "inject"})
_ID = matching(IDENTIFIER, "letters, digits and `_`, no digit first")
_SYMBOL = matching("[a-zA-Z][a-zA-Z0-9_]*", "letters, digits and `_`, a letter first")
_SCHEMA_HINT = "the input's JSON Schema stands under `schema`"
_MISPLACED = {
    "parameters": _SCHEMA_HINT,
    "input_schema": _SCHEMA_HINT,
    "inputSchema": _SCHEMA_HINT,
    "input": _SCHEMA_HINT,
    "services": "services are named under `inject`",
    "enabled": "a built-in is enabled under `spec.config.tools.<id>.enabled`",
    "version": "a tool has no version of its own; the agent's is `metadata.version`",
    **dict.fromkeys(("output", "output_schema", "outputSchema"), "ADL has no schema for a tool's output"),
}


def _allow_null(expected: Expectation) -> Expectation:
    """Leaves a written null to ADL-11, which says it better."""

    def check(value: JsonValue) -> str | None:
        return None if value is None else expected(value)

    check.describe = getattr(expected, "describe", "")  # type: ignore[attr-defined]  # functions take attributes
    return check


TOOLS: tuple[Row, ...] = (
    Row("spec.tools", sequence(), "ADL-7", hint="write each tool as an item: `- id: …`"),
    Row("spec.tools[]", mapping(), "ADL-7", hint="write each tool as an item: `- id: …`"),
    Row("spec.tools[]", Closed(TOOL_KEYS, _MISPLACED), "ADL-13"),
    Row("spec.tools[].id", Required(), "ADL-8", hint="give the tool an id, such as `id: send_email`"),
    Row("spec.tools[].id", string(), "ADL-12"),
    Row("spec.tools[].id", _ID, "ADL-8", hint="the id becomes a symbol in code: use `_`, not `-`"),
    Row("spec.tools[].name", _allow_null(string()), "ADL-12"),
    Row("spec.tools[].description", _allow_null(string()), "ADL-12"),
    Row("spec.tools[].tags", _allow_null(sequence()), "ADL-12", hint="write a list, such as `tags: [email]`"),
    Row("spec.tools[].tags[]", string(), "ADL-12"),
    Row("spec.tools[].schema", _allow_null(mapping()), "ADL-12"),
    *build_member_rows("spec.tools[].inject", "ADL-12", TEXTS),
)

SERVICES: tuple[Row, ...] = (
    Row("spec.services", mapping(), "ADL-34"),
    Row("spec.services.*", mapping(), "ADL-34"),
    Row(
        "spec.services.*",
        Closed(frozenset({"type", "interface", "factory", "description"})),
        "ADL-34",
        Severity.WARNING,
    ),
    *(Row(f"spec.services.*.{name}", REQUIRED, "ADL-34") for name in ("type", "interface", "factory", "description")),
    Row("spec.services.*.type", one_of("service", "repository", "client", "middleware"), "ADL-34"),
    Row("spec.services.*.interface", _SYMBOL, "ADL-34"),
    Row("spec.services.*.factory", _SYMBOL, "ADL-34"),
    Row("spec.services.*.description", TEXT, "ADL-34"),
)


def _build_builtin_rows() -> Iterator[Row]:
    """Returns the rows of each built-in's settings, which are checked whether or not the tool is listed."""
    kinds: dict[str, Expectation | EachItem] = {
        "boolean": boolean(),
        "integer": integer(),
        "string": string(),
        "strings": TEXTS,
    }
    for builtin in BUILTIN_TOOLS.values():
        path = f"spec.config.tools.{builtin.id}"
        yield Row(path, mapping(), "ADL-21")
        yield Row(path, Closed(frozenset(builtin.config)), "ADL-21")
        for name, kind in builtin.config.items():
            yield from build_member_rows(f"{path}.{name}", "ADL-21", kinds[kind])


_GROUP_HINT = "put settings into a named group: `config: {<group>: {<setting>: …}}`"

CONFIG: tuple[Row, ...] = (
    Row("spec.config", mapping(), "ADL-36"),
    Row("spec.config.*", mapping(), "ADL-36", hint=_GROUP_HINT),
    Row("spec.config.tools", mapping(), "ADL-36", hint=_GROUP_HINT),
    *_build_builtin_rows(),
)

ROWS: tuple[Row, ...] = TOOLS + SERVICES + CONFIG

PAGES: tuple[RuleInfo, ...] = (
    RuleInfo(
        "ADL-7",
        "malformed-tool-list",
        Severity.ERROR,
        "`spec.tools`, when written, is a list of mappings, one per tool.",
        "Why: tools are offered in the order of the list.\nBad:  tools: {search: {…}}\nGood: tools: [{id: search, …}]",
    ),
    RuleInfo(
        "ADL-8",
        "malformed-tool-id",
        Severity.ERROR,
        "A tool has an `id` of letters, digits and `_` that does not begin with a digit.",
        "Why: the id becomes a symbol in generated code.\nBad:  id: send-email\nGood: id: send_email",
    ),
    RuleInfo(
        "ADL-12",
        "mistyped-tool-field",
        Severity.ERROR,
        "`id`, `name` and `description` are strings, `tags` and `inject` lists of strings, `schema` a mapping.",
        "Bad:  tags: email\nGood: tags: [email]",
    ),
    RuleInfo(
        "ADL-13",
        "unknown-tool-field",
        Severity.ERROR,
        "A tool has no other keys than `id`, `name`, `description`, `tags`, `schema` and `inject`.",
        "Why: what the language does not know would be lost in silence.\nBad:  parameters: {type: object}\n"
        "Good: schema: {type: object}",
    ),
    RuleInfo(
        "ADL-21",
        "malformed-builtin-config",
        Severity.ERROR,
        "The settings of a built-in tool under `spec.config.tools.<id>` are known members of the right type.",
        "Why: a misspelt limit would leave the tool without one.\nBad:  bash: {tymeout_seconds: 30}\n"
        "Good: bash: {timeout_seconds: 30}",
    ),
    RuleInfo(
        "ADL-34",
        "malformed-service",
        Severity.ERROR,
        "A service has a `type` (service, repository, client, middleware), an `interface`, a `factory` and a "
        "`description`. Another key is a warning.",
        "Why: interface and factory become symbols in generated code.\nBad:  type: database\nGood: type: repository",
    ),
    RuleInfo(
        "ADL-36",
        "ungrouped-setting",
        Severity.ERROR,
        "`spec.config` maps group names to mappings; a setting stands inside a group, never directly under `config`.",
        "Bad:  config: {debug: true}\nGood: config: {logging: {debug: true}}",
    ),
)
