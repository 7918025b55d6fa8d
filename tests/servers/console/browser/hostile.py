"""A workspace whose every word is somebody's attempt to run in the reader's browser, and calls that say such words.

Whatever a page does with them, none becomes markup: each payload would leave an element with `data-planted` behind, and a
template that evaluated one would show `PRODUCT`.
"""

from __future__ import annotations

import json
import urllib.error
import urllib.request
from pathlib import Path
from typing import Any

from ferrule.access.keys import Access
from ferrule.model.approval import ADMIN, APPROVE, CALL

PRODUCT = str(7191**3)
"""Twelve digits: shorter ones also occur by chance, in the microseconds of a time."""
BREAK_OUT = "\"'></script></textarea></title></pre></svg>-->"
PLANTED = "<img src=x data-planted onerror=alert(1)><script data-planted>alert(2)</script>"
PAYLOAD = (
    f"{BREAK_OUT}{PLANTED}<svg data-planted onload=alert(3)>{{{{7191**3}}}}{{% raw %}}${{7191**3}}\u202eevil\u2066"
)
LINK = "javascript:alert(4)//https://x.example"
ATTRIBUTE = '" data-planted onmouseover="alert(5)" autofocus onfocus="alert(6)" x="'
FILE = "<img src=x data-planted onerror=alert(7)>"
HUGE = "A" * 20_000 + "<b data-planted>"

_AML = """---
spec_version: "1.2"
tool_id: plain_action
version: "1.0.0"
status: active
meta:
  name: {p}
  description: {p}
  owner: {p}
  tags: [{p}, {a}]
type: action
interface:
  input:
    type: object
    properties:
      amount: {{type: number, description: {p}, default: 1}}
      kind: {{type: string, enum: [{p}, plain], description: {a}}}
      {p}: {{type: string, description: {p}, title: {p}, examples: [{p}], default: {a}}}
    required: [amount]
    additionalProperties: false
  output:
    type: object
    properties:
      answer: {{type: string, description: {p}}}
    required: [answer]
    additionalProperties: false
transport:
  type: rest-api
  base_url: https://x.example/v2
  endpoint: POST /x
  credentials: {{scheme: none}}
use_guidance:
  use_when: [{p}]
  avoid_when: [{a}]
  side_effects: {p}
---

# Purpose {raw}

{raw}

[a link]({link}) <{link}> ![x]({link} "{raw}")

```html
{raw}
```
"""
_ADL = """apiVersion: adl.inference-gateway.com/v1
kind: Agent
metadata: {{name: planted-agent, description: {p}, version: 0.1.0}}
spec:
  capabilities: {{streaming: true, pushNotifications: false, stateTransitionHistory: false}}
  server: {{port: 8080}}
  language: {{go: {{module: x.example/y, version: "1.24"}}}}
  tools:
    - id: adl_tool
      name: adl_tool
      description: {p}
      tags: [{p}]
      schema:
        type: object
        properties: {{text: {{type: string, description: {p}}}}}
        required: [text]
"""
_FUNCTIONS = '''
from typing import Any
import ferrule
from ferrule.contracts.executor import Context

P, A, LINK, HUGE = {p!r}, {a!r}, {link!r}, {huge!r}


@ferrule.tool("plain_action")
def plain_action(amount: float, **more):
    return {{"answer": P}}


@ferrule.tool(read_only=True, concurrency_safe=True)
async def echo(context: Context, text: str) -> Any:
    """{p_doc}

    Args:
        text: {p_doc}
    """
    context.progress(P, percent=50)
    return {{P: text, "more": [P, A, LINK], "html": text, "huge": HUGE}}


@ferrule.tool(read_only=True, concurrency_safe=True)
def boom(text: str) -> str:
    """Fails with {p_doc}"""
    raise ferrule.ToolFailed(P + text)


@ferrule.tool(destructive=True)
def risky(text: str, nested: dict[str, str] | None = None) -> str:
    """Asks first. {p_doc}

    Args:
        text: {p_doc}
        nested: {p_doc}
    """
    return P
'''
_HOOKS = """
from ferrule.contracts.hook import HookInput, HookOutput


def change(told: HookInput) -> HookOutput:
    return HookOutput(updated_input={{**told.observable_input, "text": {p!r}}}, messages=({p!r},))
"""
_SETTINGS = """namespace = "planted"
[functions]
modules = ["functions.py"]
[[hooks]]
id = "planted-hook"
event = "pre_tool_use"
kind = "function"
function = "hooks.py:change"
tools = ["risky"]
"""
_POLICY = """
[[rules]]
id = "planted"
decision = "ask"
tool = "risky"
people = 2
reason = {p}

[[rules]]
id = "planted-no"
decision = "deny"
tool = "plain_action"
when = {{ amount = {{ above = 5 }} }}
reason = {p}

[[rules]]
id = "planted-yes"
decision = "allow"
tool = "plain_action"
reason = {a}
"""
_BROKEN = """---
spec_version: "1.2"
tool_id: broken
version: {p}
status: {p}
meta: {{name: {p}, descriptoin: {p}}}
{p}: {p}
---
"""


def _quoted(text: str) -> str:
    """As YAML, JSON and TOML all have it."""
    return json.dumps(text)


