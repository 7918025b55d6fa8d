"""`subscriptions/listen`, and what sessions are told (section 23)."""

from __future__ import annotations

import asyncio
import json
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any

import pytest

import ferrule
from ferrule.model.serving import LimitSettings
from ferrule.servers.mcp.methods.changes import get_hub
from ferrule.servers.mcp.methods.subscriptions import follow_changes
from ferrule.servers.mcp.wire.messages import META_SUBSCRIPTION
from tests.servers.mcp.direct_client import (
    WAIT_SECONDS,
    McpClient,
    RecordingBack,
    RpcFailure,
    connected_client,
    in_loop,
)

TOOLS = {"toolsListChanged": True}


@ferrule.tool(read_only=True)
def look() -> str:
    """Looks."""
    return "seen"


@ferrule.tool(read_only=True, inline=True)
def spare() -> str:
    """May be switched off."""
    return "spare"


@ferrule.tool(read_only=True)
def tells(what: str, context: ferrule.Context) -> str:
    """Announces a change."""
    context.announce(what)
    return "told"


@ferrule.resource("docs://page/{name}")
def page(name: str) -> str:
    """A page."""
    return name


@ferrule.prompt
def hello() -> str:
    """Says hello."""
    return "Hello"


EVERYTHING = (look, spare, tells, page, hello)


class Listening:
    """One open subscription."""

    def __init__(self, client: McpClient, request_id: Any, back: RecordingBack) -> None:
        self.client, self.id, self.back = client, request_id, back
        self.task: asyncio.Task[Any] | None = None

    async def next(self) -> dict[str, Any]:
        """The next notification; each belongs to this subscription (MCP-233)."""
        message = await self.back.next()
        assert message["params"]["_meta"][META_SUBSCRIPTION] == self.id
        assert type(message["params"]["_meta"][META_SUBSCRIPTION]) is type(self.id)
        return message

    async def ended(self) -> dict[str, Any]:
        """What the request is answered with in the end."""
        assert self.task is not None
        answered: dict[str, Any] = json.loads((await asyncio.wait_for(self.task, WAIT_SECONDS)).text)
        return answered


@asynccontextmanager
async def listening(client: McpClient, wanted: dict[str, Any], request_id: Any = "sub-1") -> Any:
    """A subscription, acknowledged."""
    back = RecordingBack()
    exchange = await client.make_exchange(request_id, back)
    params = {"notifications": wanted}
    asked = {"jsonrpc": "2.0", "id": request_id, "method": "subscriptions/listen", "params": params}
    found = Listening(client, request_id, back)
    found.task = asyncio.create_task(client.answer(exchange, asked))
    try:
        yield found
    finally:
        found.task.cancel()
        await asyncio.wait({found.task}, timeout=WAIT_SECONDS)


@in_loop
async def test_the_first_message_acknowledges_what_is_honoured(tmp_path: Path) -> None:
    """MCP-232, MCP-239: unsupported kinds and foreign addresses are left out, not false."""
    wanted = {
        **TOOLS,
        "promptsListChanged": False,
        "resourceSubscriptions": ["docs://page/a", "docs://elsewhere", "ferrule-payload:inv_x/0"],
    }
    async with connected_client(tmp_path, tools=EVERYTHING) as client, listening(client, wanted, 7) as sub:
        first = await sub.next()
        assert first["method"] == "notifications/subscriptions/acknowledged"
        assert first["params"]["notifications"] == {
            "toolsListChanged": True,
            "resourceSubscriptions": ["docs://page/a"],
        }


@in_loop
async def test_a_switched_off_tool_is_news_of_the_tools_alone(tmp_path: Path) -> None:
    """MCP-234: only kinds that were asked for. The prompts' stream hears nothing, though both see the change."""
    async with (
        connected_client(tmp_path, tools=EVERYTHING) as client,
        listening(client, TOOLS, 1) as tools,
        listening(client, {"promptsListChanged": True}, 2) as prompts,
    ):
        await tools.next(), await prompts.next()
        app = client.server.app
        spare_id = next(listed.tool.tool_id for listed in app.catalog.list_preferred() if listed.tool.name == "spare")
        await app.disable(spare_id, by="test")
        assert (await tools.next())["method"] == "notifications/tools/list_changed"
        hello_id = next(listed.tool.tool_id for listed in app.catalog.list_preferred() if listed.tool.name == "hello")
        await app.disable(hello_id, by="test")
        assert (await prompts.next())["method"] == "notifications/prompts/list_changed"
        assert tools.back.messages.empty()


