"""A generated project builds, is formatted, and speaks MCP."""

from __future__ import annotations

import json
from pathlib import Path

import msgspec
import pytest

from ferrule.definitions.stubs.languages.go.language import LANGUAGE
from tests.definitions.stubs.languages.go.compiled_program import PROGRAMS, unformatted
from tests.definitions.stubs.languages.go.project import project_plan, running, write_project
from tests.definitions.stubs.languages.toolchains import go


@pytest.fixture(scope="module")
def project(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return write_project(tmp_path_factory.mktemp("project"))


def test_services_and_settings_with_any_names_compile_and_are_formatted(project: Path) -> None:
    """ADL-44"""
    assert unformatted(project) == ""
    go().run("vet", "./...", cwd=project)


@pytest.fixture(scope="module")
def tested(project: Path) -> str:
    """What `go test` says of the tools and of the settings."""
    (project / "tools" / "builtin_test.go").write_text((PROGRAMS / "builtin_test.go.txt").read_text())
    (project / "config" / "settings_test.go").write_text((PROGRAMS / "settings_test.go.txt").read_text())
    return go().run("test", "-v", "./tools/", "./config/", cwd=project)


def test_the_generated_tests_run(tested: str) -> None:
    """ADL-48"""
    assert tested.count("\nok ") == 2
    for name in ("Greet", "Loose", "Say"):
        assert f"--- SKIP: Test{name}Handler" in tested
    assert "nobody has written the tool greet yet; when you have, take this line away" in tested


def test_a_built_in_tool_is_run_by_ferrule(tested: str) -> None:
    """ADL-48"""
    assert "--- PASS: TestBuiltIn" in tested


def test_settings_are_what_the_agent_file_and_the_environment_say(tested: str) -> None:
    settings = json.loads(tested.partition("SETTINGS ")[2].partition("\n")[0])
    mail = settings["MailX00d8"]
    assert (mail["URL"], mail["Port"], mail["Empty"], mail["From"]) == ("http://h.example:80/d", "2525", "", "")
    assert (mail["Price"], mail["Big"], mail["List"]) == ("$5 or json.Number(5)", 2**70, [1, "`"])
    server = {"Hosts": ["a", "h.example"], "TLS": {"On": False}, "Rates": [1, 2.5], "Any": [None, ""]}
    assert settings["Nested"] == {"Server": server, "Nothing": {}}


def test_variables_that_are_not_set_are_told_once_each(tested: str) -> None:
    assert "WARNINGS 2 true true\n" in tested


def test_it_says_what_it_is_and_has(project: Path) -> None:
    with running(project) as server:
        said = server.ask("initialize", {"protocolVersion": "2025-06-18", "capabilities": {}})
        assert said["protocolVersion"] == "2025-06-18"
        assert said["serverInfo"] == {"name": "Book `shop`", "version": "0.3.0"}
        assert server.ask("initialize", {"protocolVersion": "1999-01-01"})["protocolVersion"] == "2025-11-25"
        server.send("notifications/initialized")
        assert server.ask("ping") == {}
        tools = server.ask("tools/list")["tools"]
    plan = project_plan()
    assert [tool["name"] for tool in tools] == ["greet", "loose", "read", "say"]
    assert tools[0]["title"] == "Greet"
    assert tools[0]["inputSchema"] == msgspec.json.decode(plan.tools[0].input_schema)
    assert tools[0]["outputSchema"]["required"] == ["words"]


def test_a_call_has_a_typed_result(project: Path) -> None:
    with running(project) as server:
        result = server.call("greet", {"name": "Ann", "mood": "glad"})
        assert result["structuredContent"] == {"words": ["hello Ann"], "mood": "glad"}
        assert json.loads(result["content"][0]["text"]) == result["structuredContent"]
        assert not result["isError"]
        unwritten = server.call("loose", {"n": 2**69})
        assert unwritten["isError"] and "not implemented" in unwritten["content"][0]["text"]


def test_a_text_is_told_as_it_is_and_null_as_nothing(project: Path) -> None:
    with running(project) as server:
        for text in ("plain", '"q"', "123", "null", "é\n"):
            assert server.call("say", {"text": text})["content"] == [{"type": "text", "text": text}]
        assert server.call("say", {}) == {"content": [], "isError": False}


def test_failures_are_results(project: Path) -> None:
    with running(project) as server:
        refused = server.call("greet", {"name": 5})
        assert refused["isError"]
        assert refused["content"][0]["text"].startswith("the input does not fit: json: cannot unmarshal number")
        assert server.call("greet", {"name": "panic"})["content"][0]["text"] == "the tool broke: oh"
        assert "FERRULE_URL" in server.call("read", {"file_path": "x"})["content"][0]["text"]


def test_requests_that_mean_nothing_are_refused(project: Path) -> None:
    with running(project) as server:
        server.send("tools/call", {"name": "nope"}, 5)
        assert server.receive()["error"] == {"code": -32602, "message": "Unknown tool: nope"}
        server.send("server/discover", {}, 6)
        assert server.receive()["error"]["code"] == -32601
        server.send_line("{")
        assert server.receive()["error"]["code"] == -32700
        server.send_line("[]")
        assert server.receive()["error"]["code"] == -32700


def test_calls_that_run_are_answered_when_the_input_ends(project: Path) -> None:
    with running(project) as server:
        server.send("tools/call", {"name": "greet", "arguments": {"name": "slow"}}, 1)
        server.close()
        assert server.receive()["result"]["structuredContent"] == {"words": ["hello slow"]}


def test_no_arguments_are_an_empty_object(project: Path) -> None:
    with running(project) as server:
        for params in ({"name": "say"}, {"name": "say", "arguments": None}):
            assert not server.ask("tools/call", params)["isError"]


def test_progress_is_told_to_who_asks(project: Path) -> None:
    with running(project) as server:
        params = {"name": "greet", "arguments": {"name": "Ann"}, "_meta": {"progressToken": "p"}}
        server.send("tools/call", params, 3)
        told = server.receive()
        assert told["method"] == "notifications/progress"
        assert told["params"] == {"progressToken": "p", "progress": 1, "total": 2, "message": "half way"}
        assert server.receive()["id"] == 3


def test_a_call_can_be_cancelled_while_others_run(project: Path) -> None:
    with running(project) as server:
        params = {"name": "greet", "arguments": {"name": "wait"}, "_meta": {"progressToken": 1}}
        server.send("tools/call", params, 7)
        assert server.receive()["method"] == "notifications/progress"
        assert server.call("greet", {"name": "Bob"})["structuredContent"] == {"words": ["hello Bob"]}
        server.send("notifications/cancelled", {"requestId": 7, "reason": "enough"})
        assert server.ask("ping") == {}
    assert "canceled" in (project / "log").read_text()


def test_what_no_integer_holds_is_told() -> None:
    (note,) = LANGUAGE.write(project_plan()).notes
    assert note.tool_id == "bench.loose"
    assert note.note.pointer == "#/properties/n"
    assert "json.Number" in note.note.message


@pytest.mark.parametrize(
    ("file", "written", "instead", "error"),
    [
        ("greet_gen.go", "\tName string", "\tNickname string", "input.Name undefined"),
        (
            "greet_gen.go",
            "input GreetInput) (GreetOutput",
            "input GreetInput) (SayOutput",
            "does not implement GreetHandler",
        ),
        ("registry_gen.go", "NewGreetTool()", "NewGreetTool(logger)", "too many arguments"),
    ],
)
def test_a_changed_contract_does_not_compile(project: Path, file: str, written: str, instead: str, error: str) -> None:
    path = project / "tools" / file
    kept = path.read_text()
    assert written in kept
    path.write_text(kept.replace(written, instead))
    try:
        with pytest.raises(AssertionError, match=error):
            go().run("build", "./tools/", cwd=project)
    finally:
        path.write_text(kept)


def test_the_support_of_a_project_is_small(project: Path) -> None:
    support = list(project.rglob("ferrule_*_gen.go"))
    assert sum(path.read_text().count("\n") for path in support) <= 300
    assert all(path.read_text().count("\n") <= 150 for path in support)