def workspace(folder: Path) -> None:
    """Write it."""
    words = {"p": _quoted(PAYLOAD), "a": _quoted(ATTRIBUTE)}
    (folder / "tools").mkdir(parents=True)
    (folder / "tools" / "plain_action.tool.md").write_text(_AML.format(**words, raw=PAYLOAD, link=LINK))
    (folder / "tools" / "oxp.json").write_text(json.dumps({"tools": [_oxp()]}))
    (folder / "tools" / "record.json").write_text(json.dumps(_record()))
    (folder / "agents").mkdir()
    (folder / "agents" / "planted.yaml").write_text(_ADL.format(**words))
    doc = PAYLOAD.replace("\\", "")
    (folder / "functions.py").write_text(
        _FUNCTIONS.format(p=PAYLOAD, a=ATTRIBUTE, link=LINK, huge=HUGE, p_doc=doc.replace('"', ""))
    )
    (folder / "hooks.py").write_text(_HOOKS.format(p=PAYLOAD))
    (folder / "ferrule.toml").write_text(_SETTINGS)
    (folder / "policy.toml").write_text(_POLICY.format(**words))


def spoiled(folder: Path) -> None:
    """Add a definition that is wrong in every way. Not before the workspace is served: nothing would be."""
    (folder / "tools" / f"{FILE}.tool.md").write_text(_BROKEN.format(p=_quoted(PAYLOAD)))


def _oxp() -> dict[str, Any]:
    members = {"text": {"type": "string", "description": PAYLOAD, "enum": [PAYLOAD, ATTRIBUTE], "title": PAYLOAD}}
    parameters = {"type": "object", "properties": {**members, PAYLOAD: {"type": "string", "description": ATTRIBUTE}}}
    return {
        "id": "Planted.Do@1.0.0",
        "name": "Planted_Do",
        "description": PAYLOAD,
        "version": "1.0.0",
        "input_schema": {"parameters": parameters},
        "output_schema": {"type": "object", "description": PAYLOAD, "properties": {}},
    }


def _record() -> dict[str, Any]:
    return {
        "schema_version": "0.2.0",
        "tool_id": "planted_record",
        "namespace": "planted",
        "name": "planted_record",
        "search_hint": PAYLOAD,
        "title": PAYLOAD,
        "description": PAYLOAD,
        "lifecycle": "available",
        "tool_kind": "function",
        "input_contract": {
            "strict": True,
            "model_input_schema": {
                "type": "object",
                "properties": {"text": {"type": "string", "description": PAYLOAD}},
                "additionalProperties": False,
            },
        },
        "tool_interface": {"is_read_only": False, "is_destructive": True, "is_concurrency_safe": True},
        "permission_profile": {"risk_level": "high", "access_kinds": ["network"], "write_effects": ["remote_mutation"]},
    }


def asked(url: str, secret: str, method: str, path: str, body: Any = None, **headers: str) -> Any:
    """One operation of the HTTP API; gives its value, also when it is a problem."""
    data = None if body is None else json.dumps(body).encode()
    named = {name.replace("_", "-"): value for name, value in headers.items()}
    given = {"Authorization": f"Bearer {secret}", "Content-Type": "application/json", **named}
    request = urllib.request.Request(f"{url}/v1{path}", data, given, method=method)
    try:
        with urllib.request.urlopen(request, timeout=30) as answer:
            return json.loads(answer.read() or b"null")
    except urllib.error.HTTPError as error:
        with error:
            return json.loads(error.read() or b"null")


def life(folder: Path, url: str) -> str:
    """Calls of every outcome, batches and waiting items, by people whose names are payloads; gives the owner's token."""
    access = Access(folder)
    owner = access.local_owner()
    _, agent = access.add(owner, "agent <b data-planted>", [CALL], groups=["<i data-planted>"])
    _, mara = access.add(owner, 'mara" data-planted x="', [APPROVE, ADMIN])
    secret = (folder / ".ferrule/keys/owner.token").read_text().strip()

    def call(tool: str, **arguments: Any) -> Any:
        return asked(url, agent, "POST", "/calls", {"tool": tool, "arguments": arguments}, Prefer="wait=5")

    call("echo", text=PAYLOAD)
    call("boom", text=LINK)
    call("plain_action", amount=1, kind="plain")
    call("plain_action", amount=9)
    call("plain_action", amount=PAYLOAD)
    call(PAYLOAD, text=PAYLOAD)
    first = {"tool": "risky", "arguments": {"text": ATTRIBUTE, "nested": {PAYLOAD: PAYLOAD}}}
    waiting = [asked(url, agent, "POST", "/calls", first, Prefer="respond-async") for _ in range(3)]
    ids = [one["invocation_id"] for one in waiting]
    asked(url, mara, "POST", f"/approvals/{ids[0]}/approve", {"reason": PAYLOAD})
    asked(url, mara, "POST", f"/approvals/{ids[1]}/reject", {"reason": PAYLOAD})
    calls = [{"id": PAYLOAD[:90] + str(n), "tool": "echo", "arguments": {"text": PAYLOAD}} for n in range(3)]
    asked(url, agent, "POST", "/batches", {"calls": calls})
    return secret
