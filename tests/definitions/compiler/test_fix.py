"""Fixes: each mends exactly what it promises, keeps everything else to the letter, and lets doubtful cases be."""

from __future__ import annotations

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from ferrule.contracts.fix import Edit, Fix, Fixers
from ferrule.contracts.rule import RuleSettings
from ferrule.definitions.compiler.check import check_file, merge
from ferrule.definitions.compiler.fix import fix_text
from ferrule.definitions.compiler.read import read
from ferrule.definitions.rules.aml.fixes import FIXERS
from ferrule.model.diagnostic import Diagnostic, Severity
from ferrule.model.document import Source
from ferrule.workspace.parts import dialects, load_parts

SETTINGS = RuleSettings(today="2026-01-31")
AML = dialects.get("aml")
SCHEMA = """\
    type: object
    # what the model fills in
    properties:
      text:
        type: string # plain text
        description: "The text."
    required: [text]
"""
TOOL = f"""\
---
spec_version: "1.2"
tool_id: tool-one
version: "1.0.0"
status: active

meta:
  name: Tool one
  description: >
    Does one thing for one person. Use it when that thing is wanted.
  owner: team

type: action

interface:
  input:
{SCHEMA}  output:
{SCHEMA}
transport:
  type: rest-api
  base_url: https://one.example.com/v1
  endpoint: POST /things
  credentials:
    scheme: bearer-token
    source: env
    name: ONE_TOKEN

use_guidance:
  use_when:
    - the thing is wanted
  avoid_when:
    - it is not
  side_effects: "The thing is done."
---

# Purpose

parameters: stay as they are in the body.
"""
DEDENTED = "".join(line[2:] + "\n" for line in SCHEMA.splitlines())
INPUT, OUTPUT = f"  input:\n{SCHEMA}", f"  output:\n{SCHEMA}"
REST = TOOL[TOOL.index("  type: rest-api") : TOOL.index("\nuse_guidance")]
CREDENTIALS = TOOL[TOOL.index("  credentials:") : TOOL.index("\nuse_guidance")]


def check_source(source: Source) -> list[Diagnostic]:
    return merge(check_file(source, load_parts(), SETTINGS), [])


def fix_source(text: str | bytes) -> str:
    data = text if isinstance(text, bytes) else text.encode()
    result = fix_text(Source("tools/tool-one.tool.md", data), AML, FIXERS, check_source)
    return data.decode() if result is None else result.data.decode()


def test_the_base_is_clean() -> None:
    assert check_source(Source("tools/tool-one.tool.md", TOOL.encode())) == []


@pytest.mark.parametrize(
    ("right", "wrong"),
    [
        ('spec_version: "1.2"', "spec_version: 1.2"),
        ('spec_version: "1.2" # as agreed', "spec_version: 1.2 # as agreed"),
        ("status: active", "status: Active"),
        ("type: action", "type: Action"),
        ("type: rest-api", "type: REST-API"),
        ("https://one.example.com/v1", "https://one.example.com/v1/"),
        ('"https://one.example.com/v1"', '"https://one.example.com/v1//"'),
        ("POST /things", "post /things"),
        ("'POST /things'", "'Post /things'"),
        ('type: [string, "null"] # or nothing', "type: [string, null] # or nothing"),
        ('type:\n          - string\n          - "null"', "type:\n          - string\n          - null"),
        ('source: "env"\n    name: "ONE_TOKEN" # ask Ana', 'token_source: "env:ONE_TOKEN" # ask Ana'),
    ],
)
def test_a_word_is_mended_and_nothing_else_changes(right: str, wrong: str) -> None:
    anchors = {
        "spec_version": 'spec_version: "1.2"',
        "status": "status: active",
        "type: [": "type: string # plain text",
        "type:\n": "type: string # plain text",
        "type: a": "type: action",
        "type: r": "type: rest-api",
        "https": "https://one.example.com/v1",
        '"https': "https://one.example.com/v1",
        "POST": "POST /things",
        "'POST": "POST /things",
        "source": "source: env\n    name: ONE_TOKEN",
    }
    anchor = next(text for start, text in anchors.items() if right.startswith(start))
    assert fix_source(TOOL.replace(anchor, wrong, 1)) == TOOL.replace(anchor, right, 1)


