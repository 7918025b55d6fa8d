"""`ferrule init`: what it writes is right, readable, and never in the way of what is there."""

from __future__ import annotations

import errno
import json
import stat
import subprocess
import tomllib
from pathlib import Path

import msgspec
import pytest

from ferrule.cli.init import FILES, write_workspace
from ferrule.errors import WorkspaceError
from ferrule.settings import Settings
from tests.cli.run import ferrule


def test_a_new_workspace_checks_clean_in_every_dialect(tmp_path: Path) -> None:
    ran = ferrule("init", "mine", folder=tmp_path)
    assert ran.code == 0
    assert all(name in ran.out for name in FILES)
    assert "  ferrule serve\n" in ran.out
    report = json.loads(ferrule("check", "--strict", "--format", "json", folder=tmp_path / "mine").out)
    assert report["diagnostics"] == []
    assert report["summary"]["tools"] == 5
    listed = json.loads(ferrule("list", "--json", folder=tmp_path / "mine").out)
    assert {tool["dialect"] for tool in listed} == {"aml", "adl", "oxp", "agent_tool"}
    assert not any(tool["errors"] for tool in listed)


def test_its_tools_can_be_called_at_once(workspace: Path) -> None:
    found = ferrule("call", "find-customer", "--email", "ana@example.org", folder=workspace)
    assert (found.code, json.loads(found.out)["name"]) == (0, "Ana Ferreira")
    assert ferrule("call", "working_hours", "--country", "PT", folder=workspace).out == "9 to 17\n"
    mail = ("--to", "ana@example.org", "--subject", "Hello", "--body", "Solved.")
    waiting = ferrule("call", "send-reply", *mail, "--agent", "support", folder=workspace)
    assert waiting.code == 3, waiting.err
    sent = ferrule("approve", "inv_", folder=workspace)
    assert (sent.code, "sample-1" in sent.out) == (0, True), sent.err
    pressed = ferrule("call", "send-reply", "--to", "a@press.example", *mail[2:], folder=workspace)
    assert pressed.code == 1
    assert "no-mail-to-the-press" in pressed.err
    told = ferrule("explain", "last", folder=workspace)
    assert "no-mail-to-the-press" in told.out


def test_every_rule_shown_in_a_comment_is_a_real_one(workspace: Path) -> None:
    policy = workspace / "policy.toml"
    lines = policy.read_text().split("\n")
    shown = (line.removeprefix("# ") for line in lines if not line.startswith("# ") or "[" in line or " = " in line)
    policy.write_text("\n".join(shown))
    ran = ferrule("check", "--strict", folder=workspace)
    assert ran.code == 0, ran.out + ran.err


def test_existing_files_are_never_touched(tmp_path: Path) -> None:
    (tmp_path / "tools").mkdir()
    mine = tmp_path / "tools" / "send-reply.tool.md"
    mine.write_text("mine")
    ran = ferrule("init", folder=tmp_path)
    assert ran.code == 2
    assert "send-reply.tool.md exists already" in ran.err
    assert sorted(path.name for path in tmp_path.rglob("*")) == ["send-reply.tool.md", "tools"]
    assert mine.read_text() == "mine"


def test_the_key_is_private_and_ignored_by_git_while_releases_are_kept(tmp_path: Path) -> None:
    ferrule("init", folder=tmp_path)
    key = tmp_path / ".ferrule" / "keys" / "workspace.key"
    assert stat.S_IMODE(key.stat().st_mode) == 0o600
    release = tmp_path / ".ferrule" / "releases" / "one.json"
    release.parent.mkdir()
    release.write_text("{}")
    (tmp_path / ".env").write_text("KEY=secret")
    subprocess.run(["git", "init", "-q"], cwd=tmp_path, check=True)
    added = subprocess.run(["git", "add", "-An", "."], cwd=tmp_path, check=True, capture_output=True, text=True).stdout
    assert "releases/one.json" in added
    assert "ferrule.pub" in added
    assert "keys" not in added
    assert ".env" not in added


def test_a_new_workspace_can_be_built_and_published(workspace: Path) -> None:
    assert ferrule("build", folder=workspace).code == 0
    assert ferrule("publish", "-m", "first", folder=workspace).code == 0
    assert ferrule("diff", folder=workspace).code == 0


def test_every_setting_shown_in_a_comment_is_a_real_one(workspace: Path) -> None:
    text = (workspace / "ferrule.toml").read_text()
    lines = []
    for line in text.split("\n"):
        shown = line.removeprefix("# ")
        is_setting = line.startswith("#") and (shown.startswith("[") or " = " in shown)
        lines.append(shown if is_setting else line)
    settings = msgspec.convert(tomllib.loads("\n".join(lines)), Settings)
    assert settings.check.suppress[0].rule == "AML-13"
    assert settings.aml.approved_versions == Settings().aml.approved_versions
    assert (settings.serve.host, settings.serve.port) == (Settings().serve.host, Settings().serve.port)
    assert settings.serve.public_url.startswith("https://")
    assert set(settings.mcp.servers) == {"github", "crm"}
    defaults = ("secrets", "rest", "database", "queue", "human", "cache")
    assert all(getattr(settings, table) == getattr(Settings(), table) for table in defaults)


def test_the_namespace_outlives_a_clone_under_another_name(tmp_path: Path) -> None:
    ferrule("init", 'my "tools"', folder=tmp_path)
    ferrule("publish", 'my "tools"', folder=tmp_path)
    clone = tmp_path / "elsewhere"
    (tmp_path / 'my "tools"').rename(clone)
    assert tomllib.loads((clone / "ferrule.toml").read_text())["namespace"] == 'my "tools"'
    assert "no tool changed" in ferrule("diff", folder=clone).out
    (clone / "ferrule.toml").unlink()
    ran = ferrule("diff", folder=clone)
    assert "changed: namespace" in ran.out
    assert "set `namespace` in ferrule.toml to 'my \"tools\"' again" in ran.out


def test_a_workspace_that_cannot_be_written_whole_is_not_begun(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def full(path: object) -> bytes:
        raise OSError(errno.ENOSPC, "No space left on device")

    monkeypatch.setattr("ferrule.cli.init.make_key", full)
    with pytest.raises(WorkspaceError, match=r"workspace\.key: No space left on device"):
        write_workspace(tmp_path)
    assert not any(path.is_file() for path in tmp_path.rglob("*"))
