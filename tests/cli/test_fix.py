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


CLOCK = """\
{
    "items": [
        {
            "id": "Clock.Now@1.0.0",
            "name": "Clock_Now",
            "description": "Tells the time.",
            "version": "1.0.0",
            "input_schema": {"type": "object"},
            "output_schema": null
        }
    ]
}
"""
RECORD = """\
schema_version: "0.1.1"  # as it came
surface_id: desk
scope: session
"""


@pytest.fixture
def legacy(tmp_path: Path) -> Path:
    """A folder with definitions of a later OXP draft and of an earlier Agent Tool version."""
    (tmp_path / "clock.json").write_text(CLOCK)
    (tmp_path / "desk.yaml").write_bytes(RECORD.replace("\n", "\r\n").encode())
    return tmp_path


def test_json_and_yaml_are_shown_and_mended(legacy: Path) -> None:
    """OXP-49, AT-280"""
    ran = ferrule("check", ".", "--fix", "--diff", folder=legacy)
    assert ran.code == 1
    assert '-    "items": [\n+    "tools": [\n' in ran.out
    assert '-schema_version: "0.1.1"  # as it came\n+schema_version: "0.2.0"  # as it came\n' in ran.out
    assert "3 problems in 2 files can be mended" in ran.err
    assert (legacy / "clock.json").read_text() == CLOCK
    ran = ferrule("check", ".", "--fix", "--yes", folder=legacy)
    assert ran.code == 0, ran.out
    mended = CLOCK.replace('"items"', '"tools"').replace('{"type": "object"}', '{"parameters": {"type": "object"}}')
    assert (legacy / "clock.json").read_text() == mended
    assert (legacy / "desk.yaml").read_bytes() == RECORD.replace("0.1.1", "0.2.0").replace("\n", "\r\n").encode()
    assert ferrule("check", ".", "--fix", "--yes", folder=legacy).err == "nothing can be mended\n"


def test_compatibility_is_a_choice_for_fixes_too(legacy: Path) -> None:
    """OXP-49: accepted with a warning, and rewritten when asked."""
    assert ferrule("check", ".", "--compat", folder=legacy).code == 0
    assert ferrule("check", ".", "--compat", "--fix", "--yes", folder=legacy).code == 0
    assert ferrule("check", ".", "--strict", folder=legacy).code == 0


@pytest.mark.parametrize("code", ["OXP-49", "AT-280", "ADL-6", "AML-57"])
def test_the_page_of_a_rule_says_that_it_is_mended(code: str, tmp_path: Path) -> None:
    assert "ferrule check --fix" in ferrule("rule", code, folder=tmp_path).out
