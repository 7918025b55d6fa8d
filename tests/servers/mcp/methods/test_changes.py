"""The hub of changes: who is told what, and that it costs nothing while nobody listens."""

from __future__ import annotations

import asyncio
import threading
from pathlib import Path

from ferrule.runtime.surface.catalogs import EmptyCatalog, JoinedCatalog
from ferrule.servers.mcp.methods.changes import ChangeNotice, get_hub
from tests.servers.mcp.direct_client import WAIT_SECONDS, connected_client, in_loop
from tests.servers.mcp.methods.test_deferred import TOML, search, shop
from tests.servers.mcp.methods.views.test_names import tool


@in_loop
async def test_another_catalog_is_told_to_those_whose_list_it_changes(tmp_path: Path) -> None:
    """MCP-153: one sees another list now; the other, of another tenant, as well; prompts stay what they are."""
    async with connected_client(tmp_path, tools=[tool("a")]) as client:
        hub = get_hub(client.server)
        heard: asyncio.Queue[ChangeNotice] = asyncio.Queue()
        listener = hub.listen(await client.make_exchange(), heard.put_nowait)
        client.server.app.adopt(JoinedCatalog(EmptyCatalog(), [tool("a"), tool("b")]))
        assert await asyncio.wait_for(heard.get(), WAIT_SECONDS) == ChangeNotice("tools")
        assert heard.empty()
        hub.leave(listener)


@in_loop
async def test_a_search_that_loads_is_a_change_of_a_sessions_list_alone(tmp_path: Path) -> None:
    """MCP-128: in the revision without sessions the list stays the same, so there is nothing to tell."""
    async with connected_client(tmp_path, tools=shop(), toml=TOML) as client:
        hub, session = get_hub(client.server), client.with_revision("2025-11-25", object())
        modern: asyncio.Queue[ChangeNotice] = asyncio.Queue()
        sessioned: asyncio.Queue[ChangeNotice] = asyncio.Queue()
        hub.listen(await client.make_exchange(), modern.put_nowait)
        hub.listen(await session.make_exchange(), sessioned.put_nowait)
        await search(client, "select:refund")
        await search(session, "select:refund")
        assert await asyncio.wait_for(sessioned.get(), WAIT_SECONDS) == ChangeNotice("tools")
        client.server.app.adopt(JoinedCatalog(EmptyCatalog(), []))
        await asyncio.wait_for(modern.get(), WAIT_SECONDS)
        assert modern.empty()


@in_loop
async def test_nobody_looks_while_nobody_listens(tmp_path: Path) -> None:
    async with connected_client(tmp_path, tools=[tool("a")]) as client:
        hub = get_hub(client.server)
        before = len(asyncio.all_tasks())
        listener = hub.listen(await client.make_exchange(), lambda change: None)
        assert len(asyncio.all_tasks()) == before + 1
        hub.leave(listener)
        async with asyncio.timeout(WAIT_SECONDS):
            while len(asyncio.all_tasks()) > before:
                await asyncio.sleep(0.01)
        again = hub.listen(await client.make_exchange(), lambda change: None)
        assert len(asyncio.all_tasks()) == before + 1
        hub.leave(again)


@in_loop
async def test_a_change_may_be_announced_from_any_thread(tmp_path: Path) -> None:
    async with connected_client(tmp_path, tools=[tool("a")]) as client:
        hub = get_hub(client.server)
        heard: asyncio.Queue[ChangeNotice] = asyncio.Queue()
        hub.listen(await client.make_exchange(), heard.put_nowait)
        exchange = await client.make_exchange()
        thread = threading.Thread(target=exchange.surface.announce, args=("resources",))
        thread.start()
        assert await asyncio.wait_for(heard.get(), WAIT_SECONDS) == ChangeNotice("resources")
        thread.join()


@in_loop
async def test_a_listener_that_fails_is_no_trouble_for_others(tmp_path: Path) -> None:
    """Nor is somebody who comes after the end."""
    async with connected_client(tmp_path, tools=[tool("a")]) as client:
        hub = get_hub(client.server)
        heard: asyncio.Queue[ChangeNotice] = asyncio.Queue()
        ended = asyncio.Event()
        exchange = await client.make_exchange()

        def fails(change: ChangeNotice) -> None:
            raise RuntimeError("no")

        hub.listen(exchange, fails)
        hub.listen(exchange, heard.put_nowait, ended=ended.set)
        client.server.app.adopt(JoinedCatalog(EmptyCatalog(), []))
        assert await asyncio.wait_for(heard.get(), WAIT_SECONDS) == ChangeNotice("tools")
        await hub.aclose()
        assert ended.is_set()
        late = asyncio.Event()
        hub.listen(exchange, heard.put_nowait, ended=late.set)
        assert late.is_set() and hub.count == 0
