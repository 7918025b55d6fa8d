"""The generated client calls a live Ferrule: typed results, typed errors, progress, cancellation, idempotency."""

from __future__ import annotations

import json
import os
import time
import urllib.request
from collections.abc import Iterator
from typing import Any

import pytest
from msgspec.structs import replace

from ferrule.contracts.language import Plan
from ferrule.languages.typescript.language import LANGUAGE
from tests.cli.run import ferrule
from tests.languages.live import Live, live
from tests.languages.toolchains import Tool, node
from tests.languages.typescript.workshop import HERE, compiled, planned, tool_of, unformatted, written


@pytest.fixture(scope="module")
def server(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Live]:
    """A server with the tools that clients have to cope with."""
    with live(tmp_path_factory.mktemp("live") / "workspace") as found:
        yield found


@pytest.fixture(scope="module")
def told(server: Live, tmp_path_factory: pytest.TempPathFactory) -> dict[str, Any]:
    """What a program over the generated client says of every tool."""
    folder = tmp_path_factory.mktemp("client")
    ran = ferrule("gen", "typescript", "--kind", "client", "--out", str(folder), folder=server.folder)
    assert ran.code == 0, ran.err
    written(folder, LANGUAGE.write(_builtin()).files)
    (folder / "src" / "try.ts").write_text((HERE / "programs" / "client.ts").read_text())
    compiled(folder)
    (folder / "src" / "try.ts").unlink()
    assert unformatted(folder / "src") == ""
    program = Tool(node().command, {**os.environ, **server.env})
    answers = json.loads(program.run("dist/src/try.js", cwd=folder, seconds=60))
    assert isinstance(answers, dict)
    return answers


def _builtin() -> Plan:
    """A built-in tool, which the server does under another name."""
    schema = {"type": "object", "properties": {"value": {}}, "required": ["value"]}
    made = planned([tool_of("Live_Echo", schema)])
    return replace(made, tools=tuple(replace(tool, builtin="read") for tool in made.tools))


def test_results_are_typed_values(told: dict[str, Any]) -> None:
    assert told["greeting"] == {"words": ["hello Ada", "hello Ada"], "mood": "glad", "call": 1}
    assert told["echo"] == {"value": {"__proto__x": [1, None]}}
    assert told["pinned"] == ["hello Di"]


def test_built_in_tools_are_done_by_the_server(told: dict[str, Any]) -> None:
    """ADL-48: canonical in name and schema; here the work is a running Ferrule's."""
    assert told["remote"] == {"value": 1}
    assert json.loads(told["remoteTool"]) == {"value": [2]}


def test_errors_have_the_class_of_what_went_wrong(told: dict[str, Any]) -> None:
    assert told["denied"][:4] == [True, "permission_denied", False, True]
    assert "nobody may" in told["denied"][4]
    assert told["busy"] == [True, 1.5]
    assert told["broken"] == [True, "no reason"]
    assert told["invalid"] is True
    assert told["refused"] == [True, "invalid_token"]
    assert told["nowhere"] is True


def test_a_call_that_waits_for_a_person_is_told_apart(told: dict[str, Any]) -> None:
    assert told["pending"] == ["awaiting_approval", True]


def test_the_same_key_gives_the_same_call(told: dict[str, Any]) -> None:
    assert told["isSame"] is True
    assert told["conflict"] == [True, "idempotency_conflict"]


def test_progress_is_told(told: dict[str, Any]) -> None:
    assert told["counted"] == {"counted": 3}
    assert [round(each) for each in told["steps"]] == [33, 67, 100]


def test_an_abort_cancels_the_call_at_the_server_too(told: dict[str, Any], server: Live) -> None:
    assert told["canceled"] == [True, "enough"]
    assert told["early"] == [True, "before"]
    assert _state(server, told["canceledId"]) == "canceled"


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