@in_loop
async def test_what_does_not_change_the_list_is_no_news(tmp_path: Path) -> None:
    """A call that parks, or another surface made from the same facts, gives the same bytes, so nobody is told."""
    async with connected_client(tmp_path, tools=EVERYTHING) as client, listening(client, TOOLS) as sub:
        await sub.next()
        client.server.app.store.bump()
        exchange = await client.make_exchange()
        await exchange.surface.refresh(is_forced=True)
        await client.ask("tools/call", name="tells", arguments={"what": "tools"})
        assert (await sub.next())["method"] == "notifications/tools/list_changed"
        assert sub.back.messages.empty()  # the announcement alone


@in_loop
async def test_a_tool_can_announce_a_resource_to_those_who_asked_for_it(tmp_path: Path) -> None:
    """MCP-200: `notifications/resources/updated` with the address, to whoever subscribed to exactly that."""
    wanted = {"resourceSubscriptions": ["docs://page/a"]}
    async with connected_client(tmp_path, tools=EVERYTHING) as client, listening(client, wanted) as sub:
        await sub.next()
        await client.ask("tools/call", name="tells", arguments={"what": "docs://page/b"})
        await client.ask("tools/call", name="tells", arguments={"what": "docs://page/a"})
        news = await sub.next()
        assert news["method"] == "notifications/resources/updated"
        assert news["params"]["uri"] == "docs://page/a"


@in_loop
async def test_another_tenant_is_told_nothing(tmp_path: Path) -> None:
    """What a tool announces is for the clients of its own tenant."""
    async with connected_client(tmp_path, tools=EVERYTHING) as client:
        other = client.with_principal("mallory", "elsewhere")
        async with listening(other, TOOLS) as theirs, listening(client, TOOLS) as ours:
            await theirs.next(), await ours.next()
            await client.ask("tools/call", name="tells", arguments={"what": "tools"})
            await ours.next()
            assert theirs.back.messages.empty()


@pytest.mark.parametrize("params", [{}, {"notifications": None}, {"notifications": {"taskIds": 3}}])
@in_loop
async def test_a_request_without_wishes_is_refused(tmp_path: Path, params: dict[str, Any]) -> None:
    """MCP-231."""
    async with connected_client(tmp_path, tools=EVERYTHING) as client:
        with pytest.raises(RpcFailure) as failed:
            await client.ask("subscriptions/listen", **params)
        assert failed.value.code == -32602


@in_loop
async def test_tasks_are_followed_by_clients_that_know_them(tmp_path: Path) -> None:
    """MCP-257: an extension that the request does not declare."""
    async with connected_client(tmp_path, tools=EVERYTHING) as client:
        with pytest.raises(RpcFailure) as failed:
            await client.ask("subscriptions/listen", notifications={"taskIds": ["t"]})
        assert failed.value.code == -32021
        assert failed.value.data == {"requiredCapabilities": {"extensions": {"io.modelcontextprotocol/tasks": {}}}}


@in_loop
async def test_a_principal_has_so_many_places_and_gets_them_back(tmp_path: Path) -> None:
    """MCP-235, MCP-237: one above the cap is refused; a client that leaves frees its place at once."""
    async with connected_client(tmp_path, tools=EVERYTHING, limits=LimitSettings(streams=2)) as client:
        async with listening(client, TOOLS, 1) as one, listening(client, TOOLS, 2) as two:
            await one.next(), await two.next()
            with pytest.raises(RpcFailure):
                await client.ask("subscriptions/listen", notifications=TOOLS)
            async with listening(client.with_principal("somebody-else"), TOOLS, 3) as three:
                await three.next()
        assert get_hub(client.server).count == 0
        async with listening(client, TOOLS, 4) as four:
            await four.next()


