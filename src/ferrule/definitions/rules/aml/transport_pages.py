"""Pages of the codes in the table of `transport_fields.py`."""

from __future__ import annotations

from ferrule.contracts.rule import RuleInfo
from ferrule.model.diagnostic import Severity


def _make_page(code: str, name: str, summary: str, bad: str, good: str, why: str = "") -> RuleInfo:
    details = (f"Why: {why}\n" if why else "") + f"Bad:  {bad}\nGood: {good}"
    return RuleInfo(code, name, Severity.ERROR, summary, details)


TRANSPORT_PAGES = (
    _make_page(
        "AML-37",
        "missing-transport",
        "Every tool has a `transport` mapping, except those of type function.",
        "type: action, and no transport",
        "type: action, transport: {type: rest-api, …}",
        "without it the runtime does not know where to send the call.",
    ),
    _make_page(
        "AML-38",
        "unknown-transport",
        "`transport.type` is rest-api, lambda, mcp, message-queue or database.",
        "type: grpc",
        "type: rest-api",
    ),
    _make_page(
        "AML-39",
        "missing-credentials",
        "A transport has a `credentials` mapping, also when its scheme is none.",
        "transport: {type: mcp, url: …, tool_name: …}",
        "credentials: {scheme: none}",
        "that a call needs no authentication is a decision, and decisions are written down.",
    ),
    _make_page(
        "AML-40",
        "malformed-base-url",
        "`base_url` is an absolute http or https URL without a trailing slash.",
        "base_url: https://mail.example.com/v1/",
        "base_url: https://mail.example.com/v1",
        "the path of `endpoint` is put after it as it stands.",
    ),
    _make_page(
        "AML-41",
        "malformed-endpoint",
        "`endpoint` is an upper-case method and a path; a bare `/` gets a warning.",
        "endpoint: post /send",
        "endpoint: POST /send",
    ),
    _make_page(
        "AML-42",
        "malformed-timeout",
        "`timeout_ms` is an integer of at least 1; 5000 when absent.",
        "timeout_ms: 5s",
        "timeout_ms: 5000",
    ),
    _make_page(
        "AML-43",
        "malformed-attempts",
        "`retry_policy` is a mapping; `max_attempts` is an integer of at least 1 that counts the first call.",
        "max_attempts: 0",
        "max_attempts: 1",
    ),
    _make_page(
        "AML-44",
        "malformed-retry-status",
        "`on_status` is a list of integer status codes.",
        'on_status: ["429"]',
        "on_status: [429, 503]",
    ),
    _make_page(
        "AML-45",
        "malformed-backoff",
        "`backoff_ms` is an integer of at least 0.",
        "backoff_ms: slow",
        "backoff_ms: 200",
    ),
    _make_page(
        "AML-47",
        "unknown-function-provider",
        "`provider` of a lambda transport is aws, gcp or azure.",
        "provider: alibaba",
        "provider: aws",
    ),
    _make_page(
        "AML-49",
        "unknown-invocation-type",
        "`invocation_type` is RequestResponse or Event.",
        "invocation_type: Async",
        "invocation_type: Event",
    ),
    _make_page(
        "AML-50",
        "unknown-payload-format",
        "`payload_format` is json (also when absent) or raw.",
        "payload_format: xml",
        "payload_format: json",
    ),
    _make_page(
        "AML-52",
        "incomplete-mcp-transport",
        "An mcp transport has a full `url` and a `tool_name`; `protocol_version` is a text.",
        "url: mcp.example.com",
        "url: https://mcp.example.com/comms",
    ),
    _make_page(
        "AML-53",
        "unknown-queue-provider",
        "`provider` of a message queue is aws, gcp, azure or kafka.",
        "provider: aws-sqs",
        "provider: aws",
    ),
    _make_page(
        "AML-54",
        "incomplete-queue",
        "A message queue has a `queue_url`; `message_format` is json or avro, `response_queue_url` a text.",
        "message_format: xml",
        "message_format: json",
    ),
    _make_page(
        "AML-55",
        "unknown-engine",
        "`engine` is postgresql, mysql, mssql, bigquery, snowflake or rds-data-api.",
        "engine: sqlite",
        "engine: postgresql",
    ),
    _make_page(
        "AML-56",
        "unknown-query-method",
        "`query_method` is parameterised-sql or orm.",
        "query_method: parameterized-sql",
        "query_method: parameterised-sql",
    ),
    _make_page(
        "AML-58",
        "unknown-scheme",
        "`scheme` is none, iam-role, api-key, bearer-token, oauth2 or service-account.",
        "scheme: basic",
        "scheme: bearer-token",
    ),
    _make_page(
        "AML-59",
        "missing-secret-source",
        "api-key, bearer-token and service-account say with `source` where the secret is kept.",
        "{scheme: bearer-token}",
        "{scheme: bearer-token, source: env, name: MAIL_TOKEN}",
    ),
    _make_page(
        "AML-60",
        "missing-token-broker",
        "oauth2 names the function that hands out tokens, by `provider` and `function_id`.",
        "{scheme: oauth2}",
        "{scheme: oauth2, provider: gcp, function_id: projects/p/locations/l/functions/broker}",
    ),
    _make_page(
        "AML-61",
        "malformed-token-broker",
        "The token broker's `provider` is aws, gcp or azure, its `function_id` fits that provider, and `scopes` is a list.",
        "scopes: mail.send",
        "scopes: [mail.send]",
    ),
    _make_page(
        "AML-62",
        "unknown-secret-source",
        "`source` is env, aws_secrets_manager, gcp_secret_manager or azure_key_vault.",
        "source: hashicorp_vault",
        "source: env",
    ),
    _make_page(
        "AML-65",
        "missing-key-header",
        "api-key names the `header` that carries the key; there is no default.",
        "{scheme: api-key, source: env, name: STOCK_KEY}",
        "{scheme: api-key, header: X-Api-Key, source: env, name: STOCK_KEY}",
    ),
)
