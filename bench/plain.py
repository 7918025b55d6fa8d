"""The plain way to check definitions: PyYAML's C loader and the `jsonschema` package. Runs in the peers' environment.

    bench/peers/.venv/bin/python bench/plain.py FOLDER

Each file is loaded, validated against a hand-written schema of its format, and its own schemas are checked against the
meta-schema. Validators are built once. There are no positions, no references between files and no cache, so the work
is less than ours.
"""

from __future__ import annotations

import json
import re
import sys
from pathlib import Path
from typing import Any

import yaml
from jsonschema import Draft7Validator, Draft202012Validator  # type: ignore[import-untyped]  # the peers' package
from jsonschema.exceptions import SchemaError  # type: ignore[import-untyped]

TEXT = {"type": "string", "minLength": 1}
SCHEMA = {"type": "object"}
SEMVER = {"type": "string", "pattern": r"^\d+\.\d+\.\d+$"}

AML_TOOL = {
    "type": "object",
    "required": ["spec_version", "tool_id", "version", "status", "meta", "type", "interface", "use_guidance"],
    "additionalProperties": False,
    "properties": {
        "spec_version": {"const": "1.2"},
        "tool_id": {"type": "string", "pattern": "^[a-z0-9_-]{3,64}$"},
        "version": SEMVER,
        "status": {"enum": ["draft", "active", "deprecated", "disabled"]},
        "meta": {
            "type": "object",
            "required": ["name", "description", "owner"],
            "additionalProperties": False,
            "properties": {
                "name": TEXT,
                "description": TEXT,
                "owner": TEXT,
                "tags": {"type": "array", "items": TEXT},
                "last_updated": {"type": "string", "pattern": r"^\d{4}-\d{2}-\d{2}$"},
            },
        },
        "type": {"enum": ["retrieval", "action", "function", "human"]},
        "interface": {
            "type": "object",
            "required": ["input", "output"],
            "additionalProperties": False,
            "properties": {"input": SCHEMA, "output": SCHEMA},
        },
        "transport": {
            "type": "object",
            "required": ["type", "credentials"],
            "properties": {
                "type": {"enum": ["rest-api", "lambda", "mcp", "message-queue", "database"]},
                "timeout_ms": {"type": "integer", "minimum": 1},
                "retry_policy": {
                    "type": "object",
                    "properties": {
                        "max_attempts": {"type": "integer", "minimum": 1},
                        "on_status": {"type": "array", "items": {"type": "integer"}},
                        "backoff_ms": {"type": "integer", "minimum": 0},
                    },
                },
                "credentials": {
                    "type": "object",
                    "required": ["scheme"],
                    "properties": {
                        "scheme": {
                            "enum": ["none", "iam-role", "api-key", "bearer-token", "oauth2", "service-account"]
                        },
                        "source": {"enum": ["env", "aws_secrets_manager", "gcp_secret_manager", "azure_key_vault"]},
                    },
                },
            },
            "allOf": [
                {
                    "if": {"properties": {"type": {"const": "rest-api"}}},
                    "then": {
                        "required": ["base_url", "endpoint"],
                        "properties": {
                            "base_url": {"type": "string", "pattern": "^https?://.*[^/]$"},
                            "endpoint": {
                                "type": "string",
                                "pattern": "^(GET|POST|PUT|PATCH|DELETE|HEAD|OPTIONS) /.+$",
                            },
                        },
                    },
                },
                {
                    "if": {"properties": {"type": {"const": "lambda"}}},
                    "then": {"required": ["provider", "function_id", "invocation_type"]},
                },
                {
                    "if": {"properties": {"type": {"const": "mcp"}}},
                    "then": {"required": ["url", "tool_name"]},
                },
                {
                    "if": {"properties": {"type": {"const": "message-queue"}}},
                    "then": {"required": ["provider", "queue_url"]},
                },
                {
                    "if": {"properties": {"type": {"const": "database"}}},
                    "then": {"required": ["engine", "query_method"]},
                },
            ],
        },
        "error_codes": {
            "type": "object",
            "additionalProperties": {
                "type": "object",
                "required": ["meaning", "agent_action"],
                "properties": {"meaning": TEXT, "agent_action": TEXT},
            },
        },
        "use_guidance": {
            "type": "object",
            "additionalProperties": False,
            "properties": {
                "use_when": {"type": "array", "items": TEXT},
                "avoid_when": {"type": "array", "items": TEXT},
                "side_effects": {"type": ["string", "array"]},
            },
        },
    },
}

OXP_TOOL = {
    "type": "object",
    "required": ["id", "name", "description", "version", "input_schema", "output_schema"],
    "additionalProperties": False,
    "properties": {
        "id": {"type": "string", "pattern": r"^[A-Za-z0-9_]+\.[A-Za-z0-9_]+@\d+\.\d+\.\d+$"},
        "name": {"type": "string", "pattern": "^[A-Za-z0-9_-]{1,64}$"},
        "description": TEXT,
        "version": SEMVER,
        "input_schema": {
            "type": "object",
            "required": ["parameters"],
            "properties": {
                "parameters": {
                    "type": "object",
                    "properties": {
                        "properties": {
                            "type": "object",
                            "additionalProperties": {"type": "object", "required": ["description"]},
                        }
                    },
                }
            },
        },
        "output_schema": {"type": ["object", "null"]},
        "requirements": {"type": "object"},
    },
}

