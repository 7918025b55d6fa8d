"""The table of structural rules for `transport` and its credentials in AML tool files. Pages: `transport_pages.py`."""

from __future__ import annotations

from collections.abc import Iterable

from ferrule.contracts.expect import a_type, filled_string, integer, mapping, matching, one_of, sequence, string
from ferrule.contracts.rule import Closed, Expectation, Required, Row
from ferrule.model.diagnostic import Severity
from ferrule.model.value import JsonValue

TRANSPORT_KEYS = {
    "rest-api": ("base_url", "endpoint", "timeout_ms", "retry_policy"),
    "lambda": ("provider", "function_id", "invocation_type", "payload_format"),
    "mcp": ("url", "tool_name", "protocol_version"),
    "message-queue": ("provider", "queue_url", "message_format", "response_queue_url"),
    "database": ("engine", "query_method"),
}
"""The keys of each kind of transport besides `type` and `credentials`."""
CONNECTION_KEYS = frozenset(
    {"host", "port", "database", "username", "password", "project", "dataset", "account", "warehouse", "schema",
     "role", "cluster_arn"}
)  # fmt: skip
"""Fields of a database connection, which belong in `credentials` or in the secret (AML-57)."""
CREDENTIAL_KEYS = frozenset(
    {"scheme", "source", "provider", "function_id", "scopes", "name", "secret_id", "region", "project", "secret",
     "version", "vault_url", "secret_name", "key", "header"}
)  # fmt: skip
WRITTEN_SECRETS = frozenset(
    {"token", "access_token", "password", "passwd", "api_key", "apikey", "value", "secret_value", "secret_key",
     "private_key", "access_key_id", "secret_access_key"}
)  # fmt: skip
"""Keys that would hold a secret itself rather than a reference to one (AML-71)."""
SUPERSEDED_CREDENTIAL_KEYS = ("token_source", "token_url", "client_id", "client_secret", "grant_type")
SECRET_SCHEMES = frozenset({"api-key", "bearer-token", "service-account"})
"""Schemes that read a secret from a `source`."""
SCHEMES = ("none", "iam-role", "api-key", "bearer-token", "oauth2", "service-account")
SOURCES = ("env", "aws_secrets_manager", "gcp_secret_manager", "azure_key_vault")

EXTENSION = "x-"
"""The prefix of keys of `transport` and its credentials that are not in the standard and have a meaning to an executor."""

_HUMAN = ("x-assignees", "x-expires-seconds", "x-message", "x-remind-seconds")
EXTENSIONS = {
    "rest-api": (
        "x-body", "x-headers", "x-idempotency-header", "x-mapping", "x-probe", "x-query", "x-response", *_HUMAN,
    ),
    "lambda": ("x-audience", "x-url", *_HUMAN),
    "mcp": _HUMAN,
    "message-queue": (
        "x-avro-reply-schema", "x-avro-schema", "x-avro-schema-id", "x-bootstrap-servers", "x-consumer-group",
        "x-endpoint", "x-group-by", "x-reply-seconds", "x-sasl-mechanism", "x-security-protocol", "x-service", *_HUMAN,
    ),
    "database": (
        "x-allow-sql", "x-allow-statements", "x-dialect", "x-max-rows", "x-rows", "x-statement", "x-tables",
        "x-truncate", *_HUMAN,
    ),
}  # fmt: skip
"""Those that Ferrule's own executors read, by kind of transport."""
CREDENTIAL_EXTENSIONS = frozenset(
    {"x-and", "x-audience", "x-client-id", "x-encode", "x-in", "x-name", "x-token-url", "x-version-stage"}
)

_CREDENTIALS = "transport.credentials"
_METHODS = "(?:GET|POST|PUT|PATCH|DELETE|HEAD|OPTIONS)"
_CLOUDS = one_of("aws", "gcp", "azure")
_WARNING = Severity.WARNING


def _expect_mapping_or_null(value: JsonValue) -> str | None:
    return None if value is None or isinstance(value, dict) else f"must be a mapping, not {a_type(value)}"


def _rows_of_kind(
    kind: str,
    key: str,
    rule: str,
    *expected: Expectation | Required,
    hint: str | None = None,
    hints: dict[str, str] | None = None,
) -> Iterable[Row]:
    """Returns the rows of a key of one kind of transport."""
    when = ("transport.type", frozenset({kind}))
    return tuple(Row(f"transport.{key}", expect, rule, hint=hint, when=when, hints=hints or {}) for expect in expected)


