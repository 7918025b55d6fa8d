"""`ferrule build`: what is told of a catalog that was made, and why none was."""

from __future__ import annotations

import json
import shutil
from pathlib import Path

import pytest
from click.testing import CliRunner, Result

from ferrule.cli import build
from ferrule.cli.build import KEY_VARIABLE, find_key_file


@pytest.fixture
def keyless(workspace: Path) -> Path:
    """The workspace as somebody has it who was never given a key."""
    shutil.rmtree(workspace / ".ferrule" / "keys")
    (workspace / "ferrule.pub").unlink()
    return workspace


def run(*words: str) -> Result:
    return CliRunner().invoke(build.command, words, standalone_mode=False)


def test_the_first_build_tells_of_its_key_and_the_second_does_not(keyless: Path) -> None:
    first, second = run(str(keyless)), run(str(keyless))
    assert first.return_value == second.return_value == 0
    assert "made a new key" in first.output and "ferrule.pub" in first.output
    assert "key" not in second.output and "5 tools, 1 agent, 1 role in" in second.output
    assert [line for line in first.output.splitlines() if line.startswith("digest ")] == [
        line for line in second.output.splitlines() if line.startswith("digest ")
    ]


def test_programs_get_the_same_as_json(keyless: Path) -> None:
    told = json.loads(run(str(keyless), "--format", "json").output)
    assert (told["tools"], told["agents"], told["is_newly_trusted"]) == (5, 1, True)
    assert told["new_key"].endswith("workspace.key") and told["digest"]


def test_definitions_with_errors_give_their_report_and_exit_with_1(broken: Path) -> None:
    ran = run(str(broken))
    assert ran.return_value == 1 and "send-reply.tool.md" in ran.output
    assert not (broken / ".ferrule" / "catalog.ferrule").exists()


def test_a_catalog_goes_to_the_file_that_is_named(workspace: Path, tmp_path: Path) -> None:
    assert run(str(workspace), "-o", str(tmp_path / "own.ferrule")).return_value == 0
    assert (tmp_path / "own.ferrule").exists() and not (workspace / ".ferrule" / "catalog.ferrule").exists()


def test_the_environment_names_another_key_and_an_empty_word_names_none(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv(KEY_VARIABLE, "")
    assert find_key_file() is None
    monkeypatch.setenv(KEY_VARIABLE, "/keys/own.key")
    assert find_key_file() == "/keys/own.key"
