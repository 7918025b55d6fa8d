"""Tools of OXP servers made from the lock alone: what is taken, how it is called, and what is believed of it."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from ferrule.errors import SettingsError
from ferrule.infra.lockfile.file import Lock, LockedServer, make_locked_tool, write_lock
from ferrule.infra.lockfile.oxp_tools import (
    check_oxp_server,
    is_wanted_oxp,
    list_imported_oxp_tools,
    make_lock_key,
    make_oxp_tool,
    read_imported_oxp,
    why_unusable_oxp,
)
from ferrule.model.credentials import SecretRef
from ferrule.model.tool import FACT_NAMES, Tool
from ferrule.model.upstreams import OxpServer, OxpUpstreams

URL = "https://far.example/oxp"
ADD: dict[str, Any] = {
    "id": "Calculator.Add@1.2.0",
    "version": "1.2.0",
    "description": "Adds.",
    "input_schema": {"parameters": {"type": "object", "properties": {"a": {"type": "number"}}}},
    "output_schema": {"type": "number"},
    "later": "kept",
}


def imported(root: Path, *definitions: dict[str, Any], **server: Any) -> tuple[Tool, ...]:
    """The tools of one server whose definitions were accepted."""
    tools = {tool["id"]: make_locked_tool(tool, "ada", "2026-01-02T03:04:05Z") for tool in definitions}
    pinned = LockedServer(source="x", name="n", version="1", tools=tools)
    write_lock(root, Lock(servers={make_lock_key("far"): pinned}))
    return list_imported_oxp_tools(root, OxpUpstreams(servers={"far": OxpServer(url=URL, **server)}))


def renamed(tool_id: str) -> dict[str, Any]:
    return {**ADD, "id": tool_id, "version": tool_id.partition("@")[2]}


def test_a_tool_keeps_its_definition_and_nothing_is_believed_of_its_safety(tmp_path: Path) -> None:
    (tool,) = imported(tmp_path, ADD)
    assert (tool.tool_id, tool.namespace, tool.name, tool.version) == (
        "far.Calculator.Add",
        "far",
        "Calculator_Add",
        "1.2.0",
    )
    assert json.loads(bytes(tool.input_schema)) == ADD["input_schema"]["parameters"]
    assert read_imported_oxp(tool).definition == ADD and read_imported_oxp(tool).server_id == "far"
    assert set(tool.inferred_facts) == set(FACT_NAMES)
    assert not tool.facts.is_read_only and tool.facts.is_open_world


def test_names_that_would_run_together_keep_their_dot_and_versions_of_one_tool_do_not_count(tmp_path: Path) -> None:
    same = [renamed("A.B_C@1.0.0"), renamed("A_B.C@1.0.0"), renamed("D.E@1.0.0"), renamed("D.E@2.0.0")]
    assert {tool.name for tool in imported(tmp_path, *same)} == {"A.B_C", "A_B.C", "D_E"}


def test_only_wanted_and_usable_tools_are_imported(tmp_path: Path) -> None:
    given = [
        ADD,
        renamed("Calculator.Sub@1.0.0"),
        {**renamed("Calculator.Bad@1.0.0"), "input_schema": {}},
        renamed("Mail.Send@1.0.0"),
    ]
    found = imported(tmp_path, *given, tools=("Calculator.*",))
    assert [tool.tool_id for tool in found] == ["far.Calculator.Add", "far.Calculator.Sub"]


@pytest.mark.parametrize(
    ("pattern", "is_wanted"),
    [
        ("*", True),
        ("Calculator.Add", True),
        ("Calculator.Add@1.2.0", True),
        ("Calculator.Add@2.*", False),
        ("calculator.*", False),
    ],
)
def test_a_pattern_names_a_tool_with_or_without_its_version(pattern: str, is_wanted: bool) -> None:
    assert is_wanted_oxp(OxpServer(url=URL, tools=(pattern,)), "Calculator.Add@1.2.0") is is_wanted


@pytest.mark.parametrize(
    ("change", "why"),
    [
        ({"id": "Add"}, "no Toolkit.Tool@x.y.z"),
        ({"id": "Größe.Add@1.2.0"}, "no Toolkit.Tool@x.y.z"),
        ({"id": "A" * 300 + ".Add@1.2.0"}, "no Toolkit.Tool@x.y.z"),
        ({"version": "1.2.1"}, "another than the one in its id"),
        ({"input_schema": {"type": "object"}}, "compat = true"),
        ({"output_schema": []}, "neither an object nor null"),
        ({"input_schema": {"parameters": {"type": "nonsense"}}}, "no JSON Schema"),
        ({"requirements": ["secret"]}, "requirements are no object"),
    ],
)
def test_a_definition_that_cannot_become_a_tool_says_why(change: dict[str, Any], why: str) -> None:
    assert why_unusable_oxp(ADD, is_compat=False) is None
    assert why in (why_unusable_oxp({**ADD, **change}, is_compat=False) or "")


def test_later_drafts_are_taken_where_the_settings_say_so() -> None:
    """OXP-49."""
    later = {"id": "A.B@1.0.0", "version": "1.0.0", "input_schema": {"type": "object", "required": ["x"]}}
    assert why_unusable_oxp(later, is_compat=False) is not None
    assert why_unusable_oxp(later, is_compat=True) is None
    assert json.loads(bytes(make_oxp_tool("far", later).input_schema)) == later["input_schema"]


def test_a_server_that_is_not_pinned_gives_nothing_and_says_so(
    tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    imported(tmp_path, ADD)
    assert list_imported_oxp_tools(tmp_path, OxpUpstreams(servers={"other": OxpServer(url=URL)})) == ()
    assert "'other'" in caplog.text and "ferrule lock" in caplog.text
    assert list_imported_oxp_tools(tmp_path / "nowhere", OxpUpstreams()) == ()


def test_a_server_has_a_plain_id_and_one_way_to_come_in() -> None:
    key = SecretRef(source="env", name="KEY")
    check_oxp_server("far", OxpServer(url=URL, api_key=key))
    with pytest.raises(SettingsError, match="not several"):
        check_oxp_server("far", OxpServer(url=URL, api_key=key, jwt_secret=key))
    for name in ("", "a/b", "two words", "größe"):
        with pytest.raises(SettingsError, match="letters, digits"):
            check_oxp_server(name, OxpServer(url=URL))
