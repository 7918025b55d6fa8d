"""Agents as tools of other agents. After a deliberate change run with FERRULE_UPDATE_GOLDEN=1 and read the diff."""

from __future__ import annotations

import os
from pathlib import Path
from typing import Any

import msgspec
import pytest
from hypothesis import given
from hypothesis import strategies as st

from ferrule.model.tool import Record, Tool, raw
from ferrule.workspace.agent_tools import build_agent_tool, build_agent_tools
from ferrule.workspace.workspace import Workspace
from tests.definitions.dialects.emitting import emit_agent_tool

GOLDEN = Path(__file__).parent / "golden"


def agent_of(**changes: Any) -> Record:
    front: dict[str, Any] = {
        "agent_id": "helper",
        "version": "1.0.0",
        "status": "active",
        "meta": {"name": "Helper", "description": "Helps.", "owner": "us"},
        "orchestration": {"can_be_invoked_as_tool": True},
    }
    return Record(kind="agent", record_id="helper", dialect="aml", version="1.0.0", payload=raw(front | changes))


def derived(**changes: Any) -> Tool:
    tool = build_agent_tool(agent_of(**changes), "shop")
    assert tool is not None
    return tool


def test_an_agent_file_becomes_the_declaration_of_a_peer_agent_tool() -> None:
    """AML-109: name, description, intents, examples, parameters and returns; the golden file has all of it."""
    (file,) = Workspace.open(GOLDEN).compile([str(GOLDEN / "researcher.agent.md")])
    records = [record for compiled in file.compiled for record in compiled.records]
    (tool,) = build_agent_tools(records, "library")
    written = msgspec.json.format(msgspec.json.encode(tool), indent=2) + b"\n"
    golden = GOLDEN / "researcher.tool.json"
    if os.environ.get("FERRULE_UPDATE_GOLDEN"):
        golden.write_bytes(written)
    assert written.decode() == golden.read_text()


@pytest.mark.parametrize("said", [None, {}, {"can_be_invoked_as_tool": False}, {"can_be_invoked_as_tool": "true"}, []])
def test_an_agent_that_does_not_say_so_is_not_offered(said: Any) -> None:
    """AML-109: only with `orchestration.can_be_invoked_as_tool: true`."""
    assert build_agent_tool(agent_of(orchestration=said), "shop") is None


def test_only_agents_of_aml_are_offered() -> None:
    role = msgspec.structs.replace(agent_of(), kind="role")
    assert build_agent_tool(role, "shop") is None
    assert build_agent_tool(msgspec.structs.replace(agent_of(), dialect="adl"), "shop") is None


def test_without_words_for_routing_the_agents_own_description_is_shown() -> None:
    """AML-109: `routing.tool_description`, else `meta.description`."""
    assert derived().description == "Helps."
    assert derived(routing={"tool_description": "Asks the helper."}).description == "Asks the helper."


def test_what_an_agent_does_is_not_known_and_counts_as_harmful() -> None:
    tool = derived()
    assert (tool.facts.is_read_only, tool.facts.is_open_world) == (False, True)
    assert {"is_read_only", "is_destructive", "is_open_world"} <= set(tool.inferred_facts)


@pytest.mark.parametrize(
    ("status", "lifecycle"),
    [("draft", "draft"), ("active", "available"), ("deprecated", "deprecated"), ("disabled", "disabled"), (7, "draft")],
)
def test_an_agents_status_is_the_tools_lifecycle(status: Any, lifecycle: str) -> None:
    assert derived(status=status).lifecycle == lifecycle


def test_the_declaration_can_be_written_as_agent_tool_records() -> None:
    records: Any = emit_agent_tool(derived(routing={"intents": ["ask"], "trigger_phrases": ["help me"]})).value
    declaration, _, execution, _ = records
    assert (declaration["intents"], declaration["examples"]) == (["ask"], ["help me"])
    assert execution["execution_kind"] == "peer_agent"


KEYS = st.sampled_from(["schema", "input", "intents", "x"])
VALUES = st.recursive(
    st.none() | st.booleans() | st.integers(-9, 9) | st.text(max_size=4),
    lambda inner: st.lists(inner, max_size=2) | st.dictionaries(KEYS, inner, max_size=2),
    max_leaves=5,
)


@given(st.dictionaries(st.sampled_from(["meta", "routing", "interface", "status", "version"]), VALUES))
def test_whatever_stands_in_an_agents_file_its_tool_is_sound(changes: dict[str, Any]) -> None:
    tool = derived(**changes)
    assert msgspec.json.decode(tool.payload)["tool_kind"] == "peer_agent_tool"
    assert isinstance(msgspec.json.decode(tool.input_schema), dict)