def _close_transport(kind: str) -> Row:
    superseded = frozenset({"auth", "function_arn"} if kind == "lambda" else {"auth"})
    misplaced = CONNECTION_KEYS | {"connection_source"} if kind == "database" else frozenset()
    known = frozenset({"type", "credentials", *TRANSPORT_KEYS[kind]})
    own = frozenset(EXTENSIONS[kind])
    closed = Closed(known, elsewhere=superseded | misplaced, extensions=EXTENSION, own=own)
    return Row("transport", closed, "AML-15", _WARNING, when=("transport.type", frozenset({kind})))


def _close_credentials(schemes: frozenset[str], superseded: Iterable[str]) -> Row:
    elsewhere = WRITTEN_SECRETS | frozenset(superseded)
    closed = Closed(CREDENTIAL_KEYS, elsewhere=elsewhere, extensions=EXTENSION, own=CREDENTIAL_EXTENSIONS)
    return Row(_CREDENTIALS, closed, "AML-15", _WARNING, when=(f"{_CREDENTIALS}.scheme", schemes))


def _rows_of_scheme(
    schemes: Iterable[str], key: str, rule: str, *expected: Expectation | Required, hint: str | None = None
) -> Iterable[Row]:
    """Returns the rows of a key of the credentials under some schemes."""
    when = (f"{_CREDENTIALS}.scheme", frozenset(schemes))
    return tuple(Row(f"{_CREDENTIALS}.{key}", expect, rule, hint=hint, when=when) for expect in expected)


_BASE_URL = matching(r"(?i:https?)://[^\s/?#]\S*(?<!/)", "an absolute http or https URL without a trailing slash")
_ENDPOINT = matching(rf"{_METHODS} /.*", "a method and a path, such as `POST /send`")
_DEEP_ENDPOINT = matching(rf"{_METHODS} /.+", "a method and a path longer than `/`")
_FULL_URL = matching(r"[A-Za-z][A-Za-z0-9+.-]*://[^\s/?#]\S*", "a full URL")
_REST = ("transport.type", frozenset({"rest-api"}))

