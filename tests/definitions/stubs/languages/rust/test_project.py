"""A generated project builds, runs and serves its tools, and tells a person when the definition has changed."""

from __future__ import annotations

import json
import os
import subprocess
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import IO, Any

import pytest

from ferrule.contracts.language import Section, StubPlan
from ferrule.definitions.stubs.languages.rust.language import LANGUAGE
from tests.definitions.stubs.languages.rust.crates import Given, planned, talked, write
from tests.definitions.stubs.languages.rust.hostile import TEXTS
from tests.definitions.stubs.languages.rust.test_layout import _SECTIONS, _SERVICES, rich_plan_tools
from tests.definitions.stubs.languages.toolchains import cargo

_ORDER = {"type": "object", "properties": {"id": {"type": "string"}}, "required": ["id"], "additionalProperties": False}
_FOUND = {
    "type": "object",
    "properties": {"total": {"type": "integer"}, "of": {"type": "string"}},
    "required": ["total"],
}
_SLOW = {
    "type": "object",
    "properties": {"seconds": {"type": "number", "maximum": 10**400}},
    "required": ["seconds"],
}
_UNWRITTEN = '    Err(ToolError::new("not implemented yet"))\n'
_FOUND_BODY = '    Ok(serde_json::from_value(serde_json::json!({ "total": 3 }))?)\n'
_SLOW_BODY = """    for step in 1..=1000 {
        context.progress(f64::from(step), Some(1000.0), "waiting");
        tokio::time::sleep(std::time::Duration::from_secs_f64(input.seconds / 1000.0)).await;
    }
    Ok(serde_json::json!("waited"))
"""


_SETTINGS_TEST = r"""use CRATE::config::Config;

#[test]
fn settings_are_filled_from_the_environment() {
    std::env::set_var("SHOP_HOST", "h");
    std::env::set_var("SHOP_NONE", "");
    let texts = Config::from_env().texts;
    assert_eq!(texts.whole, "h");
    assert_eq!(texts.parts, "http://h:80/x");
    assert_eq!(texts.dash, "d");
    assert_eq!(texts.odd, "a $SHOP_HOST ${ ${é}");
    assert_eq!(texts.list, serde_json::json!(["h", 1, { "a": null }]));
}
"""
_TEXTS = Section(
    name="texts",
    settings={
        "whole": "$SHOP_HOST",
        "parts": "http://${SHOP_HOST}:${SHOP_NONE:-80}/${SHOP_NONE}x",
        "dash": "${SHOP_NONE-d}",
        "odd": "a $SHOP_HOST ${ ${é}",
        "list": ["$SHOP_HOST", 1, {"a": None}],
    },
)


def _plan(order: Any = _ORDER) -> StubPlan:
    given = [Given("find_order", order, _FOUND, "Finds an order."), Given("wait", _SLOW, None, "Waits.")]
    given += rich_plan_tools()
    given += [Given(f"hostile {at}", _ORDER, _FOUND, text, title=text) for at, text in enumerate(TEXTS)]
    name = f"clerk-{os.environ.get('PYTEST_XDIST_WORKER', 'alone')}"
    return planned(
        given, is_project=True, name=name, description="A clerk.", services=_SERVICES, sections=(*_SECTIONS, _TEXTS)
    )


def _cargo(folder: Path, *arguments: str) -> subprocess.CompletedProcess[str]:
    env = {**cargo().env, "CARGO_PROFILE_DEV_DEBUG": "0", "CARGO_PROFILE_TEST_DEBUG": "0", "CARGO_INCREMENTAL": "0"}
    words = [*cargo().command, *arguments]
    return subprocess.run(words, cwd=folder, env=env, capture_output=True, text=True, timeout=600, check=False)


