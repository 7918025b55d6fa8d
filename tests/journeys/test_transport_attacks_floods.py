"""Systems that never stop: what they send is bounded in memory and in time, and what is asked next is answered."""

from __future__ import annotations

import asyncio
import json
import os
import sys
import tracemalloc
from pathlib import Path
from typing import Any

import msgspec
import pytest

from ferrule.app.app import App
from ferrule.infra.clouds.api_request import read_json_object
from ferrule.infra.credentials.oauth_exchange import _read_error_code
from ferrule.infra.credentials.vault import _parse_json
from ferrule.infra.lockfile.tools import make_imported_tool
from ferrule.model.result import Result
from ferrule.model.upstreams import McpServerSettings, McpUpstreams
from ferrule.runtime.executors.mcp.stdio import ServerProgram
from ferrule.runtime.executors.queue.channel import ReceivedMessage
from ferrule.runtime.executors.queue.receiver import QueueReceiver, SetAside
from ferrule.settings import Settings
from ferrule.testing import memory_app
from tests.spec.running_app import run_async

SERVER = Path(__file__).with_name("flooding_server.py")
LIMIT = 200_000
DEFINITIONS = [{"name": name, "inputSchema": {"type": "object"}} for name in ("flood", "echo")]


async def _ended(app: App, name: str) -> Result:
    found = await app.surface().call(name, {})
    assert isinstance(found, Result), found
    return found


@pytest.mark.parametrize(
    ("kind", "expected"),
    [
        ("stderr", {"timeout"}),
        ("line", {"result_too_large", "timeout"}),
        ("progress", {"timeout"}),
        ("requests", {"timeout"}),
        ("deep", {"timeout", "dependency_unavailable"}),
    ],
)
def test_a_program_that_never_stops_is_stopped(kind: str, expected: set[str]) -> None:
    async def story() -> None:
        server = McpServerSettings(command=(sys.executable, str(SERVER), kind))
        settings = Settings(mcp=McpUpstreams(servers={"far": server}, timeout_seconds=1, max_response_bytes=LIMIT))
        tools = [make_imported_tool("far", server, definition) for definition in DEFINITIONS]
        env = {"PATH": os.environ["PATH"]}
        async with memory_app(tools=tools, policy='mode = "trusted"', settings=settings, environment=env) as app:
            assert (await _ended(app, "echo")).status == "succeeded"  # everything that is needed is loaded now
            tracemalloc.start()
            try:
                result = await _ended(app, "flood")
                _, peak = tracemalloc.get_traced_memory()
            finally:
                tracemalloc.stop()
            assert result.error is not None
            assert result.error.error_class in expected
            assert peak < 40 * 1024**2
            assert len(repr(await app.store.rows_of(result.invocation_id))) < 100_000

    asyncio.run(asyncio.wait_for(story(), 60))


@run_async
async def test_a_line_without_end_is_not_kept_while_its_program_is_ended() -> None:
    program = ServerProgram(1_000)
    for _ in range(1_000):
        program.pipe_data_received(1, b"x" * 1_000)
    assert program.problem is not None
    assert sum(map(len, program._rest)) + sum(map(len, program._lines)) <= 2_000


@run_async
async def test_thousands_of_messages_that_nobody_can_use_take_little_room(tmp_path: Path) -> None:
    gone: list[int] = []

    class Source:
        async def arrivals(self) -> Any:
            for number in range(300):

                async def done(number: int = number) -> None:
                    gone.append(number)

                yield ReceivedMessage(
                    body=b"\xff" * 200_000,
                    attributes={f"a{at}": "v" * 10_000 for at in range(100)},
                    deliveries=9,
                    facts={"source": "test", "message_id": str(number)},
                    acknowledge=done,
                    release=done,
                )

        async def aclose(self) -> None:
            """Nothing is held."""

    aside = SetAside(tmp_path / "aside", lambda: 0.0, most=20)
    receiver = QueueReceiver("queue:x", Source(), aside, takes_bytes=lambda: False)
    assert [reply async for reply in receiver.replies()] == []
    files = list((tmp_path / "aside").iterdir())
    assert len(gone) == 300 and len(files) <= 20
    assert max(file.stat().st_size for file in files) < 200_000
    assert not json.loads(files[0].read_text())["is_whole"]


def test_json_without_end_is_no_surprise() -> None:
    """Every place that reads what somebody else wrote says what it says for anything else that is no JSON."""
    deep = b"[" * 100_000
    with pytest.raises(RecursionError):
        msgspec.json.decode(deep)
    assert read_json_object(b'{"a":' + deep) == {}
    assert _read_error_code(b'{"error":"x","a":' + deep) == ""
    assert _parse_json(deep.decode()) is None
