"""A workspace behind the HTTP API, and people who use it. Every answer is held against the OpenAPI document."""

from __future__ import annotations

import asyncio
import re
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any, NamedTuple

from jsonschema import Draft202012Validator  # type: ignore[import-untyped]  # it has none

import ferrule
from ferrule.access.keys import Access
from ferrule.access.tokens import KeyLimits
from ferrule.contracts.executor import Context
from ferrule.model.approval import ADMIN, APPROVE, CALL
from ferrule.model.serving import LimitSettings, ServeSettings
from ferrule.servers.api.openapi import build_openapi
from tests.servers.local_server import InProcessServer, Open, Reply, running_server

NOBODY = "inv_00000000000000000000dead"
TOML = """
namespace = "shop"
[results]
max_inline_chars = 1000
preview_chars = 100
"""
POLICY = """
[[rules]]
id = "hidden"
decision = "deny"
tool = "secret_tool"
reason = "not for agents"
"""
gates: dict[str, asyncio.Event] = {}
"""What a test lets a tool that waits go on by."""


@ferrule.tool(read_only=True, open_world=False, concurrency_safe=True, version="1.0.0", inline=True)
def add(a: int, b: int) -> dict[str, int]:
    """Add two numbers."""
    return {"sum": a + b}


@ferrule.tool(read_only=True)
def fail() -> str:
    """Fail."""
    raise ferrule.ToolFailed("there is no more paper")


@ferrule.tool(read_only=True)
async def steps(context: Context, gate: str) -> str:
    """Tell how far it is, and wait to be let go on."""
    context.progress("begun", percent=10)
    context.progress("half", percent=50)
    await gates[gate].wait()
    context.progress("nearly", percent=90)
    return "done"


@ferrule.tool(approval_required=True)
def pay(amount: int) -> str:
    """Pay somebody."""
    return f"paid {amount}"


@ferrule.tool(read_only=True)
def report(size: int) -> str:
    """Write a report."""
    return "0123456789" * (size // 10)


@ferrule.tool(read_only=True)
async def greet(context: Context) -> Any:
    """Ask the caller for a name."""
    return context.ask_client({"who": {"method": "elicitation/create", "params": {"message": "Who are you?"}}})


@greet.resume
async def _greeted(state: bytes, answer: dict[str, Any], context: Context) -> str:
    return f"Hello, {answer['who']['content']['name']}!"


@ferrule.tool(read_only=True)
def secret_tool() -> str:
    """Something agents may not know of."""
    return "hidden"


TOOLS = (add, fail, steps, pay, report, greet, secret_tool)
PEOPLE: dict[str, tuple[str, list[str], str | None]] = {
    "ada": ("ada", [CALL], None),
    "bob": ("bob", [CALL], None),
    "amy": ("amy", [APPROVE], None),
    "oda": ("oda", [ADMIN], None),
    "selfmade": ("selma", [CALL, APPROVE], None),
    "ada of acme": ("ada", [CALL], "acme"),
    "amy of acme": ("amy", [APPROVE], "acme"),
    "oda of acme": ("oda", [ADMIN], "acme"),
}


class Api(NamedTuple):
    """The API, and the keys of its people."""

    stand: InProcessServer
    secrets: dict[str, str]

    def headers(self, who: str, given: dict[str, str]) -> dict[str, str]:
        key = {"Authorization": f"Bearer {self.secrets[who]}"} if who else {}
        return {**key, **{name.replace("_", "-"): value for name, value in given.items()}}

    async def ask(self, who: str, method: str, path: str, body: Any = b"", **headers: str) -> Reply:
        """Send a request as somebody, and hold the answer against the document."""
        reply = await self.stand.ask(method, path, body, self.headers(who, headers))
        hold(method, path, reply)
        return reply

    def open(self, who: str, method: str, path: str, body: Any = b"", **headers: str) -> Open:
        """The same, while it is answered."""
        return self.stand.open(method, path, body, self.headers(who, headers))

    async def call(self, who: str, tool: str, arguments: Any = None, **headers: str) -> Reply:
        body = {"tool": tool, **({} if arguments is None else {"arguments": arguments})}
        return await self.ask(who, "POST", "/v1/calls", body, **headers)

    async def called(self, who: str, tool: str, arguments: Any = None, **headers: str) -> str:
        """Make a call; gives its id."""
        return str((await self.call(who, tool, arguments, **headers)).json()["invocation_id"])


@asynccontextmanager
async def api(folder: Path, *, toml: str = TOML, limits: LimitSettings | None = None) -> AsyncIterator[Api]:
    """The API of a workspace with these tools and people."""
    gates.clear()
    (folder / "policy.toml").write_text(POLICY)
    settings = ServeSettings(auth=True, limits=limits or LimitSettings())
    async with running_server(folder, tools=TOOLS, toml=toml, settings=settings) as stand:
        access = Access(folder)
        owner = access.local_owner()
        secrets = {
            key: access.add(owner, name, scopes, (), KeyLimits(tenant=tenant))[1]
            for key, (name, scopes, tenant) in PEOPLE.items()
        }
        yield Api(stand, {**secrets, "owner": stand.owner(), "nobody": "frl_00000000_wrong"})


def hold(method: str, path: str, reply: Reply) -> None:
    """Fails when an answer is not one that the OpenAPI document knows."""
    document = build_openapi()
    found = _operation(document, path.partition("?")[0])
    if found is None or method == "OPTIONS" or reply.status == 405:
        return
    operation = found.get({"HEAD": "get"}.get(method, method.lower()))
    assert operation is not None
    responses = operation["responses"]
    assert str(reply.status) in responses, f"{method} {path} gave {reply.status}, which the document does not know"
    told = responses[str(reply.status)]
    if "$ref" in told:
        told = document["components"]["responses"][told["$ref"].rpartition("/")[2]]
    if not reply.body:
        return
    kind = reply.headers["content-type"].partition(";")[0]
    content = told["content"].get(kind) or told["content"]["*/*"]
    if kind.endswith("json") and kind != "application/x-ndjson":
        schema = {**content["schema"], "components": document["components"]}
        problems = [error.message for error in Draft202012Validator(schema).iter_errors(reply.json())]
        assert not problems, f"{method} {path}: {problems}"


def _operation(document: dict[str, Any], path: str) -> dict[str, Any] | None:
    for template in sorted(document["paths"], key=lambda one: one.count("{")):
        pattern = re.sub(r"\\\{tool(_id)?\\\}", ".+", re.escape(template))
        pattern = re.sub(r"\\\{\w+\\\}", "[^/]+", pattern)
        if re.fullmatch(pattern, path):
            operations: dict[str, Any] = document["paths"][template]
            return operations
    return None
