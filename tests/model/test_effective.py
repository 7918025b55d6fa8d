"""An agent's tools with the strictest limits of tool, role and agent."""

from __future__ import annotations

from typing import Any

import pytest

from ferrule.model.effective import (
    COLLECTION_ACCESS,
    TOOL_ACCESS,
    CallLimits,
    EffectiveTool,
    Grants,
    RefEntry,
    access_of,
    bounds,
    effective_tools,
    references,
    strictest,
    tool_choice,
)
from ferrule.model.outline import AgentOutline, RoleOutline, ToolOutline

TOOLS = {
    "find": ToolOutline("tools/find.tool.md", "aml", "shop", "find", "find", status="active", type="retrieval"),
    "send": ToolOutline(
        "tools/send.tool.md", "aml", "shop", "send", "send", status="active", type="action", max_calls_per_run=5
    ),
    "old": ToolOutline("tools/old.tool.md", "aml", "shop", "old", "old", status="disabled", type="action"),
}


def agent(tools: Any, **more: Any) -> AgentOutline:
    return AgentOutline("agents/bot.agent.md", "bot", {"tools": tools, **more})


def role(*grants: dict[str, Any]) -> RoleOutline:
    return RoleOutline("iam/bot.iam.md", "bot", {"tools": list(grants)})


def grant(**entry: Any) -> RefEntry:
    return RefEntry(entry.get("ref", "x"), ("tools", 0), entry)


def test_without_a_role_the_agent_has_what_it_names() -> None:
    found = effective_tools(agent([{"ref": "find"}, {"ref": "send"}]), None, TOOLS.get)
    assert found == (EffectiveTool("find", False, (), None), EffectiveTool("send", False, (), 5))


def test_the_smallest_number_of_calls_counts() -> None:
    bound = role({"ref": "send", "max_calls_per_run": 3})
    assert effective_tools(agent([{"ref": "send"}]), bound, TOOLS.get)[0].max_calls_per_run == 3
    tight = agent({"refs": [{"ref": "send", "max_calls_per_run": 2}]})
    assert effective_tools(tight, bound, TOOLS.get)[0].max_calls_per_run == 2


def test_a_looser_agent_changes_nothing() -> None:
    loose = agent([{"ref": "send", "max_calls_per_run": 99, "approval_required": False}])
    bound = role({"ref": "send", "approval_required": True})
    assert effective_tools(loose, bound, TOOLS.get) == (EffectiveTool("send", True, ("role",), 5),)


def test_everyone_who_asks_for_approval_is_named() -> None:
    strict = agent(
        [{"ref": "send", "approval_required": True}, {"ref": "find"}],
        policies={"require_human_approval": True},
        guardrails={"tool_calls": {"require_user_confirmation_for": ["send"]}},
    )
    send, find = effective_tools(strict, role({"ref": "send"}, {"ref": "find"}), TOOLS.get)
    assert send.approval_from == ("policy", "confirmation", "agent")
    assert find.approval_from == ("policy",)


@pytest.mark.parametrize(
    "grants",
    [
        (),
        ({"ref": "send", "access": "deny"},),
        ({"ref": "send", "access": "call-read-only"},),
        ({"ref": "send", "access": 1},),
    ],
)
def test_what_the_role_does_not_let_through_is_left_out(grants: tuple[dict[str, Any], ...]) -> None:
    assert effective_tools(agent([{"ref": "send"}]), role(*grants), TOOLS.get) == ()


def test_reading_is_let_through_for_reading() -> None:
    found = effective_tools(agent([{"ref": "find"}]), role({"ref": "find", "access": "call-read-only"}), TOOLS.get)
    assert [tool.tool_id for tool in found] == ["find"]


def test_unknown_and_disabled_tools_are_left_out() -> None:
    assert effective_tools(agent([{"ref": "nobody"}, {"ref": "old"}]), None, TOOLS.get) == ()


def test_a_tool_named_twice_is_one_tool() -> None:
    twice = agent([{"ref": "find", "max_calls_per_run": 4}, {"ref": "find", "approval_required": True}])
    assert effective_tools(twice, None, TOOLS.get) == (EffectiveTool("find", True, ("agent",), 4),)


@pytest.mark.parametrize("tools", [None, "find", 3, [None, "find", {"ref": 1}, {"ref": " "}], {"refs": "find"}, {}])
def test_what_cannot_be_read_is_nothing(tools: Any) -> None:
    assert effective_tools(agent(tools), None, TOOLS.get) == ()


def test_an_unreadable_entry_makes_a_list_incomplete() -> None:
    assert not references({"tools": [{"ref": "find"}, "send"]}, "tools").is_complete
    assert not Grants({"tools": {"refs": []}}, "tools").is_complete
    assert Grants({}, "tools").is_complete


def test_references_keep_their_place() -> None:
    found = references({"knowledge": {"refs": [{}, {"ref": "docs"}]}}, "knowledge")
    assert found.entries[0].path == ("knowledge", "refs", 1)


@pytest.mark.parametrize(
    ("words", "given"),
    [
        ([None], "call"),
        (["call-read-only", None], "call"),
        (["call-read-only"], "call-read-only"),
        (["call", "deny"], "deny"),
        (["call", "read"], None),
        ([["call"]], None),
        ([], None),
    ],
)
def test_several_grants_together(words: list[Any], given: str | None) -> None:
    grants = [grant(ref="x") if word is None else grant(ref="x", access=word) for word in words]
    assert access_of(grants, TOOL_ACCESS) == given


def test_a_collection_is_read_by_default() -> None:
    assert access_of([grant(ref="x")], COLLECTION_ACCESS) == "read"


def test_the_strictest_of_nothing_is_nothing() -> None:
    assert strictest([]) == CallLimits(None, None)
    assert bounds(None) == CallLimits(None, None)


def test_unreadable_limits_do_not_count() -> None:
    assert grant(ref="x", approval_required="yes", max_calls_per_run=True).limits == CallLimits(None, None)
    assert grant(ref="x", max_calls_per_run=0).limits == CallLimits(None, None)


@pytest.mark.parametrize(
    ("tools", "choice"), [([], "auto"), ({"tool_choice": "none"}, "none"), ({"tool_choice": []}, "auto")]
)
def test_tool_choice_is_auto_unless_written(tools: Any, choice: str) -> None:
    assert tool_choice(agent(tools)) == choice
