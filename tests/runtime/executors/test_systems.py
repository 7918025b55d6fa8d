"""Which system is behind a tool, by its definition alone."""

from __future__ import annotations

import json
from typing import Any

import msgspec
import pytest

from ferrule.model.tool import Tool
from ferrule.runtime.executors.systems import System, system_of


def tool(dialect: str = "aml", **payload: Any) -> Tool:
    return Tool(
        tool_id="x",
        name="x",
        namespace="n",
        description="",
        lifecycle="available",
        tool_kind="function",
        dialect=dialect,
        payload=msgspec.Raw(json.dumps(payload).encode()),
    )


SECRET = {"scheme": "service-account", "source": "env", "name": "ORDERS_DB"}


@pytest.mark.parametrize(
    ("transport", "found"),
    [
        ({"type": "rest-api", "base_url": "https://a:b@pay.example:8443/v1"}, System("HTTP", "pay.example:8443")),
        ({"type": "rest-api", "base_url": "http://[::1"}, None),
        ({"type": "rest-api"}, None),
        ({"type": "mcp", "url": "https://tools.example/mcp"}, System("MCP", "tools.example")),
        ({"type": "database", "engine": "postgresql", "credentials": SECRET}, System("PostgreSQL", "ORDERS_DB")),
        ({"type": "database", "engine": "postgresql", "credentials": 7}, None),
        (
            {"type": "message-queue", "provider": "aws", "queue_url": "https://sqs.example/1/reports"},
            System("SQS queue", "reports"),
        ),
        (
            {"type": "lambda", "provider": "aws", "function_id": "arn:aws:lambda:eu:1:function:tax"},
            System("AWS function", "tax"),
        ),
        ({"type": "pigeon"}, None),
        ({}, None),
    ],
)
def test_a_definition_names_its_system(transport: dict[str, Any], found: System | None) -> None:
    assert system_of(tool(transport=transport)) == found


def test_imported_tools_belong_to_their_server() -> None:
    assert system_of(tool("mcp", server_id="warehouse", definition={})) == System("MCP", "warehouse")


def test_people_are_no_system() -> None:
    assert system_of(tool(type="human", transport={"type": "message-queue", "queue_url": "q"})) is None