@pytest.mark.parametrize(
    ("wrong", "right"),
    [
        ("  provider: aws-sqs\n  queue_url: x", "  provider: aws\n  queue_url: x"),
        ("  provider: 'gcp-pubsub'\n  queue_url: x", "  provider: 'gcp'\n  queue_url: x"),
        ("  provider: KAFKA\n  queue_url: x", "  provider: kafka\n  queue_url: x"),
    ],
)
def test_a_queue_provider_gets_its_name_of_today(wrong: str, right: str) -> None:
    account = "  credentials:\n    scheme: iam-role\n"
    before = TOOL.replace(REST, f"  type: message-queue\n{wrong}\n{account}")
    assert fix_source(before) == TOOL.replace(REST, f"  type: message-queue\n{right}\n{account}")


def test_british_spelling() -> None:
    rest = "  type: database\n  engine: postgresql\n  query_method: {}\n  credentials:\n    scheme: service-account\n"
    rest += "    source: env\n    name: DB\n"
    before = TOOL.replace(REST, rest.format("parameterized-sql  # safe"))
    assert fix_source(before) == TOOL.replace(REST, rest.format("parameterised-sql  # safe"))


ARN = "arn:aws:lambda:eu-west-1:123456789012:function:one"


@pytest.mark.parametrize(
    ("wrong", "right"),
    [
        (f'  function_arn: "{ARN}" # ours\n', f'  provider: "aws"\n  function_id: "{ARN}" # ours\n'),
        (f"  provider: aws\n  function_arn: {ARN}\n", f"  provider: aws\n  function_id: {ARN}\n"),
    ],
)
def test_a_function_arn_is_split(wrong: str, right: str) -> None:
    rest = "  type: lambda\n{}  invocation_type: Event\n  credentials:\n    scheme: iam-role\n"
    assert fix_source(TOOL.replace(REST, rest.format(wrong))) == TOOL.replace(REST, rest.format(right))


@pytest.mark.parametrize(
    ("wrong", "right"),
    [
        (
            "  auth:  # who we are\n    scheme: bearer-token\n    token_source: env:ONE_TOKEN\n",
            '  credentials:  # who we are\n    scheme: bearer-token\n    source: "env"\n    name: "ONE_TOKEN"\n',
        ),
        (
            '  "auth": {scheme: bearer-token, token_source: "env:ONE"}\n',
            '  "credentials": {scheme: bearer-token, source: "env", name: "ONE"}\n',
        ),
        ("  auth:\n    scheme: none\n", "  credentials:\n    scheme: none\n"),
    ],
)
def test_auth_becomes_credentials(wrong: str, right: str) -> None:
    assert fix_source(TOOL.replace(CREDENTIALS, wrong)) == TOOL.replace(CREDENTIALS, right)


VAULT = "https://our-vault.vault.azure.net"
SECRET = "arn:aws:secretsmanager:eu-west-1:123456789012:secret:mail-AbCdEf"


@pytest.mark.parametrize(
    ("word", "fields"),
    [
        ("env:MAIL", 'source: "env"\n    name: "MAIL"'),
        (f"secrets:{SECRET}", f'source: "aws_secrets_manager"\n    secret_id: "{SECRET}"'),
        (
            "secrets:projects/shop/secrets/mail/versions/3",
            'source: "gcp_secret_manager"\n    project: "shop"\n    secret: "mail"\n    version: "3"',
        ),
        (
            f"secrets:{VAULT}/secrets/mail",
            f'source: "azure_key_vault"\n    vault_url: "{VAULT}"\n    secret_name: "mail"',
        ),
    ],
)
def test_a_secret_that_says_where_it_is_kept_is_named_by_its_fields(word: str, fields: str) -> None:
    """AML-16"""
    before = TOOL.replace("source: env\n    name: ONE_TOKEN", f'token_source: "{word}"  # ask Ana')
    assert fix_source(before) == TOOL.replace("source: env\n    name: ONE_TOKEN", f"{fields}  # ask Ana")


