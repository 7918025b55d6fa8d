"""The pre-commit hooks and the GitHub action run commands and options that exist."""

from __future__ import annotations

import re
from pathlib import Path

import pytest
import yaml

from ferrule.cli import COMMANDS
from tests import ROOT
from tests.cli.run import ferrule


def _hooks() -> list[dict[str, str]]:
    hooks: list[dict[str, str]] = yaml.safe_load((ROOT / ".pre-commit-hooks.yaml").read_text())
    return hooks


def test_hooks_name_real_commands() -> None:
    names = {name for name, *_ in COMMANDS}
    assert [hook["id"] for hook in _hooks()] == ["ferrule-check", "ferrule-diff"]
    assert all(hook["entry"].split()[1] in names for hook in _hooks())


@pytest.mark.parametrize("file", ["tools/a.tool.md", "agents/b.yaml", "c.yml", "tools/d.json", "ferrule.toml"])
def test_hooks_run_for_every_kind_of_definition(file: str) -> None:
    assert all(re.search(hook["files"], file) for hook in _hooks())
    assert not any(re.search(hook["files"], "src/main.py") for hook in _hooks())


def test_the_action_uses_options_the_command_has(tmp_path: Path) -> None:
    steps = yaml.safe_load((ROOT / "action.yml").read_text())["runs"]["steps"]
    script = next(step["run"] for step in steps if step.get("name") == "ferrule check")
    options = set(re.findall(r"(?<![\w-])--[a-z]+", script))
    known = ferrule("check", "--help", folder=tmp_path).out
    assert {"--strict", "--format", "--output"} <= options
    assert all(option in known for option in options)


def test_the_action_never_puts_inputs_into_a_script() -> None:
    for step in yaml.safe_load((ROOT / "action.yml").read_text())["runs"]["steps"]:
        assert "${{" not in step.get("run", "")
