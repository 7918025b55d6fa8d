"""A tool that a person is, and the people who answer it."""

from __future__ import annotations

from ferrule.app.app import App
from ferrule.app.surface import SurfaceHandle
from ferrule.model.approval import APPROVE, CALL, Identity
from ferrule.model.result import Pending
from ferrule.runtime.approval.inbox import Inbox
from ferrule.settings import NetworkSettings, Settings

SETTINGS = Settings(network=NetworkSettings(allow=("127.0.0.1",)))
POLICY = 'mode = "trusted"'


def definition(url: str, more: str = "", *, transport: str = "", credentials: str = "{scheme: none}") -> str:
    """A human tool behind `url`; `more` and `transport` are lines of YAML, indented by two."""
    reach = transport or f"  type: rest-api\n  base_url: {url}\n  endpoint: POST /tasks"
    return f"""---
spec_version: "1.2"
tool_id: review-claim
version: 1.0.0
status: active
type: human
meta:
  name: Review a claim
  description: Has a person look at a claim. Gives their verdict.
  owner: claims
interface:
  input:
    type: object
    properties:
      claim: {{type: string, description: Which claim.}}
      iban: {{type: string, description: Where to pay., sensitive: true}}
    required: [claim]
  output:
    type: object
    properties:
      verdict: {{type: string, enum: [pay, refuse], description: What to do.}}
      note: {{type: string, description: Why.}}
    required: [verdict]
    additionalProperties: false
transport:
{reach}
  credentials: {credentials}
{more}
use_guidance:
  use_when: [a claim is unclear]
  avoid_when: [it is clear]
---
"""


def person(app: App, name: str, *groups: str) -> Inbox:
    """The inbox of somebody with a token of their own."""
    return app.inbox(Identity(name, f"token:{name}", frozenset({APPROVE}), frozenset(groups)))


def agent(app: App) -> tuple[SurfaceHandle, Inbox]:
    """An agent, and the inbox as its own channel would have it, were it given every scope."""
    surface = app.surface(principal="ann", channel="mcp:1")
    return surface, app.inbox(Identity("ann", "mcp:1", frozenset({APPROVE, CALL})))


async def asked(app: App, **arguments: str) -> str:
    """The call that waits."""
    pending = await app.surface(principal="ann", channel="mcp:1").call("review-claim", arguments or {"claim": "c-1"})
    assert isinstance(pending, Pending), pending
    assert pending.state == "needs_input"
    return pending.invocation_id
