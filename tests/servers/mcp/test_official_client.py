"""The official client at a real server: what it reads, gets, completes and hears, in both eras."""

from __future__ import annotations

import asyncio
from pathlib import Path
from typing import Any

import httpx2
import pytest
from mcp import Client
from mcp.client.streamable_http import streamable_http_client
from mcp.types import ResourceTemplateReference

from tests.servers.local_server import running_process
from tests.servers.mcp.direct_client import WAIT_SECONDS, in_loop

HANDBOOK = '''
import ferrule

@ferrule.resource("docs://{name}", mime_type="text/markdown", complete={"name": ["returns", "shipping"]})
def page(name: str) -> str:
    """A page of the handbook."""
    return f"# {name}"

@ferrule.prompt
def answer(question: str) -> str:
    """Drafts an answer."""
    return f"Answer: {question}"

@ferrule.tool(read_only=True)
def change(what: str, context: ferrule.Context) -> str:
    """Announces a change."""
    context.announce(what)
    return "told"
'''


@pytest.mark.parametrize("mode", ["auto", "legacy"])
def test_the_official_client_reads_gets_and_completes(tmp_path: Path, mode: Any) -> None:
    (tmp_path / "handbook.py").write_text(HANDBOOK)
    (tmp_path / "ferrule.toml").write_text('[functions]\nmodules = ["handbook.py"]\n')
    with running_process(tmp_path) as server:
        _talk(f"{server.url}/mcp", server.token(tmp_path), mode)


@in_loop
async def _talk(url: str, token: str, mode: Any) -> None:
    headers = {"Authorization": f"Bearer {token}"}
    async with (
        httpx2.AsyncClient(headers=headers, timeout=WAIT_SECONDS) as http,
        Client(streamable_http_client(url, http_client=http), mode=mode) as client,
    ):
        assert (client.protocol_version == "2026-07-28") is (mode == "auto")
        assert [tool.name for tool in (await client.list_tools()).tools] == ["change"]
        templates = (await client.list_resource_templates()).resource_templates
        assert templates[0].uri_template == "docs://{name}"
        content: Any = (await client.read_resource("docs://returns")).contents[0]
        assert (content.text, content.mime_type) == ("# returns", "text/markdown")
        got: Any = (await client.get_prompt("answer", {"question": "Why?"})).messages[0].content
        assert got.text == "Answer: Why?"
        ref = ResourceTemplateReference(type="ref/resource", uri="docs://{name}")
        assert (await client.complete(ref, {"name": "name", "value": "ship"})).completion.values == ["shipping"]
        if mode == "auto":
            await _listen(client)


async def _listen(client: Client) -> None:
    async with client.listen(tools_list_changed=True, resource_subscriptions=["docs://returns"]) as events:
        for what in ("docs://returns", "tools"):
            await client.call_tool("change", {"what": what})
        heard = []
        async with asyncio.timeout(WAIT_SECONDS):
            async for event in events:
                heard.append(type(event).__name__)
                if len(heard) == 2:
                    break
        assert heard == ["ResourceUpdated", "ToolsListChanged"]
