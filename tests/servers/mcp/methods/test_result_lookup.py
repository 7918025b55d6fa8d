"""Looking up a call that waits: offered wherever something may wait, to nobody else, and only with what makes sense."""

from __future__ import annotations

from pathlib import Path

import pytest

import ferrule
from ferrule.model.approval import APPROVE, Identity
from ferrule.model.serving import McpSettings, ServeSettings
from tests.servers.mcp.direct_client import connected_client, in_loop
from tests.servers.mcp.modern_client import ModernClient, with_server


@ferrule.tool(approval_required=True)
def pay(amount: int) -> str:
    """Pay."""
    return f"paid {amount}"


SHORT = McpSettings(wait_seconds=0.2)


@with_server(pay, settings=ServeSettings(auth=False, mcp=SHORT))
async def test_a_call_that_waits_for_a_person_says_so_and_can_be_looked_up(client: ModernClient) -> None:
    """A result that names the call, where a person answers it, and how the model gets the outcome. Nothing approves itself."""
    result = (await client.call("pay", {"amount": 5}))["result"]
    call, text = result["_meta"]["dev.ferrule/invocation"], result["content"][0]["text"]
    assert (result["isError"], result["_meta"]["dev.ferrule/state"]) == (True, "awaiting_approval")
    assert f"ferrule approve {call}" in text
    assert "ferrule_result" in text
    looked = (await client.call("ferrule_result", {"invocation_id": call}))["result"]
    assert looked["_meta"]["dev.ferrule/state"] == "awaiting_approval"
    owner = Identity("owner", "console", frozenset({APPROVE}))
    await client.stand.app.inbox(owner).approve(call)
    ended = (await client.call("ferrule_result", {"invocation_id": call, "wait_seconds": 10}))["result"]
    assert ended["content"][0]["text"] == "paid 5"
    assert ended["_meta"]["dev.ferrule/invocation"] == call


@ferrule.tool
def undeclared(what: str) -> str:
    """Say nothing about itself: only the policy asks a person."""
    return what


RULES = '[[rules]]\nid = "r"\ntool = "undeclared"\ndecision = "{}"\n'


@pytest.mark.parametrize(
    ("policy", "is_listed"), [("", True), (RULES.format("ask"), True), (RULES.format("allow"), False)]
)
@in_loop
async def test_looking_up_is_offered_wherever_something_may_wait(
    tmp_path: Path, policy: str, *, is_listed: bool
) -> None:
    """Also where nothing but a rule, or the mode, asks a person; not where nobody is ever asked."""
    if policy:
        (tmp_path / "policy.toml").write_text(policy)
    async with connected_client(tmp_path, tools=[undeclared], wait_seconds=0.1) as client:
        names = [tool["name"] for tool in await client.list_all("tools/list", "tools")]
        assert ("ferrule_result" in names) is is_listed
        result = await client.ask("tools/call", name="undeclared", arguments={"what": "x"})
        assert ('call ferrule_result with {"invocation_id"' in result["content"][0]["text"]) is is_listed


@in_loop
async def test_nobody_looks_up_the_calls_of_others(tmp_path: Path) -> None:
    """MCP-259, MCP-285: an id is no right; an unknown one and a foreign one are told in the same words."""
    async with connected_client(tmp_path, tools=[pay], wait_seconds=0) as client:
        call = (await client.ask("tools/call", name="pay", arguments={"amount": 1}))["_meta"]["dev.ferrule/invocation"]
        for stranger in (client.with_principal("bob"), client.with_principal("local", "elsewhere")):
            foreign = await stranger.ask("tools/call", name="ferrule_result", arguments={"invocation_id": call})
            unknown = await stranger.ask("tools/call", name="ferrule_result", arguments={"invocation_id": "inv_0"})
            assert foreign == unknown
            assert foreign["isError"] is True


@in_loop
async def test_looking_up_takes_what_makes_sense(tmp_path: Path) -> None:
    """MCP-151."""
    async with connected_client(tmp_path, tools=[pay]) as client:
        for arguments in (
            {},
            {"invocation_id": 5},
            {"invocation_id": "inv_0", "wait_seconds": 1e9},
            {"invocation_id": "x", "more": 1},
        ):
            result = await client.ask("tools/call", name="ferrule_result", arguments=arguments)
            assert result["isError"] is True


@in_loop
async def test_a_tool_of_the_workspace_may_have_the_name_of_ours(tmp_path: Path) -> None:
    """The caller's own tools come first."""

    @ferrule.tool(read_only=True)
    def ferrule_result() -> str:
        """Mine."""
        return "mine"

    async with connected_client(tmp_path, tools=[ferrule_result, pay]) as client:
        assert (await client.ask("tools/call", name="ferrule_result", arguments={}))["content"][0]["text"] == "mine"