@in_loop
async def test_the_end_of_the_server_is_the_result(tmp_path: Path) -> None:
    """MCP-236: the closing result has the subscription's id."""
    async with connected_client(tmp_path, tools=EVERYTHING) as client, listening(client, TOOLS, 11) as sub:
        await sub.next()
        await get_hub(client.server).aclose()
        answered = await sub.ended()
        assert answered["id"] == 11
        assert answered["result"]["resultType"] == "complete"
        assert answered["result"]["_meta"][META_SUBSCRIPTION] == 11


@in_loop
async def test_on_a_pipe_the_end_is_told_before_the_result(tmp_path: Path) -> None:
    """MCP-236: `notifications/cancelled` first, where there is no stream to close."""
    async with connected_client(tmp_path, tools=EVERYTHING) as client, listening(client, TOOLS, 12) as sub:
        await sub.next()
        sub.back.is_pipe = True
        await get_hub(client.server).aclose()
        assert (await sub.ended())["result"]["_meta"][META_SUBSCRIPTION] == 12
        told = await sub.back.next()
        assert (told["method"], told["params"]["requestId"]) == ("notifications/cancelled", 12)


@in_loop
async def test_without_changes_there_is_no_such_method(tmp_path: Path) -> None:
    """MCP-113: nothing is advertised that is not served, and nothing served that is not advertised."""
    async with connected_client(tmp_path, tools=EVERYTHING, changes=False) as client:
        capabilities = (await client.ask("server/discover"))["capabilities"]
        assert capabilities["tools"] == {} and capabilities["resources"] == {} and capabilities["prompts"] == {}
        with pytest.raises(RpcFailure) as failed:
            await client.ask("subscriptions/listen", notifications=TOOLS)
        assert failed.value.code == -32601


class Session:
    """What a session keeps for its subscriptions."""

    def __init__(self) -> None:
        self.subscriptions: set[str] = set()


@in_loop
async def test_a_session_hears_on_its_own_stream(tmp_path: Path) -> None:
    """MCP-199, MCP-240: lists without asking, resources after `resources/subscribe`, until `resources/unsubscribe`."""
    async with connected_client(tmp_path, tools=EVERYTHING) as modern:
        client = modern.with_revision("2025-11-25", Session())
        heard: asyncio.Queue[Any] = asyncio.Queue()
        leave = follow_changes(await client.make_exchange(), lambda text: heard.put_nowait(json.loads(text)))
        assert await client.ask("resources/subscribe", uri="docs://page/a") == {}
        await client.ask("tools/call", name="tells", arguments={"what": "docs://page/a"})
        first = await asyncio.wait_for(heard.get(), WAIT_SECONDS)
        assert first == {
            "jsonrpc": "2.0",
            "method": "notifications/resources/updated",
            "params": {"uri": "docs://page/a"},
        }
        assert await client.ask("resources/unsubscribe", uri="docs://page/a") == {}
        await client.ask("tools/call", name="tells", arguments={"what": "docs://page/a"})
        await client.ask("tools/call", name="tells", arguments={"what": "prompts"})
        second = await asyncio.wait_for(heard.get(), WAIT_SECONDS)
        assert second["method"] == "notifications/prompts/list_changed"
        with pytest.raises(RpcFailure) as failed:
            await client.ask("resources/subscribe", uri="docs://nothing")
        assert (failed.value.code, failed.value.data) == (-32002, {"uri": "docs://nothing"})
        leave()
        assert get_hub(client.server).count == 0


@pytest.mark.parametrize("method", ["resources/subscribe", "resources/unsubscribe"])
@in_loop
async def test_the_revision_without_sessions_has_no_such_methods(tmp_path: Path, method: str) -> None:
    """MCP-200."""
    async with connected_client(tmp_path, tools=EVERYTHING) as client:
        with pytest.raises(RpcFailure) as failed:
            await client.ask(method, uri="docs://page/a")
        assert failed.value.code == -32601
