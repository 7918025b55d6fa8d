"""A workspace whose tools ask people, and the people it asks."""

from __future__ import annotations

import asyncio
import re
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from html import unescape
from pathlib import Path
from typing import Any, NamedTuple

import ferrule
from ferrule.access.keys import Access
from ferrule.access.tokens import KeyLimits
from ferrule.contracts.executor import Context
from ferrule.model.approval import ADMIN, APPROVE, CALL
from tests.servers.console.browsing import Person, signed_in
from tests.servers.local_server import InProcessServer, Reply, running_server

TOML = """
namespace = "shop"
[[hooks]]
id = "tidy"
event = "pre_tool_use"
kind = "function"
function = "hooks.py:tidy"
tools = ["erase"]
"""
HOOKS = """
from ferrule.contracts.hook import HookOutput

def tidy(told):
    value = {**told.observable_input, "email": told.observable_input["email"].strip().lower()}
    return HookOutput(updated_input=value, messages=("tidied the address",))
"""
POLICY = """
[groups]
privacy = ["amy", "ben", "dan"]

[[rules]]
id = "two-people"
decision = "ask"
tool = "erase"
people = 2
approvers = ["group:privacy"]
expires = "1h"
reason = "what is erased does not come back"
"""
PEOPLE: dict[str, tuple[str, list[str], str | None]] = {
    "bot": ("bot", [CALL], None),
    "amy": ("amy", [APPROVE], None),
    "ben": ("ben", [APPROVE], None),
    "oda": ("oda", [ADMIN], None),
    "boss": ("boss", [APPROVE, ADMIN], None),
    "selfmade": ("selma", [CALL, APPROVE], None),
    "bot of acme": ("bot", [CALL], "acme"),
    "amy of acme": ("amy", [APPROVE], "acme"),
}
gates: dict[str, asyncio.Event] = {}
"""What a test lets a tool that waits go on by."""


@ferrule.tool(destructive=True)
def erase(email: str, customer_id: str) -> str:
    """Erase a customer. Nothing is kept."""
    return f"erased {customer_id} with {email}"


@ferrule.tool(destructive=False, approval_required=True)
async def pay(amount: int, note: str = "") -> str:
    """Pay somebody."""
    if note in gates:
        await gates[note].wait()
    return f"paid {amount}"


@ferrule.tool(destructive=False)
def mail(text: str) -> str:
    """Send a mail."""
    return "sent"


@ferrule.tool(read_only=True)
async def ask_shelf(context: Context, question: str) -> Any:
    """Ask the librarian."""
    schema = {
        "type": "object",
        "properties": {"shelf": {"enum": ["A", "B"]}, "copies": {"type": "integer"}, "note": {"type": "string"}},
        "required": ["shelf"],
    }
    return context.needs_input(question, answer_schema=schema)


@ask_shelf.resume
async def _shelved(state: bytes, answer: dict[str, Any], context: Context) -> str:
    return f"shelf {answer['shelf']}, {answer.get('copies')} copies"


TOOLS = (erase, pay, mail, ask_shelf)


def other_pay() -> Any:
    """The tool `pay` as somebody rewrote it."""

    @ferrule.tool(destructive=False, approval_required=True)
    async def pay(amount: int, note: str = "") -> str:
        """Pay somebody, in another currency."""
        return f"paid {amount} of another kind"

    return pay


class Shop(NamedTuple):
    """The workspace, and the keys of its people."""

    stand: InProcessServer
    secrets: dict[str, str]

    def key(self, who: str) -> str:
        """Somebody's secret; made when it is first used."""
        if who not in self.secrets:
            name, scopes, tenant = PEOPLE[who]
            access = Access(self.stand.app.root)
            self.secrets[who] = access.add(access.local_owner(), name, scopes, (), KeyLimits(tenant=tenant))[1]
        return self.secrets[who]

    async def person(self, who: str) -> Person:
        """Somebody at the console."""
        return await signed_in(self.stand, self.key(who))

    async def ask(self, who: str, method: str, path: str, body: Any = b"", **headers: str) -> Reply:
        """The API, as somebody."""
        said = {name.replace("_", "-"): value for name, value in headers.items()}
        return await self.stand.ask(method, path, body, {"Authorization": f"Bearer {self.key(who)}", **said})

    async def call(self, tool: str, who: str = "bot", **arguments: Any) -> str:
        """Make a call that waits; gives its id."""
        reply = await self.ask(who, "POST", "/v1/calls", {"tool": tool, "arguments": arguments})
        assert reply.status == 202, reply.body
        return str(reply.json()["invocation_id"])

    async def state(self, call: str) -> str:
        """Where a call stands now."""
        return str((await self.ask("boss", "GET", f"/v1/calls/{call}")).json()["state"])

    async def ended(self, call: str) -> Any:
        """How a call ended, once it has."""
        return (await self.ask("boss", "GET", f"/v1/calls/{call}", Prefer="wait=20")).json()


@asynccontextmanager
async def shop(folder: Path, *, policy: str = POLICY, tools: tuple[Any, ...] = TOOLS) -> AsyncIterator[Shop]:
    """The workspace, served here; opened again, it goes on where it was."""
    gates.clear()
    if not (folder / "hooks.py").exists():
        (folder / "hooks.py").write_text(HOOKS)
        (folder / "policy.toml").write_text(policy)
    async with running_server(folder, tools=tools, toml=TOML, auth=True) as stand:
        yield Shop(stand, {"owner": stand.owner(), "agent": stand.read_token()})


def form_of(reply: Reply) -> dict[str, str]:
    """The hidden members of the form that answers an item, as a browser would send them; `Person.send` adds the proof."""
    found = re.search(r'<form class="decide.*?</form>', reply.body.decode(), re.S)
    assert found is not None, "there is no form"
    hidden = re.findall(r'<input type="hidden" name="(\w+)" value="([^"]*)">', found[0])
    return {name: unescape(value) for name, value in hidden if name != "proof"}
