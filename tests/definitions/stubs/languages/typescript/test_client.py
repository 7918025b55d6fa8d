"""The generated client calls a live Ferrule: typed results, typed errors, progress, cancellation, idempotency."""

from __future__ import annotations

import json
import os
import socket
import time
import urllib.request
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any

import pytest
from msgspec.structs import replace

from ferrule.definitions.stubs.languages.typescript.language import LANGUAGE
from tests.cli.run import ferrule
from tests.definitions.stubs.languages.live import Live, live
from tests.definitions.stubs.languages.toolchains import Tool, node
from tests.definitions.stubs.languages.typescript.compiled_program import (
    HERE,
    compiled,
    planned,
    tool_of,
    unformatted,
    written,
)


@pytest.fixture(scope="module")
def server(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Live]:
    """A server with the tools that clients have to cope with."""
    with live(tmp_path_factory.mktemp("live") / "workspace") as found:
        yield found


@pytest.fixture(scope="module")
def stubs(server: Live, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The generated client and a program over it, compiled."""
    folder = tmp_path_factory.mktemp("client")
    ran = ferrule("gen", "typescript", "--kind", "client", "--out", str(folder), folder=server.folder)
    assert ran.code == 0, ran.err
    schema = {"type": "object", "properties": {"value": {}}, "required": ["value"]}
    made = planned([tool_of("Live_Echo", schema)])
    builtin = replace(made, tools=tuple(replace(tool, builtin="read") for tool in made.tools))
    written(folder, LANGUAGE.write(builtin).files)
    (folder / "src" / "try.ts").write_text((HERE / "programs" / "client.ts").read_text())
    compiled(folder)
    (folder / "src" / "try.ts").unlink()
    assert unformatted(folder / "src") == ""
    return folder


@pytest.fixture(scope="module")
def told(server: Live, stubs: Path) -> dict[str, Any]:
    """What the program says of every tool."""
    program = Tool(node().command, {**os.environ, **server.env})
    answers = json.loads(program.run("dist/src/try.js", cwd=stubs, seconds=60))
    assert isinstance(answers, dict)
    return answers


def test_results_are_typed_values(told: dict[str, Any]) -> None:
    assert told["greeting"] == {"words": ["hello Ada", "hello Ada"], "mood": "glad", "call": 1}
    assert told["echo"] == {"value": {"__proto__x": [1, None]}}
    assert told["pinned"] == ["hello Di"]


def test_built_in_tools_are_done_by_the_server(told: dict[str, Any]) -> None:
    """ADL-48: canonical in name and schema; here the work is a running Ferrule's."""
    assert told["remote"] == {"value": [2]}


def test_errors_say_what_went_wrong(told: dict[str, Any]) -> None:
    assert told["denied"][:2] == ["permission_denied", True]
    assert "nobody may" in told["denied"][2]
    assert told["busy"] == ["rate_limited", 1.5]
    assert told["broken"] == ["execution_failed", "no reason"]
    assert told["invalid"] == "schema_validation_failed"
    assert told["refused"] == "invalid_token"
    assert told["nowhere"] == "connection"


def test_a_token_goes_to_no_other_machine_unencrypted_unless_that_is_said(told: dict[str, Any]) -> None:
    assert told["open"] == "Error: the token would go to tools.example unencrypted"
    assert told["allowed"] == "connection"


def test_a_call_that_waits_for_a_person_is_told_apart(told: dict[str, Any]) -> None:
    assert told["pending"] == ["awaiting_approval", True]
    assert told["unwaited"] == ["TimeoutError", "awaiting_approval", "awaiting_approval"]


def test_a_call_that_was_made_before_is_taken_up_again_with_its_types(told: dict[str, Any]) -> None:
    assert told["again"] == 3


def test_the_same_key_gives_the_same_call(told: dict[str, Any]) -> None:
    assert told["isSame"] is True
    assert told["conflict"] == ["invalid_arguments", "idempotency_conflict"]


def test_progress_is_told(told: dict[str, Any]) -> None:
    assert told["counted"] == {"counted": 3}
    assert [round(each) for each in told["steps"]] == [33, 67, 100]


def test_an_abort_cancels_the_call_at_the_server_too(told: dict[str, Any], server: Live) -> None:
    assert told["canceled"] == "enough"
    assert told["early"] == "before"
    assert _state(server, told["canceledId"]) == "canceled"


_EMPTY = {"content": [{"type": "text", "text": "Nothing.", "empty": True}]}
_TEXT, _WHOLE = {"type": "string"}, {"type": "integer"}


def _saying(text: str) -> dict[str, Any]:
    return {"content": [{"type": "text", "text": text}], "structured_content": None}


def _being(value: Any) -> dict[str, Any]:
    return {"content": [{"type": "text", "text": "told"}], "structured_content": value}


_RESULTS: tuple[tuple[Any, dict[str, Any], Any], ...] = (
    *((_TEXT, _saying(text), text) for text in ("123", "true", "null", "{}", '"a"', "")),
    *((None, _saying(text), text) for text in ("123", "null", "[1]", "plain")),
    *((each, _EMPTY, None) for each in (None, {"type": ["string", "null"]}, {"type": ["object", "null"]})),
    (_WHOLE, _saying("123"), 123),
    ({"type": ["integer", "null"]}, _saying("null"), None),
    ({"type": ["integer", "string"]}, _saying("123"), "123"),
    (None, _being([1, False]), [1, False]),
    (None, _being(0), 0),
    ({"type": "string", "pattern": "(?i)ab"}, _saying("AB"), "AB"),
)
"""The schema of the output, a result, and the value it is."""


def test_the_value_of_a_result_is_what_the_tool_gave(stubs: Path) -> None:
    """A text stays a text, also where it looks like something else, and nothing is null."""
    answers = _results(stubs, [(schema, result) for schema, result, _ in _RESULTS])
    for (schema, result, value), answer in zip(_RESULTS, answers, strict=True):
        assert answer == {"value": value, "error": None}, (schema, result)
        assert type(answer["value"]) is type(value), (schema, result)


def test_a_result_that_was_not_promised_is_an_error(stubs: Path) -> None:
    answers = _results(stubs, [(_TEXT, _EMPTY), (_WHOLE, _being({"a": 1}))])
    assert [each["error"] for each in answers] == [
        "TypeError: output must be string",
        "TypeError: output must be integer",
    ]


def _results(stubs: Path, cases: Sequence[tuple[Any, dict[str, Any]]]) -> list[dict[str, Any]]:
    lines = "".join(json.dumps({"schema": schema, "result": result}) + "\n" for schema, result in cases)
    program, support = str(HERE / "programs" / "results.mjs"), str(stubs / "dist" / "src" / "client" / "ferrule")
    said = node().run(program, support, cwd=stubs, stdin=lines.encode()).split("\n")[:-1]
    return [json.loads(line) for line in said]


def test_an_aborted_call_does_not_wait_for_a_server_that_never_answers(stubs: Path) -> None:
    program, support = str(HERE / "programs" / "silence.mjs"), str(stubs / "dist" / "src" / "client" / "ferrule")
    with socket.create_server(("127.0.0.1", 0)) as silent:
        address = f"http://127.0.0.1:{silent.getsockname()[1]}"
        assert node().run(program, support, address, cwd=stubs, seconds=30) == "TimeoutError\n"


def _state(server: Live, invocation_id: str) -> str:
    """The state of a call, once it has ended."""
    request = urllib.request.Request(
        f"{server.url}/v1/calls/{invocation_id}",
        headers={"Authorization": f"Bearer {server.token}", "Prefer": "wait=10"},
    )
    ends = time.monotonic() + 30
    while time.monotonic() < ends:
        with urllib.request.urlopen(request, timeout=30) as answer:
            said = json.loads(answer.read())
        if not said["is_pending"]:
            break
    return str(said["state"])
