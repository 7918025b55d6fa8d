"""The table of structural rules for the optional blocks of an ADL `spec`, from `card` to `telemetry`.

A block no rule of its own speaks of is reported as ADL-3; skills are ADL-38, MCP and telemetry ADL-39.
"""

from __future__ import annotations

from ferrule.contracts.expect import mapping, matching, one_of, sequence
from ferrule.contracts.rule import Row
from ferrule.definitions.rules.adl.fields import LICENSE, PINNED
from ferrule.definitions.rules.adl.mapping_rows import (
    FLAG,
    TEXT,
    TEXT_MAP,
    TEXTS,
    build_member_rows,
    build_rows,
    number,
    whole_number,
)
from ferrule.model.value import JsonValue

_PROVIDERS = one_of(
    *("", "openai", "anthropic", "ollama", "deepseek", "google", "mistral", "groq", "cohere", "cloudflare"),
    *("moonshot", "ollama_cloud", "nvidia", "minimax"),
)


def _expect_some_page(value: JsonValue) -> str | None:
    return None if value else "must list at least one page"


def _expect_one_exporter(value: JsonValue) -> str | None:
    """Expects exactly one of the known exporters; the closed mapping reports unknown keys."""
    assert isinstance(value, dict)
    known = [name for name in ("otlp", "prometheus") if name in value]
    return None if len(known) == 1 else f"must name one exporter, not {len(known)}"


def _expect_otlp_exporter(value: JsonValue) -> str | None:
    assert isinstance(value, dict)
    return None if "otlp" in value else "must name the exporter `otlp`"


CARD: tuple[Row, ...] = (
    *build_rows(
        "spec.card",
        "ADL-3",
        {
            **dict.fromkeys(("protocolVersion", "url", "preferredTransport", "documentationUrl", "iconUrl"), TEXT),
            "defaultInputModes": TEXTS,
            "defaultOutputModes": TEXTS,
            "supportsExtendedAgentCard": FLAG,
            "securitySchemes": mapping(),
            "security": sequence(),
        },
    ),
    *build_rows(
        "spec.card.securitySchemes.*",
        "ADL-3",
        {
            "type": one_of("apiKey", "http", "mutualTLS"),
            "in": one_of("query", "header", "cookie"),
            **dict.fromkeys(("description", "name", "scheme", "bearerFormat"), TEXT),
        },
        required=("type",),
    ),
    Row("spec.card.security[]", mapping(), "ADL-3"),
    *build_member_rows("spec.card.security[].*", "ADL-3", TEXTS),
)

PAPERS: tuple[Row, ...] = (
    *build_rows("spec.documentation", "ADL-3", {"pages": sequence()}, required=("pages",)),
    Row("spec.documentation.pages", _expect_some_page, "ADL-3"),
    *build_rows("spec.documentation.pages[]", "ADL-3", {"title": TEXT, "path": TEXT}, required=("title", "path")),
    Row("spec.examples", sequence(), "ADL-3"),
    *build_rows(
        "spec.examples[]",
        "ADL-3",
        {"title": TEXT, "description": TEXT},
        required=("title", "description"),
        closed=True,
    ),
    *build_member_rows("spec.acronyms", "ADL-3", TEXTS),
    *build_rows("spec.artifacts", "ADL-3", {"enabled": FLAG}, required=("enabled",)),
    *build_rows("spec.hooks", "ADL-3", {"post": TEXTS}),
    *build_rows(
        "spec.scm",
        "ADL-3",
        {
            "provider": one_of("github", "gitlab", "bitbucket"),
            **dict.fromkeys(("url", "app_id_secret", "app_private_key_secret"), TEXT),
            **dict.fromkeys(("github_app", "issue_templates", "dependabot", "ci", "cd"), FLAG),
        },
    ),
)

AGENT: tuple[Row, ...] = (
    *build_rows(
        "spec.agent",
        "ADL-3",
        {
            "provider": _PROVIDERS,
            "model": TEXT,
            "systemPrompt": TEXT,
            "maxTokens": whole_number(1),
            "temperature": number(0, 2),
        },
    ),
    *build_rows(
        "spec.agent.mcp",
        "ADL-39",
        {
            "enabled": FLAG,
            "servers": sequence(),
            "maxRetries": whole_number(0),
            **dict.fromkeys(
                ("endpoint", "refreshInterval", "dialTimeout", "callTimeout", "retryInterval", "retryMaxInterval"), TEXT
            ),
        },
        required=("enabled",),
        closed=True,
    ),
    *build_rows(
        "spec.agent.mcp.servers[]",
        "ADL-39",
        {
            "name": matching("[a-zA-Z0-9_-]+", "letters, digits, `_` and `-`"),
            "transport": one_of("stdio", "sse", "http"),
            "command": TEXT,
            "args": TEXTS,
            "env": TEXT_MAP,
            "url": TEXT,
            "headers": TEXT_MAP,
        },
        required=("name", "transport"),
        closed=True,
    ),
    Row("spec.skills", sequence(), "ADL-38"),
    *build_rows(
        "spec.skills[]",
        "ADL-38",
        {
            "id": matching("[a-zA-Z0-9_][a-zA-Z0-9_-]*", "letters, digits, `_` and `-`, no `-` first"),
            **dict.fromkeys(("version", "source", "name", "description"), TEXT),
            "bare": FLAG,
            "license": LICENSE,
            "tags": TEXTS,
        },
        required=("id",),
        closed=True,
    ),
)

