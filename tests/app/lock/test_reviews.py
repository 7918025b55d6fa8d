"""What OXP servers say about their tools is pinned, compared and accepted like what MCP servers say (OXP-20, OXP-49, OXP-50)."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

import ferrule
from ferrule.app.lock.pinning import review_servers
from ferrule.errors import SettingsError
from ferrule.infra.lockfile.oxp_tools import list_imported_oxp_tools, make_oxp_tool, why_unusable_oxp
from tests.app.lock.pinned import locked, workspace
from tests.driven import driven
from tests.infra.clouds.far import Reply, far
from tests.runtime.executors.oxp.upstream import ECHO, Server, done
from tests.servers.oxp.written import definition


@driven
async def test_a_server_that_cannot_be_asked_is_told(tmp_path: Path) -> None:
    found = await review_servers(workspace(tmp_path, "http://127.0.0.1:1"), {})
    assert "nothing listens" in found.servers[0].problem


@driven
async def test_a_server_of_a_later_draft_is_told_with_what_helps(tmp_path: Path) -> None:
    """OXP-49"""
    with far(lambda asked: Reply(200, {"items": [ECHO]})) as remote:
        found = await review_servers(workspace(tmp_path, remote.url), {})
        assert "compat = true in [oxp.servers.up]" in found.servers[0].problem
        helped = await review_servers(workspace(tmp_path, remote.url, "compat = true\n"), {})
        assert list(helped.servers[0].offered) == ["Echo.Text@1.0.0"]


@pytest.mark.parametrize(
    ("change", "why"),
    [
        ({"id": "Echo.Text"}, "its id"),
        ({"id": "Echo-Text.X@1.0.0"}, "its id"),
        ({"version": "1.0.1"}, "its version"),
        ({"input_schema": {}}, "`parameters`"),
        ({"input_schema": {"parameters": {"type": "strng"}}}, "no JSON Schema"),
        ({"output_schema": "string"}, "neither"),
        ({"requirements": []}, "requirements"),
    ],
)
def test_what_cannot_become_a_tool_is_left_out(change: dict[str, Any], why: str) -> None:
    found = why_unusable_oxp({**ECHO, **change}, is_compat=False)
    assert found is not None
    assert why in found


def test_later_shapes_become_tools_where_that_is_wanted() -> None:
    """OXP-49"""
    later = {name: value for name, value in ECHO.items() if not name.endswith("_schema")}
    assert "compat = true" in (why_unusable_oxp(later, is_compat=False) or "")
    with_input = {**later, "input_schema": {"parameters": {}}}
    assert "compat = true" in (why_unusable_oxp(with_input, is_compat=False) or "")
    assert why_unusable_oxp(later, is_compat=True) is None
    assert bytes(make_oxp_tool("up", later).input_schema) == b"{}"
    bare = {**later, "input_schema": {"type": "object"}}
    assert bytes(make_oxp_tool("up", bare).input_schema) == b'{"type":"object"}'


def test_names_that_would_be_the_same_are_not(tmp_path: Path) -> None:
    with far(Server(done(), tools=[definition("A_B.C@1.0.0"), definition("A.B_C@1.0.0")])) as remote:

        @driven
        async def story() -> None:
            here = workspace(tmp_path, remote.url)
            await locked(here)
            names = {tool.name for tool in list_imported_oxp_tools(tmp_path, here.settings.oxp)}
            assert names == {"A_B.C", "A.B_C"}
            async with ferrule.open(tmp_path) as app:
                assert len(app.catalog.list_preferred()) == 2

        story()


def test_two_ways_to_come_in_are_one_too_many(tmp_path: Path) -> None:
    secret = '{ source = "env", name = "X" }'
    here = workspace(tmp_path, "http://127.0.0.1:1", f"api_key = {secret}\njwt_secret = {secret}\n")
    with pytest.raises(SettingsError, match="not several"):
        list_imported_oxp_tools(tmp_path, here.settings.oxp)
