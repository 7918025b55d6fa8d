"""Tools as people name them at the desk, and who may change switches."""

from __future__ import annotations

import pytest

import ferrule
from ferrule.cli.inbox import find_tool, require_admin
from ferrule.errors import AccessError
from ferrule.model.approval import ADMIN, APPROVE, Identity
from ferrule.testing import memory_app
from tests.driven import driven


@ferrule.tool(read_only=True)
def look() -> str:
    """Look."""
    return "seen"


@driven
async def test_a_name_means_its_tool_and_an_unknown_one_holds_for_what_may_come() -> None:
    async with memory_app(tools=[look]) as app:
        whole, note = await find_tool(app, "look")
        assert whole.endswith("look") and note == ""
        assert await find_tool(app, whole) == (whole, "")
        name, note = await find_tool(app, whole[:-1])
        assert name == whole[:-1] and f"did you mean '{whole}'" in note and "should it come, this holds for it" in note


@driven
async def test_a_tool_that_is_gone_can_be_named_while_it_is_switched_off() -> None:
    async with memory_app(tools=[look]) as app:
        await app.disable("gone.tool", by="oda", reason="")
        assert await find_tool(app, "gone.tool") == ("gone.tool", "")


def test_switches_are_for_who_administers() -> None:
    require_admin(Identity("oda", "token:1", frozenset({ADMIN})))
    with pytest.raises(AccessError, match="amy came by token:2, which does not hold the admin scope"):
        require_admin(Identity("amy", "token:2", frozenset({APPROVE})))
