"""Writes workspaces of realistic definitions: the same seed gives the same bytes on any machine.

    python -m bench.generate FOLDER --form aml --count 10000

Most definitions are clean. A small share (`FAULTY_PERCENT`) carries one planted mistake, as real folders do.
"""

from __future__ import annotations

import argparse
import json
import random
from collections.abc import Iterator
from pathlib import Path
from typing import Any, NamedTuple

SEED = 20250401
FAULTY_PERCENT = 2
FORMS = ("aml", "oxp", "oxp-catalog", "adl", "agent-tool")
CATALOG_SIZE = 100
"""Tools in one OXP catalog file."""
ADL_TOOLS = 10
"""Tools in one ADL manifest."""
TOOLS_PER_AGENT = 200

VERBS = {
    "retrieval": ("find", "look-up", "list", "read", "search", "check", "fetch", "count"),
    "action": ("create", "send", "cancel", "update", "refund", "book", "assign", "delete"),
    "function": ("compute", "convert", "format", "score"),
    "human": ("review", "approve", "ask"),
}
NOUNS = (
    "invoice", "order", "shipment", "customer", "ticket", "employee", "contract", "payment", "article", "supplier",
    "appointment", "parcel", "subscription", "campaign", "warehouse", "vehicle", "policy", "claim", "meeting", "asset",
)  # fmt: skip
TEAMS = ("billing", "logistics", "support", "people", "legal", "sales", "platform", "warehouse")
PURPOSES = (
    "a delivery is about to be promised to somebody",
    "the customer asks for the current state",
    "an amount has to be checked before it is quoted",
    "a colleague needs the record for an answer",
    "the case cannot go on without the reference number",
)
EXCLUSIONS = (
    "the record is older than seven years and lives in the archive",
    "the customer only asks for general terms",
    "the reference number is a guess",
    "another tool has returned the same record in this run",
)


class Field(NamedTuple):
    name: str
    schema: dict[str, Any]


FIELDS = (
    Field(
        "reference",
        {
            "type": "string",
            "pattern": "^[A-Z]{2}-[0-9]{6}$",
            "description": "Reference number, as printed on the letter.",
        },
    ),
    Field("email", {"type": "string", "format": "email", "description": "Address of the person it concerns."}),
    Field(
        "amount", {"type": "number", "minimum": 0, "maximum": 100000, "description": "Amount in euros, taxes included."}
    ),
    Field("quantity", {"type": "integer", "minimum": 1, "description": "How many pieces; at least one."}),
    Field("urgent", {"type": "boolean", "description": "True when it has to happen today."}),
    Field(
        "status",
        {
            "type": "string",
            "enum": ["open", "waiting", "closed"],
            "description": "State to filter by, open when unsure.",
        },
    ),
    Field("since", {"type": "string", "format": "date", "description": "First day to look at, such as 2025-04-01."}),
    Field(
        "labels",
        {"type": "array", "items": {"type": "string"}, "maxItems": 20, "description": "Labels that all have to match."},
    ),
    Field("note", {"type": ["string", "null"], "maxLength": 500, "description": "A line for the record, or null."}),
    Field(
        "page", {"type": "integer", "minimum": 1, "default": 1, "description": "Page of the list, counted from one."}
    ),
    Field(
        "country", {"type": "string", "minLength": 2, "maxLength": 2, "description": "Country as two capital letters."}
    ),
    Field(
        "address",
        {
            "type": "object",
            "description": "Where it should go.",
            "properties": {
                "street": {"type": "string", "description": "Street and house number."},
                "city": {"type": "string", "description": "Town, without the postcode."},
            },
            "required": ["street", "city"],
            "additionalProperties": False,
        },
    ),
)


class Sketch(NamedTuple):
    """A tool before it is written in any dialect."""

    number: int
    kind: str
    verb: str
    noun: str
    owner: str
    inputs: tuple[Field, ...]
    outputs: tuple[Field, ...]
    transport: str
    version: str
    is_faulty: bool

    @property
    def slug(self) -> str:
        return f"{self.verb}-{self.noun}-{self.number:06d}"

    @property
    def symbol(self) -> str:
        return self.slug.replace("-", "_")

    @property
    def title(self) -> str:
        return f"{self.verb.replace('-', ' ').capitalize()} {self.noun}"

    @property
    def sentences(self) -> tuple[str, str]:
        return (
            f"{self.title} records of the {self.owner} team by what is known about them.",
            f"Use it when the {self.noun} matters to the answer and its reference is known.",
        )


