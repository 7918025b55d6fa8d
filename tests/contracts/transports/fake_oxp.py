"""An OXP server, one tool for each behaviour. Its tools are imported, so that no AML file names them."""

from __future__ import annotations

import asyncio
import json
import threading
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from typing import Any

import msgspec

from ferrule.infra.lockfile.oxp_tools import make_oxp_tool
from ferrule.model.credentials import SecretRef
from ferrule.model.tool import SafetyFacts, Tool
from ferrule.model.upstreams import OxpServer, OxpUpstreams
from ferrule.settings import NetworkSettings, SecretSettings, Settings
from tests.contracts.transports.fake_upstream import CANARY, Behaviour, FakeUpstream
from tests.infra.clouds.far import Asked, Reply, far
from tests.servers.oxp.written import definition

TEXT = {"type": "object", "properties": {"text": {"type": "string", "description": "Whatever is to come back."}}}
KEY = "the-right-key-0123456789"
SERVERS: dict[Behaviour, str] = {"refused": "refused", "unset": "unset", "gone": "gone"}
"""Behaviours that have a server of their own; the others share one."""


class _Remote:
    """Answers as the tools' names say."""

    def __init__(self) -> None:
        self.touched = 0
        self.begun = threading.Event()
        self.over = threading.Event()

    def __call__(self, asked: Asked) -> Reply:
        if asked.path.endswith("/health"):
            return Reply(200)
        if asked.headers.get("oxp-api-key") != KEY:
            return Reply(401)
        if asked.path.endswith("/tools"):
            return Reply(200, {"tools": [_definition(name) for name in ("echo", "slow", "fails", "big", "empty")]})
        self.touched += 1
        request = json.loads(asked.body)["request"]
        return Reply(200, {"result": {"call_id": request["call_id"], **self._response(request)}})

    def _response(self, request: Any) -> dict[str, Any]:
        match request["tool_id"]:
            case "Fake.fails@1.0.0":
                return {"success": False, "error": {"message": "it says no", "developer_message": CANARY}}
            case "Fake.empty@1.0.0":
                return {"success": True}
            case "Fake.big@1.0.0":
                return {"success": True, "value": {"text": "x" * 1_100_000 + "the end of it"}}
            case "Fake.slow@1.0.0":
                self.begun.set()
                self.over.wait(30)
        return {"success": True, "value": {"text": request["input"].get("text")}}


@asynccontextmanager
async def running_upstream() -> AsyncIterator[FakeUpstream]:
    """One tool for each behaviour."""
    remote = _Remote()
    with far(remote) as there:
        url = f"{there.url}/oxp"
        servers = {
            "stand": OxpServer(url=url, api_key=SecretRef("env", name="RIGHT")),
            "refused": OxpServer(url=url, api_key=SecretRef("env", name="WRONG")),
            "unset": OxpServer(url=url, api_key=SecretRef("env", name="UNSET")),
            "gone": OxpServer(url="http://127.0.0.1:1/oxp"),
        }
        names: tuple[Behaviour, ...] = ("echo", "slow", "fails", "big", "empty", "refused", "unset", "gone")
        try:
            yield FakeUpstream(
                definitions={},
                tools={name: _tool(name) for name in names},
                settings=Settings(
                    network=NetworkSettings(allow=("127.0.0.1",)),
                    oxp=OxpUpstreams(servers=servers),
                    secrets=SecretSettings(env_file=""),
                ),
                environment={"RIGHT": KEY, "WRONG": CANARY},
                touched=lambda: remote.touched,
                begun=lambda: _begun(remote),
                stopped=_never,
                without={
                    "steps": "a server tells nothing before its result",
                    "flaky": "its client tries again itself, by what the server says: tests/runtime/executors/oxp",
                },
                can_stop=False,
            )
        finally:
            remote.over.set()


def _definition(name: str) -> dict[str, Any]:
    return definition(f"Fake.{name}@1.0.0", TEXT, {})


def _tool(name: Behaviour) -> Tool:
    """An imported tool under the name that the suite calls it by; stated to only read, as the others are."""
    server = SERVERS.get(name, "stand")
    made = make_oxp_tool(server, _definition("echo" if name in SERVERS else name))
    return msgspec.structs.replace(
        made, tool_id=name, name=name, facts=SafetyFacts(is_read_only=True), inferred_facts=()
    )


async def _begun(remote: _Remote) -> None:
    await asyncio.to_thread(remote.begun.wait, 20)


async def _never() -> bool:
    return False