ADL_MANIFEST = {
    "type": "object",
    "required": ["apiVersion", "kind", "metadata", "spec"],
    "properties": {
        "apiVersion": {"const": "adl.inference-gateway.com/v1"},
        "kind": {"const": "Agent"},
        "metadata": {
            "type": "object",
            "required": ["name", "description", "version"],
            "properties": {"name": {"type": "string", "pattern": "^[a-z0-9-]+$"}, "version": SEMVER},
        },
        "spec": {
            "type": "object",
            "required": ["capabilities", "server", "language"],
            "properties": {
                "tools": {
                    "type": "array",
                    "items": {
                        "type": "object",
                        "required": ["id", "name", "description", "tags", "schema"],
                        "additionalProperties": False,
                        "properties": {
                            "id": {"type": "string", "pattern": "^[a-zA-Z_][a-zA-Z0-9_]*$"},
                            "name": TEXT,
                            "description": TEXT,
                            "tags": {"type": "array", "items": TEXT, "minItems": 1},
                            "inject": {"type": "array", "items": TEXT},
                            "schema": SCHEMA,
                        },
                    },
                }
            },
        },
    },
}

AGENT_TOOL = {
    "type": "object",
    "required": ["schema_version", "tool_id", "namespace", "name", "description", "lifecycle", "tool_kind"],
    "properties": {
        **dict.fromkeys(("schema_version", "tool_id", "namespace", "name", "description"), TEXT),
        "lifecycle": {
            "enum": ["draft", "available", "disabled", "requires_setup", "deferred", "deprecated", "retired"]
        },
        "tool_kind": {"type": "string"},
        "input_contract": {"type": "object"},
        "output_contract": {"type": "object"},
    },
}

AML_VALIDATOR = Draft7Validator(AML_TOOL)
OXP_VALIDATOR = Draft7Validator(OXP_TOOL)
ADL_VALIDATOR = Draft7Validator(ADL_MANIFEST)
AGENT_TOOL_VALIDATOR = Draft7Validator(AGENT_TOOL)
FRONT_MATTER = re.compile(r"\A---\n(.*?)\n---\n", re.DOTALL)


def errors_of(validator: Draft7Validator, value: Any, schemas: list[Any], draft: Any) -> int:
    """How many complaints a definition and its own schemas give."""
    found = sum(1 for _ in validator.iter_errors(value))
    for schema in schemas:
        try:
            draft.check_schema(schema)
        except SchemaError:
            found += 1
    return found


def check_file(path: Path) -> tuple[int, int]:
    """Tools and errors of one file."""
    text = path.read_text(encoding="utf-8")
    if path.suffix == ".md":
        front = FRONT_MATTER.match(text)
        if front is None:
            return 1, 1
        value = _text_keys(yaml.load(front[1], Loader=yaml.CSafeLoader))
        if "tool_id" not in value:
            return 0, 0
        interface = value.get("interface", {})
        return 1, errors_of(AML_VALIDATOR, value, [interface.get("input"), interface.get("output")], Draft7Validator)
    if path.suffix == ".yaml":
        value = yaml.load(text, Loader=yaml.CSafeLoader)
        tools = value["spec"].get("tools", [])
        schemas = [tool.get("schema") for tool in tools]
        return len(tools), errors_of(ADL_VALIDATOR, value, schemas, Draft202012Validator)
    value = json.loads(text)
    if "tool_id" in value:
        schemas = [value["input_contract"]["model_input_schema"], value["output_contract"]["structured_content_schema"]]
        return 1, errors_of(AGENT_TOOL_VALIDATOR, value, schemas, Draft202012Validator)
    tools = value.get("tools", [value])
    found = 0
    for tool in tools:
        schemas = [tool["input_schema"]["parameters"], tool["output_schema"]]
        found += errors_of(OXP_VALIDATOR, tool, schemas, Draft202012Validator)
    return len(tools), found


def _text_keys(value: dict[str, Any]) -> dict[str, Any]:
    codes = value.get("error_codes")
    if codes:
        value["error_codes"] = {str(key): entry for key, entry in codes.items()}
    return value


def main() -> None:
    """Check a folder; print tools and errors."""
    tools = errors = 0
    for path in sorted(Path(sys.argv[1]).rglob("*")):
        if path.suffix in {".md", ".yaml", ".json"} and ".ferrule" not in path.parts:
            more_tools, more_errors = check_file(path)
            tools += more_tools
            errors += more_errors
    print(json.dumps({"tools": tools, "errors": errors}))


if __name__ == "__main__":
    main()