_OTLP = {"endpoint": TEXT, "protocol": one_of("http/protobuf", "grpc")}

TELEMETRY: tuple[Row, ...] = (
    *build_rows("spec.telemetry", "ADL-39", {"enabled": FLAG}, required=("enabled",)),
    *build_rows("spec.telemetry.traces", "ADL-39", {"exporter": mapping()}, closed=True),
    *build_rows("spec.telemetry.traces.exporter", "ADL-39", {"otlp": mapping()}, closed=True),
    Row("spec.telemetry.traces.exporter", _expect_otlp_exporter, "ADL-39"),
    *build_rows("spec.telemetry.traces.exporter.otlp", "ADL-39", _OTLP, closed=True),
    *build_rows("spec.telemetry.metrics", "ADL-39", {"exporter": mapping()}, closed=True),
    *build_rows("spec.telemetry.metrics.exporter", "ADL-39", {"otlp": mapping(), "prometheus": mapping()}, closed=True),
    Row("spec.telemetry.metrics.exporter", _expect_one_exporter, "ADL-39"),
    *build_rows("spec.telemetry.metrics.exporter.otlp", "ADL-39", _OTLP, closed=True),
    *build_rows(
        "spec.telemetry.metrics.exporter.prometheus",
        "ADL-39",
        {"host": TEXT, "port": whole_number(1, 65535)},
        closed=True,
    ),
)

_SWITCH = {"enabled": FLAG}
_SWITCH_WITH_APP = {"enabled": FLAG, "appIdSecret": TEXT, "appPrivateKeySecret": TEXT}

DEVELOPMENT: tuple[Row, ...] = (
    *build_rows("spec.development", "ADL-3", {"deps": PINNED}),
    Row("spec.development.sandbox", mapping(), "ADL-3"),
    *(
        row
        for name in ("flox", "devcontainer", "dockerCompose")
        for row in build_rows(f"spec.development.sandbox.{name}", "ADL-3", _SWITCH, required=("enabled",))
    ),
    Row("spec.development.ai", mapping(), "ADL-3"),
    Row("spec.development.ai.orchestrators", mapping(), "ADL-3"),
    *(
        row
        for name, members in (
            ("claudecode", _SWITCH_WITH_APP),
            ("codex", _SWITCH),
            ("gemini", _SWITCH),
            ("opencode", _SWITCH),
            ("infer", _SWITCH_WITH_APP),
        )
        for row in build_rows(f"spec.development.ai.orchestrators.{name}", "ADL-3", members, required=("enabled",))
    ),
)

_IMAGE = {"registry": TEXT, "repository": TEXT, "tag": TEXT, "useCloudBuild": FLAG}

DEPLOYMENT: tuple[Row, ...] = (
    *build_rows("spec.deployment", "ADL-3", {"type": one_of("kubernetes", "cloudrun", "vercel", "cloudflare")}),
    *build_rows("spec.deployment.kubernetes", "ADL-3", {}),
    *build_rows("spec.deployment.kubernetes.image", "ADL-3", _IMAGE),
    *build_rows("spec.deployment.cloudrun", "ADL-3", {"environment": TEXT_MAP}),
    *build_rows("spec.deployment.cloudrun.image", "ADL-3", _IMAGE),
    *build_rows("spec.deployment.cloudrun.resources", "ADL-3", {"cpu": TEXT, "memory": TEXT}),
    *build_rows(
        "spec.deployment.cloudrun.scaling",
        "ADL-3",
        {
            "minInstances": whole_number(),
            "maxInstances": whole_number(),
            "concurrency": whole_number(),
        },
    ),
    *build_rows(
        "spec.deployment.cloudrun.service",
        "ADL-3",
        {
            "timeout": whole_number(),
            "allowUnauthenticated": FLAG,
            "serviceAccount": TEXT,
            "executionEnvironment": TEXT,
        },
    ),
    *build_rows(
        "spec.deployment.vercel",
        "ADL-3",
        {
            "project": TEXT,
            "team": TEXT,
            "framework": TEXT,
            "runtime": one_of("nodejs", "edge"),
            "regions": TEXTS,
            "environment": TEXT_MAP,
        },
    ),
    *build_rows(
        "spec.deployment.vercel.functions",
        "ADL-3",
        {"memory": whole_number(), "maxDuration": whole_number()},
    ),
    *build_rows(
        "spec.deployment.cloudflare",
        "ADL-3",
        {
            "name": TEXT,
            "accountId": TEXT,
            "compatibilityDate": TEXT,
            "compatibilityFlags": TEXTS,
            "routes": TEXTS,
            "workersDev": FLAG,
            "environment": TEXT_MAP,
        },
    ),
)

ROWS: tuple[Row, ...] = CARD + PAPERS + AGENT + TELEMETRY + DEVELOPMENT + DEPLOYMENT
