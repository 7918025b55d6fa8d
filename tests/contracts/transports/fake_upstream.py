"""A fake upstream: the system behind one transport, and definitions of tools that behave as their names say.

To put a transport under the suite of `test_transports.py`, write `fake_<part>.py` with an async context manager that yields a
`FakeUpstream`, and add one line to `fake_upstreams.py`. Every tool is an AML `retrieval` whose id is the behaviour with
underscores as they are (`echo`, `slow`, …), takes `{"text": string}` (optional), and does this:

- `echo`: returns `{"text": <its argument>}` (other members may be beside it)
- `slow`: takes 30 seconds at the system behind; `stopped()` tells whether it was really stopped there
- `fails`: the system behind says no, for good; its own words hold `CANARY`
- `big`: returns more than 1 MB, which end with the text `the end of it`
- `empty`: succeeds and gives nothing
- `refused`: its credentials are there and the system behind does not accept them; they hold `CANARY`
- `unset`: its credentials name an environment variable that is not set
- `gone`: nobody listens where it points to
- `flaky`: fails once in a way that time cures, then does what `echo` does; each call anew
- `steps`: tells of its progress before it gives what `echo` gives

What a transport cannot have is left out of `definitions`, with the reason in `without`.
"""

from __future__ import annotations

from collections.abc import Awaitable, Callable
from contextlib import AbstractAsyncContextManager
from typing import Literal, get_args

import msgspec

from ferrule.model.tool import Tool
from ferrule.settings import Settings

Behaviour = Literal["echo", "slow", "fails", "big", "empty", "refused", "unset", "gone", "flaky", "steps"]
BEHAVIOURS: tuple[Behaviour, ...] = get_args(Behaviour)
CANARY = "canary-7f3a9c51e2"


class FakeUpstream(msgspec.Struct, kw_only=True):
    """One transport, ready to be called."""

    definitions: dict[Behaviour, str]
    """AML files, by what their tools do."""
    tools: dict[Behaviour, Tool] = {}
    """Tools of a transport that no AML file names."""
    settings: Settings
    environment: dict[str, str]
    touched: Callable[[], int]
    """How many requests that run a tool have reached the system behind so far."""
    begun: Callable[[], Awaitable[None]]
    """Waits, within a bound, until the system behind works on `slow`."""
    stopped: Callable[[], Awaitable[bool]]
    """True when the system behind has stopped working on `slow`; waits for that, within a bound."""
    without: dict[Behaviour, str] = {}
    """Behaviours that this transport cannot have, and why."""
    can_stop: bool = True
    """False when the system behind goes on whatever anybody does (and the transport says so in its `Support`)."""


MakeUpstream = Callable[[], AbstractAsyncContextManager[FakeUpstream]]


def aml(tool_id: str, transport: str, *, kind: str = "retrieval", output: str = "", error_codes: str = "") -> str:
    """An AML file: `transport` is YAML, indented by two, `output` the JSON Schema of what comes back."""
    return f"""---
spec_version: "1.2"
tool_id: {tool_id}
version: 1.0.0
status: active
type: {kind}
meta:
  name: {tool_id}
  description: Does what its name says.
  owner: tests
interface:
  input:
    type: object
    properties:
      text:
        type: string
        description: Whatever is to come back.
  output: {output or "{type: object, additionalProperties: true}"}
use_guidance:
  use_when: [a test wants it]
  avoid_when: [no test wants it]
transport:
{transport}
{error_codes}---
"""
