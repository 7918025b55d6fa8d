"""A tool as rules see it: which of its arguments hold paths, commands, addresses and resources."""

from __future__ import annotations

from ferrule.runtime.policy.view import ArgumentFields, find_kinds
from tests.runtime.policy.samples import decide, engine, entry, rule, tool

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


def test_a_profile_may_name_the_fields_rules_look_at() -> None:
    made = engine(project_settings=rule("deny", resource="row-*"))
    assert decide(made, entry(MAPPED), target="row-7").behavior == "deny"
    assert decide(made, entry(MAPPED), other="row-7").behavior == "ask"


def test_formats_and_names_tell_what_an_argument_holds() -> None:
    fields = ArgumentFields(
        {"properties": {"where": {"format": "uri"}, "all": {"items": {"properties": {"x": {"format": "path"}}}}}}
    )
    assert [each.value for each in fields.find_values("url", {"where": "a", "other": "b"})] == ["a"]
    assert [each.value for each in fields.find_values("path", {"all": [{"x": "p"}, {"x": ["q"]}]})] == ["p", "q"]
    assert find_kinds("saveToPath") == {"path"}
    assert find_kinds("HTTP_URL") == {"url"}
    assert find_kinds("resource_uri") == {"resource", "url"}
    assert not find_kinds("profile") and not find_kinds("commander") and not find_kinds("…")


def test_the_words_of_a_command_are_put_together() -> None:
    made = engine(project_settings=rule("deny", command="git push"))
    for args in ({"command": "git", "args": ["push"]}, {"cmd": ["git", "push"]}, {"command": "git", "args": "push -f"},
                 {"command": "git", "args": [1]}):  # fmt: skip
        assert decide(made, entry(FILE), **args).behavior == "deny"
    assert decide(made, entry(FILE), command="git", args=["pull"]).behavior == "ask"
    for value in (["ls", "git push"], ["sh", "-c", "git push"], ["ls; git push"]):
        assert decide(made, entry(FILE), commands=value).behavior == "deny"
        assert decide(made, entry(FILE), command=value).behavior == "deny"
    shell = tool("run", tool_kind="shell_command", classifier_input="input.what.line")
    assert decide(made, entry(shell), what={"line": "git push"}).behavior == "deny"
