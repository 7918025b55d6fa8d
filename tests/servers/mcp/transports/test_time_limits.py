"""Calls that take longer than a request may."""

from __future__ import annotations

import asyncio
from pathlib import Path

from ferrule.model.serving import LimitSettings
from tests.driven import driven
from tests.servers.local_server import Open
from tests.servers.mcp.session_client import begin_session, gate, running_session_server


async def read_whole(opened: Open) -> bytes:
    """All of an answer."""
    assert await opened.wait_for_status() == 200
    body = b""
    while (part := await opened.read_part()) is not None:
        body += part
    return body


@driven
async def test_a_call_that_takes_too_long_goes_on_without_its_client(tmp_path: Path) -> None:
    """MCP-180: the client is told how to get the result later; the tool is not stopped, and quick calls are not touched."""
    async with running_session_server(tmp_path, limits=LimitSettings(request_seconds=0.3)) as stand:
        talk = await begin_session(stand)
        opened = talk.start("tools/call", name="held_apart", arguments={})
        await asyncio.wait_for(gate().entered.wait(), 20)
        assert (await talk.call("add", a=1, b=2))["structuredContent"] == {"result": 3}
        body = await read_whole(opened)
        assert b"dev.ferrule/invocation" in body
        assert b"done" not in body
        assert not gate().cancelled.is_set()
        gate().opened.set()


@driven
async def test_a_tool_that_cannot_go_on_alone_is_stopped(tmp_path: Path) -> None:
    """MCP-180: it only reads, so nothing is lost."""
    async with running_session_server(tmp_path, limits=LimitSettings(request_seconds=0.3)) as stand:
        talk = await begin_session(stand)
        body = await read_whole(talk.start("tools/call", name="held", arguments={}))
        assert b'"isError":true' in body
        assert gate().cancelled.is_set()


@driven
async def test_each_call_has_its_own_time(tmp_path: Path) -> None:
    """Two calls with the same arguments, one after the other: the second is not ended with the first."""
    async with running_session_server(tmp_path, limits=LimitSettings(request_seconds=1.0)) as stand:
        talk = await begin_session(stand)
        first = talk.start("tools/call", name="held", arguments={})
        await asyncio.wait_for(gate().entered.wait(), 20)
        await asyncio.sleep(0.7)
        second = talk.start("tools/call", name="held", arguments={})
        assert b'"isError":true' in await read_whole(first)
        gate().opened.set()
        assert b'"text":"done "' in await read_whole(second)
