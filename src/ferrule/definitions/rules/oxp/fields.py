"""The structural rules of an OXP tool definition, and the pages of the rules that are nothing else."""

from __future__ import annotations

from ferrule.contracts.expect import boolean, filled_string, mapping, matching, sequence, string
from ferrule.contracts.rule import Closed, Expectation, Required, Row, RuleInfo
from ferrule.model.diagnostic import Severity
from ferrule.model.value import JsonValue, type_name

TOOL_KEYS = frozenset({"id", "name", "description", "version", "input_schema", "output_schema", "requirements"})
REQUIREMENT_KEYS = frozenset({"authorization", "secrets", "user_id"})

_WRITTEN = Required(blank_ok=True, null_ok=True)
_ID = r"[A-Za-z0-9_]+\.[A-Za-z0-9_]+@[0-9]+\.[0-9]+\.[0-9]+"


def _expect_mapping_or_null() -> Expectation:
    def check(value: JsonValue) -> str | None:
        if value is None or isinstance(value, dict):
            return None
        return f"must be a JSON Schema object or null, not a {type_name(value)}"

    check.describe = "an object or null"  # type: ignore[attr-defined]  # functions take attributes
    return check


def _expect_nothing(reason: str) -> Expectation:
    def check(_: JsonValue) -> str | None:
        return reason

    check.describe = "absent"  # type: ignore[attr-defined]  # functions take attributes
    return check


ROWS: tuple[Row, ...] = (
    Row("", Closed(TOOL_KEYS), "OXP-18"),
    Row("id", _WRITTEN, "OXP-1", hint="write Toolkit.Tool@x.y.z"),
    Row("id", matching(_ID, "an id such as Calculator.Add@1.0.0"), "OXP-2", hint="write Toolkit.Tool@x.y.z"),
    Row("name", _WRITTEN, "OXP-1", hint="the name models see, such as Calculator_Add"),
    Row(
        "name",
        matching(r"[A-Za-z0-9_-]{1,64}", "1 to 64 letters, digits, underscores or dashes"),
        "OXP-4",
        hint="join the toolkit and the tool with an underscore, as in Calculator_Add",
    ),
    Row("description", _WRITTEN, "OXP-1", hint="say what the tool does"),
    Row("description", filled_string(), "OXP-5", hint="say what the tool does"),
    Row("version", _WRITTEN, "OXP-1", hint="repeat the version of the id"),
    Row(
        "version",
        matching(r"[0-9]+\.[0-9]+\.[0-9]+", "a version of three numbers such as 1.0.0"),
        "OXP-6",
        hint="no leading v, no pre-release or build part",
    ),
    Row("input_schema", mapping(), "OXP-9", hint='a tool without input has {"parameters": {}}'),
    Row("input_schema.parameters", mapping(), "OXP-9", hint="a tool without input has an empty object here"),
    Row("output_schema", _expect_mapping_or_null(), "OXP-13", hint="{} means any value, null means no output"),
    Row("requirements", mapping(), "OXP-14", hint="leave it out when nothing is required"),
    Row("requirements", Closed(REQUIREMENT_KEYS), "OXP-14", Severity.INFO),
    Row("requirements.authorization", sequence(), "OXP-15", hint='write [{"id": "provider"}]'),
    Row("requirements.authorization[]", mapping(), "OXP-15", hint='write {"id": "provider"}'),
    Row("requirements.authorization[].id", Required(), "OXP-15", hint="name the provider or the method"),
    Row("requirements.authorization[].id", string(), "OXP-15"),
    Row("requirements.authorization[].oauth2", mapping(), "OXP-15"),
    Row("requirements.authorization[].oauth2.scopes", sequence(), "OXP-15"),
    Row("requirements.authorization[].oauth2.scopes[]", string(), "OXP-15"),
    Row("requirements.secrets", sequence(), "OXP-16", hint='write [{"id": "NAME"}]'),
    Row("requirements.secrets[]", mapping(), "OXP-16", hint='write {"id": "NAME"}'),
    Row("requirements.secrets[].id", Required(), "OXP-16", hint="name the secret"),
    Row("requirements.secrets[].id", string(), "OXP-16"),
    Row(
        "requirements.secrets[].value",
        _expect_nothing("must not be in a definition"),
        "OXP-16",
        hint="name the secret only",
    ),
    Row("requirements.user_id", boolean(), "OXP-17"),
)