@pytest.fixture(scope="module")
def project(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A project as it comes, with two tools that a person has written."""
    folder = tmp_path_factory.mktemp("clerk")
    write(LANGUAGE.write(_plan()).files, folder)
    path = folder / "src" / "tools" / "wait.rs"
    text = path.read_text()
    start, end = text.index("    // TODO"), text.index(_UNWRITTEN)
    order = folder / "src" / "tools" / "find_order.rs"
    order.write_text(order.read_text().replace(_UNWRITTEN, _FOUND_BODY))
    path.write_text(text[:start] + _SLOW_BODY + text[end + len(_UNWRITTEN) :])
    (folder / "tests").mkdir()
    crate = _plan().project.name.replace("-", "_")
    (folder / "tests" / "settings.rs").write_text(_SETTINGS_TEST.replace("CRATE", crate))
    done = _cargo(folder, "test")
    assert done.returncode == 0, done.stdout + done.stderr
    assert "warning" not in done.stderr, done.stderr
    assert done.stdout.rpartition("running ")[2].startswith("0 tests"), "a description was taken for code"
    return folder


def _program(folder: Path) -> Path:
    done = _cargo(folder, "build")
    assert done.returncode == 0, done.stderr
    name = f"clerk-{os.environ.get('PYTEST_XDIST_WORKER', 'alone')}"
    return Path(cargo().env["CARGO_TARGET_DIR"]) / "debug" / name


def test_clippy_has_nothing_to_say_of_a_project(project: Path) -> None:
    done = _cargo(project, "clippy", "--quiet", "--all-targets", "--", "--deny", "warnings")
    if "clippy" in done.stderr and ("no such command" in done.stderr or "is not installed" in done.stderr):
        pytest.skip("clippy is not installed")
    assert done.returncode == 0, done.stderr


@contextmanager
def _running(folder: Path) -> Iterator[tuple[IO[str], IO[str]]]:
    process = subprocess.Popen([_program(folder)], stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True)
    assert process.stdin is not None
    assert process.stdout is not None
    try:
        yield process.stdin, process.stdout
        process.stdin.close()
        assert process.wait(10) == 0
    finally:
        process.kill()
        process.wait(10)
        process.stdout.close()


def test_a_project_serves_its_tools_over_stdio(project: Path) -> None:
    with _running(project) as (to, out):

        def ask(method: str, params: Any, number: int) -> Any:
            to.write(json.dumps({"jsonrpc": "2.0", "id": number, "method": method, "params": params}) + "\n")
            to.flush()
            return json.loads(out.readline())

        told = ask("initialize", {"protocolVersion": "2025-06-18", "capabilities": {}}, 1)["result"]
        assert told["protocolVersion"] == "2025-06-18"
        assert ask("initialize", {"protocolVersion": "1999-01-01"}, 2)["result"]["protocolVersion"] == "2025-11-25"
        to.write('{"jsonrpc":"2.0","method":"notifications/initialized"}\n')
        listed = {tool["name"]: tool for tool in ask("tools/list", {}, 3)["result"]["tools"]}
        assert listed["find_order"]["inputSchema"] == _ORDER
        assert listed["find_order"]["outputSchema"] == _FOUND
        assert list(listed["find_order"]["inputSchema"]) == list(_ORDER)
        assert listed["wait"]["inputSchema"]["properties"]["seconds"]["maximum"] == 10**400
        assert [listed[f"hostile {at}"]["description"] for at in range(len(TEXTS))] == list(TEXTS)
        found = ask("tools/call", {"name": "find_order", "arguments": {"id": "A1"}}, 4)["result"]
        assert found["isError"] is False
        assert isinstance(found["structuredContent"]["total"], int)
        unwritten = ask("tools/call", {"name": "hostile 0", "arguments": {"id": "A1"}}, 5)["result"]
        assert (unwritten["isError"], unwritten["content"][0]["text"]) == (True, "not implemented yet")
        refused = ask("tools/call", {"name": "find_order", "arguments": {"id": 5}}, 5)["result"]
        assert refused["isError"] is True
        assert "expected a string" in refused["content"][0]["text"]
        assert ask("tools/call", {"name": "nope"}, 6)["error"]["code"] == -32602
        assert ask("nope", {}, 7)["error"]["code"] == -32601
        assert ask("ping", {}, 8)["result"] == {}
        to.write("nonsense\n")
        to.flush()
        assert json.loads(out.readline())["error"]["code"] == -32700
        for odd in ("[]", "5", '[{"jsonrpc":"2.0","id":1,"method":"ping"}]', "{}", '{"id":1,"method":5}'):
            to.write(f"{odd}\n")
            to.flush()
            assert json.loads(out.readline())["error"]["code"] == -32600
        assert "read" not in listed, "Ferrule runs it itself"


def test_a_running_call_tells_progress_and_can_be_canceled(project: Path) -> None:
    with _running(project) as (to, out):
        params = {"name": "wait", "arguments": {"seconds": 600}, "_meta": {"progressToken": "p"}}
        to.write(json.dumps({"jsonrpc": "2.0", "id": 1, "method": "tools/call", "params": params}) + "\n")
        to.flush()
        progress = json.loads(out.readline())
        assert progress["method"] == "notifications/progress"
        assert progress["params"] == {"progressToken": "p", "progress": 1.0, "total": 1000.0, "message": "waiting"}
        cancel = {"jsonrpc": "2.0", "method": "notifications/cancelled", "params": {"requestId": 1}}
        to.write(json.dumps(cancel) + "\n")
        to.write('{"jsonrpc":"2.0","id":2,"method":"ping"}\n')
        to.flush()
        answers = iter(lambda: json.loads(out.readline()), None)
        assert next(answer for answer in answers if "id" in answer) == {"jsonrpc": "2.0", "id": 2, "result": {}}


def test_calls_that_run_when_the_input_ends_are_answered(project: Path) -> None:
    asked = [{"name": "wait", "arguments": {"seconds": 0.2}}, {"name": "find_order", "arguments": {"id": "A1"}}]
    lines = [
        {"jsonrpc": "2.0", "id": number, "method": "tools/call", "params": each} for number, each in enumerate(asked)
    ]
    answers = talked(_program(project), lines)
    assert {answer["id"]: answer["result"]["isError"] for answer in answers} == {0: False, 1: False}


def test_an_id_of_a_running_call_is_not_taken_again(project: Path) -> None:
    params = {"name": "wait", "arguments": {"seconds": 0.3}}
    call = {"jsonrpc": "2.0", "id": "same", "method": "tools/call", "params": params}
    refused, answered = talked(_program(project), [call, call])
    assert refused["error"]["code"] == -32600
    assert answered["result"]["isError"] is False


def test_a_changed_definition_stops_a_persons_file_with_a_clear_error(project: Path) -> None:
    """A member that is text no longer, in a file that uses it as one."""
    mine = project / "src" / "tools" / "find_order.rs"
    text = mine.read_text()
    mine.write_text(text.replace("    let _ = input;", "    let _: &str = &input.id;"))
    for each in LANGUAGE.write(_plan({**_ORDER, "properties": {"id": {"type": "integer"}}})).files:
        if each.standing == "generated":
            (project / each.path).write_text(each.text)
    done = _cargo(project, "check")
    assert done.returncode != 0
    assert "mismatched types" in done.stderr
    assert "src/tools/find_order.rs" in done.stderr
    write([each for each in LANGUAGE.write(_plan()).files if each.standing == "generated"], project)
    mine.write_text(text)
