"""`ferrule completion`: a script for each shell, and the commands, options, rules and tools it offers."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.cli.completing import offered
from tests.cli.run import ferrule


@pytest.mark.parametrize("shell", ["bash", "zsh", "fish"])
def test_completion_prints_a_script_for_each_shell(shell: str, tmp_path: Path) -> None:
    ran = ferrule("completion", shell, folder=tmp_path)
    assert ran.code == 0
    assert f"_FERRULE_COMPLETE={shell}_complete" in ran.out


def test_completion_completes_commands_options_rules_and_tools(workspace: Path) -> None:
    assert offered(workspace, "ferrule ch") == ["check"]
    assert "--format" in offered(workspace, "ferrule check --f")
    assert offered(workspace, "ferrule check --format sa") == ["sarif"]
    assert "FER-4" in offered(workspace, "ferrule rule FER")
    for words in ("show", "call", "disable", "enable", "policy explain"):
        assert offered(workspace, f"ferrule {words} send") == ["send-reply"], words
