"""Rules for the workspace behind the API, and how they are put to use."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from tests.servers.api.api import Api

MORE = """
[groups]
finance = ["amy", "bea"]

[[rules]]
id = "small"
decision = "allow"
tool = "pay"
when = { amount = { at_most = 10 } }

[[rules]]
id = "large"
decision = "ask"
tool = "shop.*"
facts = { is_read_only = false }
when = { amount = { above = 100 } }
approvers = ["group:finance"]
not_requester = true
expires = "4h"
reason = "finance looks at larger sums"
"""


async def reloaded(here: Api, folder: Path, text: str) -> None:
    """Change the policy and have it read."""
    (folder / "policy.toml").write_text(text)
    await here.ask("oda", "POST", "/v1/policy/reload")


async def explained(here: Api, tool: str, arguments: dict[str, Any], **more: Any) -> dict[str, Any]:
    """What the policy says to a call that nobody makes."""
    body = {"tool": tool, "arguments": arguments, **more}
    found: dict[str, Any] = (await here.ask("oda", "POST", "/v1/policy/explain", body)).json()
    return found
