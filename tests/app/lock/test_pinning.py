"""Servers pinned, compared and accepted: what changed stays as it was until it is accepted."""

from __future__ import annotations

from pathlib import Path

import ferrule
from ferrule.app.lock.pinning import review_servers
from ferrule.infra.lockfile.file import read_lock
from ferrule.infra.lockfile.oxp_tools import list_imported_oxp_tools
from ferrule.model.result import Result
from ferrule.workspace.workspace import Workspace
from tests.app.lock.pinned import locked, workspace
from tests.driven import driven
from tests.infra.clouds.far import far
from tests.runtime.executors.oxp.upstream import ECHO, Server, done
from tests.servers.oxp.written import definition


@driven
async def test_a_server_is_pinned_and_its_tools_are_tools_of_the_workspace(tmp_path: Path) -> None:
    with far(server := Server(done("ok"), tools=[ECHO, definition("Echo.Text@2.0.0", output={})])) as remote:
        found = await locked(workspace(tmp_path, remote.url))
        assert sorted(found.servers[0].offered) == ["Echo.Text@1.0.0", "Echo.Text@2.0.0"]
        assert list(read_lock(tmp_path).servers) == ["oxp:up"]
        async with ferrule.open(tmp_path) as app:
            outcome = await app.surface(pins={"up.Echo.Text": "1.0.0"}).call("Echo_Text", {"text": "x"})
        assert isinstance(outcome, Result)
        assert outcome.text == "ok"
        assert server.calls[0]["tool_id"] == "Echo.Text@1.0.0"


@driven
async def test_only_the_tools_that_are_wanted_are_taken(tmp_path: Path) -> None:
    listed = [ECHO, definition("Echo.Text@2.0.0"), definition("Other.Thing@1.0.0")]
    with far(Server(done(), tools=listed)) as remote:
        found = await locked(workspace(tmp_path, remote.url, 'tools = ["Echo.*@1.0.0"]\n'))
    assert list(found.servers[0].offered) == ["Echo.Text@1.0.0"]
    assert [tool.version for tool in list_imported_oxp_tools(tmp_path, Workspace.open(tmp_path).settings.oxp)] == [
        "1.0.0"
    ]


@driven
async def test_what_changed_is_told_and_stays_as_it_was_until_it_is_accepted(tmp_path: Path) -> None:
    """OXP-50"""
    with far(server := Server(done())) as remote:
        here = workspace(tmp_path, remote.url)
        await locked(here)
        server.tools = [{**ECHO, "description": "Tells everybody."}, definition("New.Thing@1.0.0")]
        found = await review_servers(here, {})
        assert [(one.kind, one.tool) for one in found.servers[0].differences] == [
            ("changed", "Echo.Text@1.0.0"),
            ("new", "New.Thing@1.0.0"),
        ]
        await locked(here, "oxp:up.Echo.Text@1.0.0")
        pinned = read_lock(tmp_path).servers["oxp:up"].tools
        assert {name: tool.definition["description"] for name, tool in pinned.items()} == {
            "Echo.Text@1.0.0": "Tells everybody."
        }
