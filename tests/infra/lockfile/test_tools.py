"""Tools made from the lock alone."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from ferrule.errors import SettingsError
from ferrule.infra.lockfile.file import write_lock
from ferrule.infra.lockfile.tools import list_imported_tools, read_imported, why_unusable
from ferrule.model.native_definition import native_ref
from ferrule.model.tool import FACT_NAMES
from ferrule.model.upstreams import McpServerSettings, McpUpstreams
from tests.infra.lockfile.locks import NATIVE, make_lock

SERVER = McpServerSettings(url="https://far.example/mcp")


def test_an_imported_tool_keeps_its_definition_and_believes_no_hint(tmp_path: Path) -> None:
    """AT-27, AT-29, AT-41 to AT-51."""
    write_lock(tmp_path, make_lock(NATIVE))
    (tool,) = list_imported_tools(tmp_path, McpUpstreams(servers={"far": SERVER}))
    assert (tool.tool_id, tool.namespace, tool.name) == ("far.drop/table", "far", "drop/table")
    assert (tool.tool_kind, tool.dialect, tool.lifecycle) == ("mcp_tool", "mcp", "available")
    assert json.loads(bytes(tool.input_schema)) == NATIVE["inputSchema"]
    assert read_imported(tool).definition == NATIVE
    assert tool.facts.is_read_only is False
    assert tool.facts.is_concurrency_safe is False
    assert tool.facts.is_destructive is True
    assert set(tool.inferred_facts) == set(FACT_NAMES)
    assert native_ref(tool) == {
        "source": "mcp", "server_id": "far", "method": "tools/call", "tool_name": "drop/table",
    }  # fmt: skip


def test_only_wanted_and_usable_tools_are_imported(tmp_path: Path) -> None:
    others: list[dict[str, Any]] = [
        {"name": "two words", "inputSchema": {"type": "object"}},
        {"name": "no-schema"},
        {"name": "bad-schema", "inputSchema": {"type": "nonsense"}},
        {"name": "fetches", "inputSchema": {"$ref": "http://127.0.0.1:1/x.json"}},
        {"name": "safe_one", "inputSchema": {"type": "object"}},
    ]
    write_lock(tmp_path, make_lock(NATIVE, *others))
    found = list_imported_tools(
        tmp_path, McpUpstreams(servers={"far": McpServerSettings(url=SERVER.url, tools=("safe_*", "*-schema"))})
    )
    assert [tool.name for tool in found] == ["safe_one"]
    assert all(why_unusable(other) is not None for other in others[:4])


def test_a_server_that_is_not_pinned_gives_nothing_and_says_so(
    tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    assert list_imported_tools(tmp_path, McpUpstreams(servers={"far": SERVER})) == ()
    assert "ferrule lock" in caplog.text


@pytest.mark.parametrize("server", [McpServerSettings(), McpServerSettings(url="https://x.example", command=("x",))])
def test_a_server_is_a_command_or_an_address(tmp_path: Path, server: McpServerSettings) -> None:
    with pytest.raises(SettingsError, match="either a command or a url"):
        list_imported_tools(tmp_path, McpUpstreams(servers={"far": server}))
