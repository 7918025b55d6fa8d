"""Each kind of matcher hits what it should and nothing else (AT-40, AT-122)."""

from __future__ import annotations

from typing import Any

import pytest

from tests.runtime.policy.samples import caller, decide, engine, entry, rule, tool

FILE = tool(
    "write", tool_kind="file_operation", namespace="box", schema={"properties": {"file_path": {"type": "string"}}}
)
MAPPED = tool(
    "remote",
    aliases=("old",),
    payload={
        "external_mappings": [{"source": "mcp", "tool_name": "delete_row", "server_id": "db"}],
        "permission_profile": {"risk_level": "high", "rule_matching_fields": ["input.target"]},
    },
)


def hits(made: Any, by: dict[str, Any] | None = None, args: dict[str, Any] | None = None, **matchers: Any) -> bool:
    """True when a deny with these matchers hits, and an allow with them as well."""
    answers = []
    for decision in ("deny", "allow"):
        ruling = decide(
            engine(project_settings=rule(decision, **matchers)), entry(made), caller(**(by or {})), **(args or {})
        )
        answers.append(ruling.reason_type == "rule" and ruling.behavior == decision)
    assert answers[0] == answers[1]
    return answers[0]


@pytest.mark.parametrize(
    ("matchers", "fits"),
    [
        ({"tool": "write"}, True),
        ({"tool": "box.write"}, True),
        ({"tool": ["x", "wri*"]}, True),
        ({"tool": "Write"}, False),
        ({"tool": "box.*"}, True),
        ({"namespace": "box"}, True),
        ({"namespace": "b?x"}, True),
        ({"namespace": "shop"}, False),
        ({"tool_kind": ["function", "file_operation"]}, True),
        ({"tool_kind": "function"}, False),
        ({"risk": "high"}, True),
        ({"risk": ["low", "medium"]}, False),
        ({"risk": {"at_least": "high"}}, True),
        ({"risk": {"at_most": "medium"}}, False),
        ({"dialect": "aml"}, True),
        ({"lifecycle": "deprecated"}, False),
        ({"facts": {"is_read_only": False}}, True),
        ({"facts": {"is_destructive": True, "is_open_world": True}}, True),
        ({"facts": {"requires_user_interaction": True}}, False),
        ({}, True),
    ],
)
def test_tools_are_matched_by_what_they_are(matchers: dict[str, Any], fits: bool) -> None:
    assert hits(FILE, **matchers) is fits


@pytest.mark.parametrize(
    ("matchers", "fits"),
    [
        ({"principal": "ada"}, True),
        ({"principal": ["eve", "a*"]}, True),
        ({"principal": "eve"}, False),
        ({"agent": "desk-*"}, True),
        ({"agent": "other"}, False),
        ({"channel": "token-1"}, True),
        ({"tenant": "acme"}, True),
        ({"tenant": "default"}, False),
        ({"model": "opus*"}, True),
        ({"principal": "ada", "agent": "other"}, False),
    ],
)
def test_callers_are_matched_by_who_they_are(matchers: dict[str, Any], fits: bool) -> None:
    by = {"agent": "desk-bot", "channel": "token-1", "tenant": "acme", "model": "opus-9"}
    assert hits(FILE, by, **matchers) is fits


def test_members_of_a_group_are_meant_by_it() -> None:
    text = '[groups]\nfinance = ["ada"]\n' + rule("deny", principal="group:finance")
    assert decide(engine(policy_settings=text)).behavior == "deny"
    assert decide(engine(policy_settings=text), by=caller(principal="bob")).behavior == "ask"


def test_at_40_six_kinds_of_matcher() -> None:
    """AT-40: by tool name, path, command, URL, resource and native operation id."""
    assert hits(FILE, tool="write")
    assert hits(FILE, args={"file_path": "src/../etc/x"}, path="etc/*")
    assert hits(FILE, args={"command": "git push origin"}, command="git push *")
    assert hits(FILE, args={"options": {"callbackUrl": "https://a.test/x"}}, url="https://a.test/**")
    assert hits(FILE, args={"resource_id": "order/7"}, resource="order/*")
    assert hits(MAPPED, native_id="mcp:delete_*")
    assert not hits(MAPPED, native_id="mcp:insert_*")


def test_at_122_one_tool_two_paths_two_decisions() -> None:
    """AT-122, AT-140: a profile is no decision; a path denial tells the path."""
    made = engine(
        project_settings=rule("allow", tool="write", path="src/**") + rule("deny", tool="write", path="**/.env")
    )
    assert decide(made, entry(FILE), file_path="src/a.py").behavior == "allow"
    denied = decide(made, entry(FILE), file_path="src/../src/.env")
    assert (denied.behavior, denied.blocked_path) == ("deny", "/srv/shop/src/.env")
    assert decide(made, entry(FILE), file_path="docs/a.md").behavior == "ask"


def test_several_values_must_all_fit_an_allow_and_any_fits_a_deny() -> None:
    paths: dict[str, Any] = {"paths": ["src/a", "src/b", "etc/c"]}
    allow = engine(project_settings=rule("allow", path="src/**"))
    assert decide(allow, entry(FILE), **paths).behavior == "ask"
    assert decide(allow, entry(FILE), paths=paths["paths"][:2]).behavior == "allow"
    assert decide(engine(project_settings=rule("deny", path="etc/**")), entry(FILE), **paths).behavior == "deny"


def test_without_a_value_no_rule_about_values_holds() -> None:
    for decision in ("allow", "deny"):
        ruling = decide(engine(project_settings=rule(decision, path="**")), entry(FILE), text="x")
        assert ruling.reason_type == "mode"


def test_a_rule_may_name_the_arguments_it_looks_at() -> None:
    where = {"match": ["/etc/**"], "in": ["options.target"]}
    made = engine(project_settings=rule("deny", path=where))
    assert decide(made, entry(FILE), options={"target": "/etc/passwd"}).behavior == "deny"
    assert decide(made, entry(FILE), file_path="/etc/passwd").behavior == "ask"


def test_a_file_address_is_a_path() -> None:
    made = engine(project_settings=rule("deny", path="/etc/**"))
    denied = decide(made, entry(FILE), url="FILE:///etc/passwd")
    assert (denied.behavior, denied.blocked_path) == ("deny", "/etc/passwd")


def test_resources_may_be_numbers() -> None:
    made = engine(project_settings=rule("deny", resource="7*"))
    assert decide(made, entry(FILE), resource_id=71).behavior == "deny"
    assert decide(made, entry(FILE), resource_id=17).behavior == "ask"


def test_values_too_long_to_look_at_fit_every_deny_and_no_allow() -> None:
    long = "ls " * 10_000
    for kind, value in (("command", long), ("url", "https://a.test/" + long), ("path", "src/" + long)):
        arguments: dict[str, Any] = {kind: value}
        assert decide(engine(project_settings=rule("deny", **{kind: "x"})), entry(FILE), **arguments).behavior == "deny"
        assert decide(engine(project_settings=rule("allow", **{kind: "*"})), entry(FILE), **arguments).behavior == "ask"