def test_auth_takes_everything_along() -> None:
    """AML-16: what nobody knows stays, and is told of then."""
    wrong = "  auth:\n    scheme: api-key\n    header: X-Key\n    token_source: env:ONE\n    team: post # ours\n"
    right = '  credentials:\n    scheme: api-key\n    header: X-Key\n    source: "env"\n    name: "ONE"\n    team: post # ours\n'
    assert fix_source(TOOL.replace(CREDENTIALS, wrong)) == TOOL.replace(CREDENTIALS, right)


BROKER = "    provider: aws\n    function_id: arn:aws:lambda:eu-west-1:123456789012:function:token\n"


@pytest.mark.parametrize("key", ["credentials", "auth"])
def test_a_client_goes_once_its_broker_is_named(key: str) -> None:
    """AML-16"""
    client = "    token_url: https://id.example.com\n    client_id: one\n    client_secret: two\n    grant_type: x\n"
    before = TOOL.replace(CREDENTIALS, f"  {key}:\n    scheme: oauth2\n{client}{BROKER}")
    assert fix_source(before) == TOOL.replace(CREDENTIALS, f"  credentials:\n    scheme: oauth2\n{BROKER}")


DATABASE = "  type: database\n  engine: postgresql\n  query_method: orm\n"


@pytest.mark.parametrize(
    ("wrong", "right"),
    [
        (
            "  connection_source: env:DB # ours\n",
            '  credentials:\n    scheme: service-account\n    source: "env"\n    name: "DB" # ours\n',
        ),
        (
            "  credentials:\n    scheme: service-account\n  connection_source: env:DB\n",
            '  credentials:\n    scheme: service-account\n    source: "env"\n    name: "DB"\n',
        ),
        (
            "  host: db.internal # the new one\n  port: 5432\n  credentials:\n    scheme: iam-role\n  username: agent\n"
            "  database: orders\n",
            "  credentials:\n    scheme: iam-role\n    host: db.internal # the new one\n    port: 5432\n"
            "    username: agent\n    database: orders\n",
        ),
        (
            '  "host": db\n  credentials: {scheme: iam-role, port: 1, database: "d", username: u}\n',
            None,
        ),
    ],
    ids=["no credentials", "credentials", "fields", "a flow"],
)
def test_a_connection_moves_into_the_credentials(wrong: str, right: str | None) -> None:
    """AML-57"""
    before = TOOL.replace(REST, DATABASE + wrong)
    assert fix_source(before) == (before if right is None else TOOL.replace(REST, DATABASE + right))


def test_what_a_moved_schema_brings_to_light_is_mended_with_it() -> None:
    """AML-16, AML-27"""
    wrong = DEDENTED.replace("type: string # plain text", "type: [string, null]")
    before = TOOL.replace(f"interface:\n{INPUT}{OUTPUT}", f"interface:\n{OUTPUT}\nparameters:\n{wrong}")
    assert '      type: [string, "null"]' in fix_source(before).replace("        type", "      type")