def sketches(count: int, seed: int = SEED) -> Iterator[Sketch]:
    """`count` different tools."""
    draw = random.Random(seed)
    for number in range(count):
        kind = draw.choices(("retrieval", "action", "function", "human"), (50, 35, 10, 5))[0]
        transports = ("rest-api", "lambda", "mcp", "message-queue", "database")
        transport = draw.choices(transports, (50, 15, 15, 8, 12))[0]
        if kind == "function":
            transport = ""
        yield Sketch(
            number,
            kind,
            draw.choice(VERBS[kind]),
            draw.choice(NOUNS),
            draw.choice(TEAMS),
            tuple(draw.sample(FIELDS, draw.randint(1, 3))),
            tuple(draw.sample(FIELDS, draw.randint(1, 2))),
            transport,
            f"{draw.randint(1, 4)}.{draw.randint(0, 9)}.{draw.randint(0, 9)}",
            draw.randrange(100) < FAULTY_PERCENT,
        )


def object_schema(fields: tuple[Field, ...], required: int) -> dict[str, Any]:
    """A closed object of the given fields."""
    return {
        "type": "object",
        "properties": {field.name: field.schema for field in fields},
        "required": [field.name for field in fields[:required]],
        "additionalProperties": False,
    }


def write_workspace(folder: Path, form: str, count: int, seed: int = SEED) -> int:
    """Write `count` tools in one form; returns how many mistakes were planted."""
    folder.mkdir(parents=True, exist_ok=True)
    (folder / "ferrule.toml").write_text('namespace = "bench"\n')
    planted = 0
    tools = sketches(count, seed)
    match form:
        case "aml":
            planted = _write_aml(folder, tools, count)
        case "oxp":
            for tool in tools:
                planted += tool.is_faulty
                _put(folder / "tools" / f"{tool.slug}.oxp.json", _json(oxp_definition(tool)))
        case "oxp-catalog":
            for number, batch in enumerate(_batches(tools, CATALOG_SIZE)):
                planted += sum(tool.is_faulty for tool in batch)
                text = _json({"tools": [oxp_definition(tool) for tool in batch]})
                _put(folder / "tools" / f"catalog-{number:05d}.json", text)
        case "adl":
            for number, batch in enumerate(_batches(tools, ADL_TOOLS)):
                planted += sum(tool.is_faulty for tool in batch)
                _put(folder / "agents" / f"agent-{number:05d}.yaml", adl_manifest(number, batch))
        case "agent-tool":
            for tool in tools:
                planted += tool.is_faulty
                _put(folder / "tools" / f"{tool.slug}.json", _json(agent_tool_declaration(tool)))
        case _:
            raise ValueError(f"no such form: {form}")
    return planted


def _write_aml(folder: Path, tools: Iterator[Sketch], count: int) -> int:
    planted = 0
    for number, batch in enumerate(_batches(tools, TOOLS_PER_AGENT)):
        for tool in batch:
            planted += tool.is_faulty
            _put(folder / "tools" / f"{tool.slug}.tool.md", aml_tool(tool))
        granted = [tool for tool in batch if not tool.is_faulty][:8]
        if count >= TOOLS_PER_AGENT and granted:
            _put(folder / "iam" / f"role-{number:05d}.iam.md", aml_role(number, granted))
            _put(folder / "agents" / f"agent-{number:05d}.agent.md", aml_agent(number, granted))
    return planted


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
        *_yaml(object_schema(tool.inputs, 1), "    "),
        "  output:",
        *_yaml(object_schema(tool.outputs, 1), "    "),
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
        f"    - {PURPOSES[tool.number % len(PURPOSES)]}",
        f"    - {PURPOSES[(tool.number + 2) % len(PURPOSES)]}",
        "  avoid_when:",
        f"    - {EXCLUSIONS[tool.number % len(EXCLUSIONS)]}",
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