PAGES: tuple[RuleInfo, ...] = (
    RuleInfo(
        "OXP-1",
        "incomplete-definition",
        Severity.ERROR,
        "A tool definition is an object with id, name, description, version, input_schema and output_schema.",
        "A file holds one definition, a list of them, or an object with a list under `tools`. Text that cannot be\n"
        "parsed and a member written twice are reported here too.\n"
        'Bad:  {"id": "Clock.Now@1.0.0", "name": "Clock_Now"}\n'
        "Good: all six members, `output_schema` null when nothing is returned",
    ),
    RuleInfo(
        "OXP-2",
        "malformed-id",
        Severity.ERROR,
        "`id` is Toolkit.Tool@x.y.z, of letters, digits and underscores, with the whole version.",
        "Why: callers may leave the version out, a definition is one version.\n"
        'Bad:  "id": "Clock.Now"\nGood: "id": "Clock.Now@1.0.0"',
    ),
    RuleInfo(
        "OXP-4",
        "malformed-name",
        Severity.ERROR,
        "`name` has 1 to 64 letters, digits, underscores and dashes.",
        "Why: model providers accept nothing else as a function name.\n"
        'Bad:  "name": "Clock.Now"\nGood: "name": "Clock_Now"',
    ),
    RuleInfo(
        "OXP-5",
        "empty-description",
        Severity.ERROR,
        "`description` is a string that says something.",
        "Why: people and models choose the tool by it.\n"
        'Bad:  "description": ""\nGood: "description": "Tells the time."',
    ),
    RuleInfo(
        "OXP-6",
        "malformed-version",
        Severity.ERROR,
        "`version` is three whole numbers joined by dots.",
        'Bad:  "version": "1.0.0-beta"\nGood: "version": "1.0.0"',
    ),
    RuleInfo(
        "OXP-13",
        "malformed-output-schema",
        Severity.ERROR,
        "`output_schema` is a JSON Schema object, or null for a tool that returns nothing.",
        'Bad:  "output_schema": "string"\nGood: "output_schema": {"type": "string"}',
    ),
    RuleInfo(
        "OXP-14",
        "unusual-requirements",
        Severity.ERROR,
        "`requirements` is an object; members other than authorization, secrets and user_id are kept and noted (info).",
        'Bad:  "requirements": null\nGood: leave it out',
    ),
    RuleInfo(
        "OXP-15",
        "malformed-authorization",
        Severity.ERROR,
        "`requirements.authorization` is a list of objects, each with a string `id` and perhaps oauth2 scopes.",
        'Bad:  "authorization": {"id": "google"}\nGood: "authorization": [{"id": "google"}]',
    ),
    RuleInfo(
        "OXP-16",
        "malformed-secrets",
        Severity.ERROR,
        "`requirements.secrets` is a list of objects that name a secret by `id` and never hold its value.",
        'Bad:  "secrets": ["API_KEY"]\nGood: "secrets": [{"id": "API_KEY"}]',
    ),
    RuleInfo(
        "OXP-17",
        "malformed-user-id",
        Severity.ERROR,
        "`requirements.user_id` is true or false.",
        'Bad:  "user_id": "true"\nGood: "user_id": true',
    ),
    RuleInfo(
        "OXP-18",
        "unknown-member",
        Severity.ERROR,
        "A tool definition has no other members than the standard's seven.",
        'Bad:  "tags": ["time"]\nGood: leave it out',
    ),
)
"""Pages of the rules that only the table checks."""
