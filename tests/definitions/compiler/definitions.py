"""Small sound definitions for tests of building and comparing, written with what a test cares about."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

INPUT: dict[str, Any] = {
    "type": "object",
    "properties": {"q": {"type": "string", "description": "Words to look for."}},
    "required": ["q"],
}
OUTPUT: dict[str, Any] = {
    "type": "object",
    "properties": {"total": {"type": "integer", "description": "How many."}},
    "required": ["total"],
}


def tool(
    tool_id: str = "find-order",
    version: str = "1.0.0",
    *,
    takes: dict[str, Any] = INPUT,
    gives: dict[str, Any] = OUTPUT,
    status: str = "active",
    name: str = "Find order",
    extra: str = "",
    body: str = "# Purpose\nFinds orders.\n",
) -> str:
    """An AML tool; `version` stands on line 4, `tool_id` on line 3."""
    return f"""---
spec_version: "1.2"
tool_id: {tool_id}
version: {version}
status: {status}
meta:
  name: {name}
  description: Finds orders by words. Use it before answering questions about an order.
  owner: shop
  last_updated: "2026-01-31"
type: retrieval
interface:
  input: {json.dumps(takes)}
  output: {json.dumps(gives)}
transport:
  type: rest-api
  base_url: https://orders.example.com
  endpoint: GET /orders
  credentials: {{scheme: none}}
use_guidance:
  use_when: [the customer asks about an order]
  avoid_when: [the order number is not known]
  side_effects: None.
{extra}---
{body}"""


def agent(*refs: str, version: str = "1.0.0", role: str | None = "reader") -> str:
    """An AML agent; its first reference stands on line 15."""
    listed = "\n".join(f"    - ref: {ref}" for ref in refs)
    return f"""---
spec_version: "1.2"
agent_id: helper
version: {version}
status: active
meta:
  name: Helper
  description: Helps customers.
  owner: shop
{f"role: {role}" if role else "# no role"}
observability: {{tracing: true}}
tools:
  tool_choice: auto
  refs:
{listed}
---
# Purpose
Help.
# System behavior
Be kind.
# Rules
Be brief.
"""


def role(*refs: str, version: str = "1.0.0", access: str = "call") -> str:
    """An AML role; `version` stands on line 4."""
    listed = "\n".join(f"  - {{ref: {ref}, access: {access}}}" for ref in refs)
    return f"""---
spec_version: "1.2"
iam_id: reader
version: {version}
status: active
meta:
  name: Reader
  description: May read.
  owner: shop
cloud: {{provider: aws, role_arn: "arn:aws:iam::123456789012:role/reader"}}
tools:
{listed}
---
"""


def oxp(version: str = "1.0.0", parameters: dict[str, Any] | None = None, description: str = "Adds numbers.") -> str:
    """An OXP tool; `version` stands on line 5."""
    properties = {"properties": {"a": {"type": "number", "description": "One."}}}
    return f"""{{
  "id": "Math.Add@{version}",
  "name": "Math_Add",
  "description": "{description}",
  "version": "{version}",
  "input_schema": {{"parameters": {json.dumps(parameters or {"type": "object", **properties})}}},
  "output_schema": {{"type": "number"}}
}}
"""


def write(root: Path, files: dict[str, str], namespace: str = "shop") -> Path:
    """A workspace of these files."""
    for name, text in {"ferrule.toml": f'namespace = "{namespace}"\n', **files}.items():
        path = root / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text, encoding="utf-8")
    return root


def shop(**changes: str) -> dict[str, str]:
    """A tool, the agent that uses it and the role that grants it."""
    return {
        "tools/find-order.tool.md": changes.get("tool", tool()),
        "agents/helper.agent.md": changes.get("agent", agent("find-order")),
        "iam/reader.iam.md": changes.get("role", role("find-order")),
    }