def oxp_definition(tool: Sketch) -> dict[str, Any]:
    """An OXP ToolDefinition."""
    toolkit = tool.owner.capitalize()
    definition: dict[str, Any] = {
        "id": f"{toolkit}.{tool.symbol}@{tool.version}",
        "name": tool.symbol,
        "description": " ".join(tool.sentences),
        "version": "1.0" if tool.is_faulty else tool.version,
        "input_schema": {"parameters": object_schema(tool.inputs, 1)},
        "output_schema": object_schema(tool.outputs, 1),
    }
    if tool.number % 3 == 0:
        definition["requirements"] = {"secrets": [{"id": f"{tool.owner.upper()}_KEY"}], "user_id": True}
    return definition


def agent_tool_declaration(tool: Sketch) -> dict[str, Any]:
    """An Agent Tool declaration."""
    return {
        "schema_version": "0.2.0",
        "tool_id": f"tool_{tool.symbol}",
        "namespace": tool.owner,
        "name": tool.symbol,
        "title": tool.title,
        "description": " ".join(tool.sentences),
        "lifecycle": "ready" if tool.is_faulty else "available",
        "tool_kind": "retrieval" if tool.kind == "retrieval" else "function",
        "input_contract": {"strict": True, "model_input_schema": object_schema(tool.inputs, 1)},
        "output_contract": {"structured_content_schema": object_schema(tool.outputs, 1)},
        "permission_profile_ref": f"permission_profile:{tool.owner}.{tool.symbol}",
        "annotations": {"team": tool.owner},
    }


def adl_manifest(number: int, tools: list[Sketch]) -> str:
    """An ADL agent file with the given tools."""
    lines = [
        "apiVersion: adl.inference-gateway.com/v1",
        "kind: Agent",
        "metadata:",
        f"  name: desk-agent-{number:05d}",
        "  description: Answers questions of the desk",
        "  version: 1.0.0",
        "spec:",
        "  capabilities:",
        "    streaming: true",
        "    pushNotifications: false",
        "    stateTransitionHistory: false",
        "  server:",
        "    port: 8080",
        "  language:",
        "    go:",
        "      module: example.com/desk",
        '      version: "1.24"',
        "  services:",
        "    records:",
        "      type: service",
        "      interface: Records",
        "      factory: NewRecords",
        "      description: Reads and writes the desk's records",
        "  tools:",
    ]
    for tool in tools:
        name = tool.symbol
        lines += [
            f"    - id: {tool.slug if tool.is_faulty else name}",
            f"      name: {name}",
            f"      description: {tool.sentences[0]}",
            f"      tags: [{tool.noun}, {tool.owner}]",
            "      inject: [logger, records]",
            "      schema:",
            *_yaml(object_schema(tool.inputs, 1), "        "),
        ]
    return "\n".join(lines) + "\n"


def _yaml(value: dict[str, Any], indent: str) -> list[str]:
    """A schema as people write it: blocks for mappings, flow for short lists."""
    lines = []
    for key, item in value.items():
        if isinstance(item, dict):
            lines.append(f"{indent}{key}:")
            lines += _yaml(item, indent + "  ")
        elif isinstance(item, list):
            lines.append(f"{indent}{key}: [{', '.join(_scalar(part) for part in item)}]")
        else:
            lines.append(f"{indent}{key}: {_scalar(item)}")
    return lines


def _scalar(value: object) -> str:
    if isinstance(value, str):
        is_plain = value not in {"null", "true", "false"} and value.replace(" ", "").isalnum()
        return value if is_plain else json.dumps(value)
    return json.dumps(value)


def _json(value: object) -> str:
    return json.dumps(value, indent=2) + "\n"


def _put(path: Path, text: str) -> None:
    try:
        path.write_text(text, encoding="utf-8")
    except FileNotFoundError:
        path.parent.mkdir(parents=True)
        path.write_text(text, encoding="utf-8")


def _batches(tools: Iterator[Sketch], size: int) -> Iterator[list[Sketch]]:
    batch: list[Sketch] = []
    for tool in tools:
        batch.append(tool)
        if len(batch) == size:
            yield batch
            batch = []
    if batch:
        yield batch


def main() -> None:
    """The command line."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("folder", type=Path)
    parser.add_argument("--form", choices=FORMS, default="aml")
    parser.add_argument("--count", type=int, default=10_000)
    options = parser.parse_args()
    planted = write_workspace(options.folder, options.form, options.count)
    print(f"{options.count} tools as {options.form} in {options.folder}, {planted} with a planted mistake")


if __name__ == "__main__":
    main()
