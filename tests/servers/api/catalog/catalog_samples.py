"""Definitions for the workspace behind the API, and questions about its catalog."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from tests.servers.api.api import Api

TOOL = """---
spec_version: "1.2"
tool_id: {id}
version: "{version}"
status: active
meta:
  name: {id}
  description: >
    {description}
    It is used by the people at the desk when a customer asks.
  owner: {owner}
  tags: [orders]
type: {type}
interface:
  input:
    type: object
    properties:
      order:
        type: string
        description: "Order number."{more}
    required: [order]
    additionalProperties: false
  output:
    type: object
    properties:
      done: {{type: boolean, description: "Whether it was done."}}
    required: [done]
    additionalProperties: false
transport:
  type: rest-api
  base_url: https://shop.example/v2
  endpoint: POST /orders
  timeout_ms: 8000
  credentials:
    scheme: oauth2
    provider: aws
    function_id: arn:aws:lambda:eu-west-1:210987654321:function:token
    scopes: [refunds.write]
use_guidance:
  use_when: [the order is delivered]
  avoid_when: [the order has not been paid]
  side_effects: "Money leaves the account."
---

# Purpose

To *settle* complaints.
"""


def write(folder: Path, name: str, **said: str) -> Path:
    """Write the definition of one tool."""
    values = {
        "version": "1.0.0",
        "description": "Pays an order back.",
        "owner": "accounts",
        "type": "action",
        "more": "",
    }
    (folder / "tools").mkdir(exist_ok=True)
    path = folder / "tools" / f"{name}.tool.md"
    path.write_text(TOOL.format(**{**values, "id": name, **said}))
    return path


async def asked(here: Api, path: str) -> Any:
    """What the operator is told about the catalog."""
    reply = await here.ask("oda", "GET", f"/v1/catalog/{path}")
    assert reply.status == 200, reply.body
    return reply.json()