TRANSPORT_FIELDS: tuple[Row, ...] = (
    Row(
        "transport",
        Required(),
        "AML-37",
        hint="say how the tool is reached; only a tool of type function needs no transport",
        when=("type", frozenset({"retrieval", "action", "human"})),
    ),
    Row("transport", _expect_mapping_or_null, "AML-37", hint="write `type`, `credentials` and what the type needs"),
    *(_close_transport(kind) for kind in TRANSPORT_KEYS),
    Row("transport.type", Required(), "AML-38"),
    Row("transport.type", one_of(*TRANSPORT_KEYS), "AML-38"),
    *_rows_of_kind("rest-api", "base_url", "AML-40", Required(), _BASE_URL),
    *_rows_of_kind("rest-api", "endpoint", "AML-41", Required(), _ENDPOINT),
    Row(
        "transport.endpoint",
        _DEEP_ENDPOINT,
        "AML-41",
        _WARNING,
        "name a path; `base_url` alone is rarely what is called",
        _REST,
    ),
    *_rows_of_kind("rest-api", "timeout_ms", "AML-42", integer(1)),
    *_rows_of_kind("rest-api", "retry_policy", "AML-43", mapping()),
    Row(
        "transport.retry_policy",
        Closed(frozenset({"max_attempts", "on_status", "backoff_ms"})),
        "AML-15",
        _WARNING,
        when=_REST,
    ),
    *_rows_of_kind("rest-api", "retry_policy.max_attempts", "AML-43", integer(1)),
    *_rows_of_kind("rest-api", "retry_policy.on_status", "AML-44", sequence()),
    *_rows_of_kind("rest-api", "retry_policy.on_status[]", "AML-44", integer()),
    *_rows_of_kind("rest-api", "retry_policy.backoff_ms", "AML-45", integer(0)),
    *_rows_of_kind("lambda", "provider", "AML-47", Required(), _CLOUDS),
    *_rows_of_kind(
        "lambda", "function_id", "AML-48", Required(), string(), hint="name the function in its provider's way"
    ),
    *_rows_of_kind("lambda", "invocation_type", "AML-49", Required(), one_of("RequestResponse", "Event")),
    *_rows_of_kind("lambda", "payload_format", "AML-50", one_of("json", "raw")),
    *_rows_of_kind("mcp", "url", "AML-52", Required(), _FULL_URL),
    *_rows_of_kind("mcp", "tool_name", "AML-52", Required(), string(), hint="name the tool as the MCP server does"),
    *_rows_of_kind("mcp", "protocol_version", "AML-52", filled_string()),
    *_rows_of_kind(
        "message-queue",
        "provider",
        "AML-53",
        Required(),
        one_of("aws", "gcp", "azure", "kafka"),
        hints={
            "aws-sqs": "it is now written `aws`",
            "gcp-pubsub": "it is now written `gcp`",
            "azure-servicebus": "it is now written `azure`",
        },
    ),
    *_rows_of_kind(
        "message-queue", "queue_url", "AML-54", Required(), string(), hint="give the queue's URL, ARN or topic path"
    ),
    *_rows_of_kind("message-queue", "message_format", "AML-54", one_of("json", "avro")),
    *_rows_of_kind("message-queue", "response_queue_url", "AML-54", filled_string()),
    *_rows_of_kind(
        "database",
        "engine",
        "AML-55",
        Required(),
        one_of("postgresql", "mysql", "mssql", "bigquery", "snowflake", "rds-data-api"),
    ),
    *_rows_of_kind(
        "database",
        "query_method",
        "AML-56",
        Required(),
        one_of("parameterised-sql", "orm"),
    ),
    Row(_CREDENTIALS, Required(), "AML-39", hint="a tool without authentication says `credentials: {scheme: none}`"),
    Row(_CREDENTIALS, mapping(), "AML-39", hint="write at least `{scheme: none}`"),
    _close_credentials(SECRET_SCHEMES, ["token_source"]),
    _close_credentials(frozenset({"oauth2"}), SUPERSEDED_CREDENTIAL_KEYS),
    Row(f"{_CREDENTIALS}.scheme", Required(), "AML-58"),
    Row(f"{_CREDENTIALS}.scheme", one_of(*SCHEMES), "AML-58"),
    *_rows_of_scheme(
        SECRET_SCHEMES, "source", "AML-59", Required(), hint=f"say where the secret is kept: {', '.join(SOURCES)}"
    ),
    Row(
        f"{_CREDENTIALS}.source",
        one_of(*SOURCES),
        "AML-62",
        when=(f"{_CREDENTIALS}.scheme", SECRET_SCHEMES | {"oauth2"}),
        hints={
            "env_aws": "it is no longer a source; keep the key pair as one JSON secret and write "
            "`source: aws_secrets_manager` and its `secret_id`, or `source: env` and the `name` of a variable that holds it; "
            "`scheme: iam-role` alone uses the identity the runtime has"
        },
    ),
    *_rows_of_scheme(
        ["oauth2"], "provider", "AML-60", Required(), hint="name the cloud of the token broker: aws, gcp or azure"
    ),
    *_rows_of_scheme(["oauth2"], "provider", "AML-61", _CLOUDS),
    *_rows_of_scheme(["oauth2"], "function_id", "AML-60", Required(), hint="name the function that fetches the token"),
    *_rows_of_scheme(["oauth2"], "function_id", "AML-61", string()),
    *_rows_of_scheme(["oauth2"], "scopes", "AML-61", sequence()),
    *_rows_of_scheme(["oauth2"], "scopes[]", "AML-61", string()),
    *_rows_of_scheme(
        ["api-key"], "header", "AML-65", Required(), string(), hint="name the header that carries the key"
    ),
    *_rows_of_scheme(["api-key"], "x-in", "AML-65", one_of("header", "query", "cookie")),
    *_rows_of_scheme(["api-key"], "x-name", "AML-65", string()),
    *_rows_of_scheme(["api-key"], "x-encode", "AML-65", one_of("basic")),
    *_rows_of_scheme(
        SECRET_SCHEMES | {"oauth2"}, "x-and", "AML-58", sequence(), hint="list credentials, each with its `scheme`"
    ),
    *_rows_of_scheme(SECRET_SCHEMES | {"oauth2"}, "x-and[]", "AML-58", mapping()),
    *_rows_of_scheme(
        SECRET_SCHEMES | {"oauth2"}, "x-and[].scheme", "AML-58", Required(), one_of("api-key", "bearer-token")
    ),
)