@pytest.mark.parametrize(
    "doubtful",
    [
        "  auth:\n    scheme: basic\n    token: abc\n",
        "  auth:\n    scheme: bearer-token\n    source: env\n    name: A\n    token_source: env:B\n",
        f"  auth:\n    scheme: bearer-token\n    token_source: secrets:{VAULT}/secrets/mail/0123456789\n",
        '  auth:\n    scheme: bearer-token\n    token_source: "secrets:prod/token"\n',
        "  auth:\n    scheme: oauth2\n    token_url: https://id.example.com\n    client_id: x\n",
        "  auth:\n    scheme: none\n  credentials:\n    scheme: none\n",
        "  auth: bearer\n",
        "  auth:\n    scheme: bearer-token\n    token_source: env:not a name\n",
    ],
)
def test_what_would_need_a_guess_is_left_to_a_person(doubtful: str) -> None:
    before = TOOL.replace(CREDENTIALS, doubtful)
    assert fix_source(before) == before


def test_root_schemas_move_into_the_interface() -> None:
    before = TOOL.replace(f"interface:\n{INPUT}{OUTPUT}", f"# what goes in\nparameters:\n{DEDENTED}")
    before = before.replace("\nuse_guidance", f"\nresponse_schema:\n{DEDENTED}\nuse_guidance")
    assert fix_source(before) == TOOL.replace("interface:", "# what goes in\ninterface:")


def test_a_root_schema_joins_the_interface_that_is_there() -> None:
    before = TOOL.replace(OUTPUT, "").replace("\nuse_guidance", f"\nresponse_schema:\n{DEDENTED}\nuse_guidance")
    assert fix_source(before) == TOOL
    before = TOOL.replace(INPUT, "").replace("\nuse_guidance", f"\nparameters:\n{DEDENTED}\nuse_guidance")
    assert fix_source(before) == TOOL


def test_a_schema_that_would_show_new_errors_is_not_moved() -> None:
    bad = DEDENTED.replace("type: string", "type: text").replace("required: [text]", "required: text\n  $ref: x")
    before = TOOL.replace(f"interface:\n{INPUT}{OUTPUT}", f"interface:\n{OUTPUT}\nparameters:\n{bad}")
    assert fix_source(before) == before


def test_line_ends_and_byte_order_mark_stay() -> None:
    wrong = TOOL.replace(CREDENTIALS, '  auth:\n    scheme: bearer-token\n    token_source: "env:ONE"\n')
    right = TOOL.replace(CREDENTIALS, '  credentials:\n    scheme: bearer-token\n    source: "env"\n    name: "ONE"\n')
    data = b"\xef\xbb\xbf" + wrong.replace("\n", "\r\n").encode()
    assert fix_source(data).encode() == b"\xef\xbb\xbf" + right.replace("\n", "\r\n").encode()


def test_an_aliased_value_is_left_alone() -> None:
    before = TOOL.replace("status: active", "status: &word Active").replace("owner: team", "owner: *word")
    assert fix_source(before) == before


def test_a_fix_that_does_more_than_it_promises_is_refused() -> None:
    def greedy(manuscript: object) -> object:
        text: str = manuscript.text  # type: ignore[attr-defined]
        start = text.index("status")
        edit = Edit(start, text.index("\n", start), "status: active\nextra: true")
        yield Fix("AML-11", (("status",),), (edit,), lambda value: value.update(status="active"))

    source = Source("tools/tool-one.tool.md", TOOL.replace("status: active", "status: gone").encode())
    fixers = Fixers((greedy,), frozenset({"AML-11"}))  # type: ignore[arg-type]
    assert fix_text(source, AML, fixers, check_source) is None


