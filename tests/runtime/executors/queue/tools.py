"""Tools behind queues, and one app that calls them."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Awaitable, Callable, Mapping
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any

from ferrule.app.app import App
from ferrule.contracts.executor import Context
from ferrule.model.result import Pending, Result
from ferrule.model.upstreams import QueueUpstreams
from ferrule.settings import NetworkSettings, Settings
from ferrule.testing import memory_app
from tests.runtime.executors.definitions import aml_file

BOUND = 30.0
OUTPUT = {"type": "object", "properties": {"text": {"type": "string"}}, "required": ["text"]}
INPUT = {"type": "object", "properties": {"text": {"type": "string"}, "group": {"type": "string"}}}
OWN = {"scheme": "iam-role"}


def account(variable: str = "ACCOUNT") -> dict[str, str]:
    """Credentials in a secret."""
    return {"scheme": "service-account", "source": "env", "name": variable}


def queue_tool(tool_id: str, provider: str, queue_url: str, **said: Any) -> str:
    """An AML file. `said`: other keys of the transport; `input`, `output` and `kind` of the tool."""
    takes, gives, kind = said.pop("input", INPUT), said.pop("output", OUTPUT), said.pop("kind", "retrieval")
    transport = {"type": "message-queue", "provider": provider, "queue_url": queue_url, "credentials": OWN, **said}
    return aml_file(tool_id, transport, kind=kind, takes=takes, gives=gives)


@asynccontextmanager
async def calling(
    *files: str,
    env: Mapping[str, str] | None = None,
    aside: Path | None = None,
    allow: tuple[str, ...] = ("127.0.0.1",),
    **more: Any,
) -> AsyncIterator[App]:
    """An app with these tools. It tends its ledger unless told otherwise."""
    queue = QueueUpstreams(set_aside=str(aside or "never-used"))
    more.setdefault("tends", True)
    async with memory_app(
        definitions={f"tools/{number}.tool.md": text for number, text in enumerate(files)},
        settings=Settings(network=NetworkSettings(allow=allow), queue=queue),
        environment=dict(env or {}),
        **more,
    ) as app:
        yield app


async def parked(app: App, name: str, arguments: dict[str, Any] | None = None, **options: Any) -> Pending:
    """A call that waits now."""
    found = await app.surface().call(name, arguments or {"text": "x"}, **options)
    assert isinstance(found, Pending), found
    return found


async def ended(app: App, invocation_id: str) -> Result:
    """How a call ended, once it has."""
    found = await app.result(invocation_id, wait=BOUND)
    assert isinstance(found, Result), found
    return found


async def run(app: App, name: str, arguments: dict[str, Any] | None = None, **options: Any) -> Result:
    """A call that ends by itself."""
    found = await app.surface().call(name, arguments or {"text": "x"}, **options)
    assert isinstance(found, Result), found
    return found


async def eventually(is_so: Callable[[], Awaitable[bool] | bool]) -> None:
    """Wait, within a bound, until something is so."""
    async with asyncio.timeout(BOUND):
        while True:
            found = is_so()
            if found if isinstance(found, bool) else await found:
                return
            await asyncio.sleep(0.02)


async def refs(app: App, invocation_id: str) -> list[dict[str, Any]]:
    """The native ids on record."""
    rows = await app.store.rows_of(invocation_id)
    return [ref for row in rows for ref in row.segment().notes.get("native_refs", ())]


async def probed(app: App, name: str) -> str:
    """What `ferrule doctor` would be told."""
    tool = app.surface().surface.entries[name].tool
    executor = app.find_executor(tool)
    assert executor is not None
    runner: Any = executor.prepare(tool)
    found: str = await runner.probe(Context("doctor", "owner", None, ""))
    return found


async def direct(app: App, name: str, arguments: dict[str, Any], **said: Any) -> Any:
    """What the runner gives, past the pipeline. Raises ExecutionFailed."""
    tool = app.surface().surface.entries[name].tool
    executor = app.find_executor(tool)
    assert executor is not None
    return await executor.prepare(tool)(arguments, Context("inv_direct", "ann", None, "", **said))
