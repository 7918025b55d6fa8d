"""A real Ferrule for client stubs to call: one tool for each thing that a client has to cope with."""

from __future__ import annotations

import json
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any, NamedTuple

from tests.servers.local_server import running_process

_TEXT = {"type": "string"}


def _tool(
    name: str, description: str, properties: dict[str, Any], required: list[str], output: Any = None
) -> dict[str, Any]:
    told = {member: {"description": f"The {member}.", **schema} for member, schema in properties.items()}
    parameters = {"type": "object", "properties": told, "required": required, "additionalProperties": False}
    return {
        "id": f"Live.{name}@1.0.0",
        "name": f"Live_{name}",
        "description": description,
        "version": "1.0.0",
        "input_schema": {"parameters": parameters},
        "output_schema": output,
        "requirements": {},
    }


TOOLS = [
    _tool(
        "Greet",
        "Say hello, as often as asked.",
        {"name": _TEXT, "times": {"type": "integer", "minimum": 1}, "mood": {"enum": ["glad", "grim"]}},
        ["name"],
        {
            "type": "object",
            "properties": {
                "words": {"type": "array", "items": _TEXT},
                "mood": {"enum": ["glad", "grim", None]},
                "call": {"type": "integer", "description": "How many greetings there were before and with this one."},
            },
            "required": ["words", "mood", "call"],
            "additionalProperties": False,
        },
    ),
    _tool("Forbidden", "What nobody may do if it is meant.", {"meant": {"type": "boolean"}}, ["meant"]),
    _tool(
        "Count",
        "Count slowly, and tell how far it is.",
        {"steps": {"type": "integer", "minimum": 1}, "seconds": {"type": "number"}},
        ["steps", "seconds"],
        {"type": "object", "properties": {"counted": {"type": "integer"}}, "required": ["counted"]},
    ),
    _tool("Busy", "Always too busy; come back in 1.5 seconds.", {}, []),
    _tool("Break", "Always breaks.", {"why": _TEXT}, ["why"]),
    _tool("AskFirst", "What a person has to allow.", {}, []),
    _tool(
        "Odd",
        "Answers what its schema does not allow, so the call fails.",
        {},
        [],
        {"type": "object", "required": ["x"]},
    ),
    _tool("Echo", "Give back any value.", {"value": {}}, ["value"]),
]
"""`Live_Greet` answers; `Live_Forbidden` is denied if it is meant (`permission_denied`); `Live_Count` tells progress and can be
canceled; `Live_Busy` fails as `rate_limited`, `Live_Break` as `execution_failed`; `Live_AskFirst` waits for a person; `Live_Echo`
says nothing of its result."""

_FUNCTIONS = """
import asyncio
from typing import Any

import ferrule

CALLS = []


@ferrule.tool("Live.Greet")
def greet(name: str, times: int = 1, mood: str | None = None) -> dict[str, object]:
    CALLS.append(name)
    return {"words": [f"hello {name}"] * times, "mood": mood, "call": len(CALLS)}


@ferrule.tool("Live.Forbidden")
def forbidden(meant: bool) -> dict[str, object]:
    return {}


@ferrule.tool("Live.Count")
async def count(context: ferrule.Context, steps: int, seconds: float) -> dict[str, int]:
    for number in range(1, steps + 1):
        context.progress(f"step {number}", percent=100 * number / steps, current_step=number, total_steps=steps)
        await asyncio.sleep(seconds / steps)
    return {"counted": steps}


@ferrule.tool("Live.Busy")
def busy() -> dict[str, object]:
    raise ferrule.ToolFailed("too busy", error_class="rate_limited", retry_after=1.5)


@ferrule.tool("Live.Break")
def break_(why: str) -> dict[str, object]:
    raise ferrule.ToolFailed(why)


@ferrule.tool("Live.AskFirst")
def ask_first() -> dict[str, object]:
    return {"asked": True}


@ferrule.tool("Live.Odd")
def odd() -> dict[str, object]:
    return {"y": 1}


@ferrule.tool("Live.Echo")
def echo(value: Any) -> dict[str, Any]:
    return {"value": value}
"""
_POLICY = """
[[rules]]
id = "never"
decision = "deny"
tool = "Live_Forbidden"
when = { meant = true }
reason = "nobody may"

[[rules]]
id = "ask"
decision = "ask"
tool = "Live_AskFirst"
reason = "a person decides"

[[rules]]
id = "rest"
decision = "allow"
reason = "a test"
"""


class Live(NamedTuple):
    """The server."""

    url: str
    token: str
    folder: Path
    """Its workspace, for `ferrule gen`."""

    @property
    def env(self) -> dict[str, str]:
        """What client stubs look for."""
        return {"FERRULE_URL": self.url, "FERRULE_TOKEN": self.token}


def write_workspace(folder: Path) -> None:
    """The workspace with these tools."""
    (folder / "tools").mkdir(parents=True)
    (folder / "ferrule.toml").write_text('namespace = "live"\n\n[functions]\nmodules = ["functions.py"]\n')
    (folder / "policy.toml").write_text(_POLICY)
    (folder / "functions.py").write_text(_FUNCTIONS)
    (folder / "tools" / "live.json").write_text(json.dumps({"tools": TOOLS}, indent=2))


@contextmanager
def live(folder: Path) -> Iterator[Live]:
    """`ferrule serve` over the workspace, until the end of the block."""
    write_workspace(folder)
    with running_process(folder) as server:
        yield Live(server.url, server.token(folder), folder)