WRONG = {
    'spec_version: "1.2"': ["spec_version: 1.2", "spec_version: 2", "spec_version: !!float 1.2", "spec_version: 1.20"],
    "status: active": ["status: ACTIVE", "status: >-\n  Active", "'status': Active", "status: Acti've"],
    "https://one.example.com/v1": ["https://one.example.com/", "'https://one.example.com/v1/'", "/", ">-\n    x/"],
    "POST /things": ["get /things", '"post /thi\\x6egs"', "|\n    post /things", "post /a: b"],
    "type: string # plain text": ["type: [null, string, null]", "type: null", "type: [string, ~]", "type:"],
    CREDENTIALS: [
        "  auth:\n    scheme: none\n# low comment\n    token_source: env:X\n",
        "  auth: {scheme: bearer-token,\n token_source: env:X}\n",
        "  auth: &a\n    scheme: none\n  credentials: *a\n",
        "  <<: {auth: {scheme: none}}\n",
    ],
    f"interface:\n{INPUT}{OUTPUT}": [
        f"parameters:\n{DEDENTED}response_schema: {{type: object}}\n",
        "parameters: {\n  type: object\n}\nresponse_schema:\n  type: object\n",
        "interface: {output: {type: object}}\nparameters:\n    type: object\n",
        f"parameters:\n{DEDENTED}# low comment\n  additionalProperties: false\n",
        "parameters: &p\n  type: object\nresponse_schema: *p\n",
        "interface:\nparameters:\n  type: object\n  description: |2\n      deep\n    text\n",
    ],
}


@settings(deadline=None)
@given(st.fixed_dictionaries({}, optional={right: st.sampled_from(wrong) for right, wrong in WRONG.items()}))
def test_property_no_mixture_of_mistakes_is_made_worse(mixture: dict[str, str]) -> None:
    text = TOOL
    for right, wrong in mixture.items():
        text = text.replace(right, wrong, 1)
    source = Source("tools/tool-one.tool.md", text.encode())
    result = fix_text(source, AML, FIXERS, check_source)
    if result is None:
        return
    after = Source(source.file, result.data)
    assert _errors(after) <= _errors(source)
    assert read(after)[0].body == read(source)[0].body
    for comment in ("# low comment", "# what the model fills in"):
        assert result.after.count(comment) == text.count(comment)
    assert fix_text(after, AML, FIXERS, check_source) is None, "everything that can be mended is mended the first time"


def _errors(source: Source) -> int:
    return sum(found.severity is Severity.ERROR for found in check_source(source))


SUPERSEDED = (
    ('    source: "env"\n    name: "ONE"\n', "    token_source: env:ONE\n"),
    (f'    source: "aws_secrets_manager"\n    secret_id: "{SECRET}"\n', f"    token_source: 'secrets:{SECRET}'\n"),
    ("    source: env\n    name: ONE\n    key: inner # which\n", None),
)
SPLIT = f"interface:\n{INPUT}{OUTPUT}"


@settings(deadline=None, max_examples=40)
@given(
    secret=st.sampled_from(SUPERSEDED),
    key=st.sampled_from(["credentials", "auth"]),
    is_split=st.booleans(),
    words=st.sets(st.sampled_from([("status: active", "status: Active"), ("POST /", "post /"), ("v1\n", "v1/\n")])),
    newline=st.sampled_from(["\n", "\r\n"]),
    mark=st.sampled_from([b"", b"\xef\xbb\xbf"]),
)
def test_property_superseded_files_become_what_would_be_written_today(
    secret: tuple[str, str | None],
    key: str,
    is_split: bool,
    words: set[tuple[str, str]],
    newline: str,
    mark: bytes,
) -> None:
    """AML-16: no hint is left, and every line that need not change is the same to the byte."""
    fields, old_fields = secret
    right = TOOL.replace(
        CREDENTIALS, f"  credentials: # who we are\n    scheme: bearer-token\n{fields}    team: post\n"
    )
    wrong = right.replace(fields, old_fields or fields).replace("  credentials: #", f"  {key}: #")
    if is_split:
        wrong = wrong.replace(SPLIT, f"parameters:\n{DEDENTED}").replace(
            "\nuse_guidance", f"\nresponse_schema:\n{DEDENTED}\nuse_guidance"
        )
    for word, mistake in words:
        wrong = wrong.replace(word, mistake)
    result = fix_source(mark + wrong.replace("\n", newline).encode()).encode()
    assert result == mark + right.replace("\n", newline).encode()
    assert "AML-16" not in {found.rule for found in check_source(Source("tools/tool-one.tool.md", result))}
