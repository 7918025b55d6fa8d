"""Writes sketches as AML: tools, and the agents and roles that use them."""

from __future__ import annotations

from bench.sketches import EXCLUSIONS, PURPOSES, Sketch, object_schema
from bench.yaml_text import yaml_lines


def aml_tool(tool: Sketch) -> str:
    """An AML tool file."""
    has_bad_status = tool.is_faulty and tool.number % 2 == 0
    has_bad_type = tool.is_faulty and not has_bad_status
    lines = [
        "---",
        'spec_version: "1.2"',
        f"tool_id: {tool.slug}",
        f'version: "{tool.version}"',
        f"status: {'live' if has_bad_status else 'active'}",
        "",
        "meta:",
        f"  name: {tool.title}",
        "  description: >",
        *(f"    {sentence}" for sentence in tool.sentences),
        f"  owner: {tool.owner}",
        f"  tags: [{tool.noun}, {tool.owner}]",
        '  last_updated: "2025-04-01"',
        "",
        f"type: {'retreival' if has_bad_type else tool.kind}",
        "",
        "interface:",
        "  input:",
        *yaml_lines(object_schema(tool.inputs, 1), "    "),
        "  output:",
        *yaml_lines(object_schema(tool.outputs, 1), "    "),
        "",
    ]
    if tool.transport:
        lines += ["transport:", f"  type: {tool.transport}", *_aml_transport(tool), ""]
    if tool.transport == "rest-api":
        lines += [
            "error_codes:",
            "  404:",
            f'    meaning: "There is no such {tool.noun}."',
            '    agent_action: "Ask for the reference number again."',
            "  429:",
            '    meaning: "Too many requests."',
            '    agent_action: "Wait a minute before trying again."',
            "",
        ]
    effects = {
        "retrieval": "None. Read-only.",
        "action": f"The {tool.noun} changes at once and the customer is told by mail.",
        "function": "None.",
        "human": "A colleague of the team on duty is interrupted.",
    }[tool.kind]
    lines += [
        "use_guidance:",
        "  use_when:",
        f"    - {PURPOSES[tool.number % len(PURPOSES)]}, as in case {tool.case}",
        f"    - {PURPOSES[(tool.number + 2) % len(PURPOSES)]}",
        "  avoid_when:",
        f"    - {EXCLUSIONS[tool.number % len(EXCLUSIONS)]}, unlike case {tool.case}",
        f'  side_effects: "{effects}"',
        "---",
        "",
        "# Purpose",
        "",
        f"Lets an agent {tool.title.lower()} without a form.",
        "",
    ]
    return "\n".join(lines)


def _aml_transport(tool: Sketch) -> list[str]:
    secret = [f"    secret_id: prod/{tool.owner}/{tool.noun}", "    region: eu-west-1"]
    match tool.transport:
        case "rest-api":
            method = "GET" if tool.kind == "retrieval" else "POST"
            retry = ["    max_attempts: 3", "    on_status: [429, 503]", "    backoff_ms: 200"]
            return [
                f"  base_url: https://{tool.owner}.example.com/v1",
                f"  endpoint: {method} /{tool.noun}s/{tool.verb}",
                "  timeout_ms: 4000",
                "  retry_policy:",
                *(retry if tool.kind == "retrieval" else ["    max_attempts: 1"]),
                "  credentials:",
                "    scheme: api-key",
                "    header: X-Api-Key",
                "    source: aws_secrets_manager",
                *secret,
            ]
        case "lambda":
            return [
                "  provider: aws",
                f"  function_id: arn:aws:lambda:eu-west-1:123456789012:function:{tool.slug}",
                "  invocation_type: RequestResponse",
                "  credentials:",
                "    scheme: iam-role",
            ]
        case "mcp":
            return [
                f"  url: https://mcp.{tool.owner}.example.com/mcp",
                f"  tool_name: {tool.symbol}",
                "  credentials:",
                "    scheme: bearer-token",
                "    source: env",
                f"    name: {tool.owner.upper()}_TOKEN",
            ]
        case "message-queue":
            return [
                "  provider: aws",
                f"  queue_url: https://sqs.eu-west-1.amazonaws.com/123456789012/{tool.noun}",
                f"  response_queue_url: https://sqs.eu-west-1.amazonaws.com/123456789012/{tool.noun}-answers",
                "  message_format: json",
                "  credentials:",
                "    scheme: iam-role",
            ]
        case _:
            return [
                "  engine: postgresql",
                "  query_method: parameterised-sql",
                "  credentials:",
                "    scheme: service-account",
                "    source: aws_secrets_manager",
                *secret,
            ]


def aml_role(number: int, granted: list[Sketch]) -> str:
    """A role that grants a handful of tools."""
    grants = []
    for tool in granted:
        grants.append(f"  - ref: {tool.slug}")
        if tool.kind == "action":
            grants.append("    approval_required: true")
    return "\n".join(
        [
            "---",
            'spec_version: "1.2"',
            f"iam_id: role-{number:05d}",
            'version: "1.0.0"',
            "status: active",
            "meta:",
            f"  name: Role {number}",
            "  description: What the desk agents may touch.",
            "  owner: platform",
            "cloud:",
            "  provider: aws",
            f"  role_arn: arn:aws:iam::123456789012:role/desk-{number}",
            "tools:",
            *grants,
            "---",
            "",
        ]
    )


def aml_agent(number: int, granted: list[Sketch]) -> str:
    """An agent that uses what its role grants."""
    return "\n".join(
        [
            "---",
            'spec_version: "1.2"',
            f"agent_id: agent-{number:05d}",
            'version: "1.0.0"',
            "status: active",
            "meta:",
            f"  name: Desk agent {number}",
            "  description: Answers questions of the desk.",
            "  owner: support",
            f"role: role-{number:05d}",
            "tools:",
            "  tool_choice: auto",
            "  refs:",
            *(f"    - ref: {tool.slug}" for tool in granted),
            "knowledge:",
            "  refs: []",
            "interface:",
            "  input:",
            "    examples:",
            "      - question: Where is my parcel?",
            "  output:",
            "    schema:",
            "      type: object",
            "      properties:",
            "        answer: {type: string, description: What to tell the customer.}",
            "      additionalProperties: false",
            "observability:",
            "  exporter: otlp",
            "runtime:",
            "  temperature: 0.2",
            "---",
            "# Purpose",
            "",
            "Helps the desk.",
            "",
            "# System behavior",
            "",
            "Looks things up before answering.",
            "",
            "# Rules",
            "",
            "Never guesses a reference number.",
            "",
        ]
    )
