"""Client stubs in Go call a running Ferrule."""

from __future__ import annotations

import json
import urllib.request
from pathlib import Path
from typing import Any

import pytest

from tests.cli.run import ferrule
from tests.definitions.stubs.languages.go.compiled_program import PROGRAMS, unformatted
from tests.definitions.stubs.languages.live import Live, live
from tests.definitions.stubs.languages.toolchains import Tool, go


@pytest.fixture(scope="module")
def told(tmp_path_factory: pytest.TempPathFactory) -> Any:
    """What a program with the stubs says after it has tried everything."""
    folder = tmp_path_factory.mktemp("client")
    with live(folder / "workspace") as server:
        stubs = folder / "stubs"
        made = ferrule("gen", "go", "--kind", "client", "--project", "--out", str(stubs), folder=server.folder)
        assert made.code == 0, made.err
        (stubs / "main.go").write_text((PROGRAMS / "calling.go").read_text())
        go().run("build", "-o", "calling", ".", cwd=stubs)
        said = json.loads(Tool((str(stubs / "calling"),), server.env).run(cwd=stubs, seconds=60))
        return said | {"state": _state(server, said["invocation"]), "folder": stubs}


def _state(server: Live, invocation: str) -> str:
    request = urllib.request.Request(
        f"{server.url}/v1/calls/{invocation}", headers={"Authorization": f"Bearer {server.token}", "Prefer": "wait=5"}
    )
    with urllib.request.urlopen(request, timeout=30) as answer:
        return str(json.load(answer)["state"])


def test_the_stubs_are_formatted_and_vetted(told: Any) -> None:
    folder: Path = told["folder"]
    assert unformatted(folder) == ""
    go().run("vet", "./...", cwd=folder)


def test_a_result_is_typed(told: Any) -> None:
    assert (told["greeted"], told["greet_error"], told["no_mood"]) == (["hello Ada"] * 2, "<nil>", True)
    assert (told["echo"], told["echo_error"]) == ({"value": [1, None, "x"]}, "<nil>")


def test_a_key_makes_a_call_happen_once(told: Any) -> None:
    assert told["calls"][1:] == [0, 1]


@pytest.mark.parametrize(
    "what", ["denied", "busy", "broken", "invalid", "pending", "stranger", "nowhere", "absent", "unencrypted"]
)
def test_each_failure_has_its_type(told: Any, what: str) -> None:
    assert told[what] is True


def test_the_end_of_a_context_cancels_the_call_at_ferrule_too(told: Any) -> None:
    assert told["canceled"] is True
    assert told["late"] is True
    assert told["state"] == "canceled"


def test_a_call_that_waits_can_be_taken_up_and_canceled(told: Any) -> None:
    assert (told["still_pending"], told["cancel_error"], told["taken_back"]) == (True, "<nil>", True)
    assert told["no_such_call"] is True


def test_progress_is_told(told: Any) -> None:
    assert told["steps"] == ["step 1 50", "step 2 100"]
    assert (told["counted"], told["count_error"]) == (2, "<nil>")


def test_what_all_tools_share_is_small(told: Any) -> None:
    support = (told["folder"] / "ferruleclient").glob("ferrule_*_gen.go")
    assert sum(path.read_text().count("\n") for path in support) <= 360
