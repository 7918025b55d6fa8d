"""`ferrule check --fix`: shows, asks, writes whole files or nothing, and checks again."""

from __future__ import annotations

import os
import stat
from pathlib import Path

import pytest

from tests.cli.run import ferrule


@pytest.fixture
def dated(workspace: Path) -> Path:
    """A workspace whose tool has an unquoted version."""
    tool = workspace / "tools" / "send-reply.tool.md"
    tool.write_text(tool.read_text().replace('spec_version: "1.2"', "spec_version: 1.2  # the format"))
    return workspace


def test_diff_only_shows(dated: Path) -> None:
    tool = dated / "tools" / "send-reply.tool.md"
    before = tool.read_bytes()
    ran = ferrule("check", "--fix", "--diff", folder=dated)
    assert ran.code == 1
    assert '-spec_version: 1.2  # the format\n+spec_version: "1.2"  # the format\n' in ran.out
    assert tool.read_bytes() == before


def test_without_an_answer_nothing_is_written(dated: Path) -> None:
    tool = dated / "tools" / "send-reply.tool.md"
    before = tool.read_bytes()
    ran = ferrule("check", "--fix", folder=dated)
    assert ran.code == 2
    assert "--yes" in ran.err
    assert tool.read_bytes() == before


def test_yes_mends_and_checks_again(dated: Path) -> None:
    tool = dated / "tools" / "send-reply.tool.md"
    before = tool.read_text()
    tool.chmod(0o640)
    ran = ferrule("check", "--fix", "--yes", folder=dated)
    assert ran.code == 0, ran.out
    assert "no problems" in ran.out
    assert tool.read_text() == before.replace("spec_version: 1.2 ", 'spec_version: "1.2" ')
    assert stat.S_IMODE(tool.stat().st_mode) == 0o640
    assert os.listdir(tool.parent) == os.listdir(tool.parent)
    assert not [name for name in os.listdir(tool.parent) if name.startswith(".")]


def test_a_link_stays_a_link(dated: Path) -> None:
    tool = dated / "tools" / "send-reply.tool.md"
    real = dated / "elsewhere.txt"
    tool.rename(real)
    tool.symlink_to(real)
    assert ferrule("check", "--fix", "--yes", folder=dated).code == 0
    assert tool.is_symlink()
    assert 'spec_version: "1.2"' in real.read_text()


def test_ignored_and_suppressed_problems_are_left_alone(dated: Path) -> None:
    tool = dated / "tools" / "send-reply.tool.md"
    ran = ferrule("check", "--fix", "--yes", "--ignore", "AML-8", folder=dated)
    assert "nothing can be mended" in ran.err
    tool.write_text(tool.read_text().replace("# the format", "# ferrule: ignore[AML-8] read by an old parser too"))
    ran = ferrule("check", "--fix", "--yes", folder=dated)
    assert "nothing can be mended" in ran.err
    assert ran.code == 0


def test_a_clean_workspace_has_nothing_to_mend(workspace: Path) -> None:
    ran = ferrule("check", "--fix", "--yes", folder=workspace)
    assert ran.code == 0
    assert ran.err == "nothing can be mended\n"
