"""Attempts to get more out of `bash` than one plain command in its folder: each is refused or comes to nothing, and is on
record."""

from __future__ import annotations

import os
from pathlib import Path

import pytest

from ferrule.model.story import Story
from tests.runtime.builtins.bash.test_bash import bash, failed, ops, value
from tests.spec.running_app import run_async

SECRET = "top-secret-value"

REFUSED = [
    "ls; rm -rf .", "ls && rm x", "ls || rm x", "ls | sh", "ls & rm x", "ls\nrm x", "ls\r\nrm x", "ls $(id)", "ls `id`",
    'ls "$(id)"', 'ls "`id`"', "ls ${IFS}x", "ls $IFS", "ls$IFS-l", "$0", "$SHELL -c id", "ls > /etc/passwd", "ls >> x",
    "ls 2>&1", "cat < /etc/shadow", "cat <(id)", "cat << E\nx\nE", "LD_PRELOAD=/tmp/x.so ls", "PATH=. ls",
    "BASH_ENV=/tmp/x ls", "IFS=/ ls", "ls *", "ls ?", "ls [a-z]", "ls {a,b}", "cat ~/.ssh/id_rsa", "ls #", "(ls)",
    "{ ls; }", "ls() { id; }", "!! ls |", "ls 'x", 'ls "x', "ls \\", "ls\0rm", "ls \x1b]0;x\x07", "ls \u202e", "coproc ls |",
    "if true; then id; fi", "for x in a; do id; done", "exec 3<>/dev/tcp/127.0.0.1/80", "eval $x", "ls $'\\x3b'", "ls $((1))",
]  # fmt: skip
NOT_LISTED = [
    "env LD_PRELOAD=/tmp/x.so ls", "env -i sh", "sh -c ls", "bash -c ls", "busybox ls", "xargs ls", "./ls", "/tmp/ls",
    "../ls", "/proc/self/exe", "lsx", "L's'", "sudo ls", "command ls", "exec ls", ". ls", "timeout 1 ls", "ls/../sh", "'ls '",
    "'ls -l'", "find . -exec id", "git -c alias.x=sh x",
]  # fmt: skip
FRUITLESS = [
    "cat {secret}", "cat link", "cat up/outside.txt", "cat ../outside.txt", "cat .ferrule/keys/workspace.key", "cat ferrule.toml",
    "cat /proc/1/environ", "cat /proc/self/environ", "cat /proc/{pid}/environ", "cat /proc/1/root{secret}",
    "cat /proc/self/root{secret}", "cat /proc/self/cwd/../outside.txt", "cat /proc/{pid}/root{secret}", "cat /etc/shadow",
    "cat /proc/{pid}/cwd/pyproject.toml", "cat /dev/mem", "cat /proc/kcore", "ls /root", "ls /home", "ls /run", "cat /sys/kernel",
]  # fmt: skip


@pytest.fixture
def workspace(tmp_path: Path) -> Path:
    """A workspace with something to protect in it and beside it."""
    root = tmp_path / "ws"
    (root / ".ferrule/keys").mkdir(parents=True)
    (root / ".ferrule/keys/workspace.key").write_text(SECRET)
    (root / "ferrule.toml").write_text(f"# {SECRET}\n")
    (root / "x").write_text("stays")
    (tmp_path / "outside.txt").write_text(SECRET)
    (root / "link").symlink_to(tmp_path / "outside.txt")
    (root / "up").symlink_to(tmp_path)
    for name in ("ls", "id"):
        (root / name).write_text("#!/bin/sh\ntouch planted\n")
        (root / name).chmod(0o755)
    return root


def untouched(root: Path) -> None:
    """Nothing was removed, added or changed."""
    assert (root / "x").read_text() == "stays"
    assert not (root / "planted").exists()
    assert (root / "ferrule.toml").read_text() == f"# {SECRET}\n"
    assert (root / ".ferrule/keys/workspace.key").read_text() == SECRET
    assert sorted(path.name for path in root.parent.iterdir()) == ["outside.txt", "ws"]


@run_async
async def test_tricks_of_the_shell_are_refused_and_recorded(workspace: Path) -> None:
    """ADL-25: whether there is a whitelist or not, and before anybody is asked."""
    for whitelist in (["ls"], []):
        async with ops(workspace, whitelist=whitelist) as app:
            for line in REFUSED:
                result = await bash(app, line)
                assert failed(result) == ("invalid_arguments", "shell_syntax"), line
                story = Story(await app.store.rows_of(result.invocation_id))
                assert story.result_status == "failed", line
                assert "execute" not in [run.phase for run in story.phases if run.is_run], line
    untouched(workspace)


@run_async
async def test_other_ways_to_a_program_are_not_on_the_whitelist(workspace: Path) -> None:
    async with ops(workspace, whitelist=["ls", "git status"]) as app:
        for line in NOT_LISTED:
            result = await bash(app, line)
            assert failed(result)[0] in ("sandbox_violation", "invalid_arguments"), line
            story = Story(await app.store.rows_of(result.invocation_id))
            assert "execute" not in [run.phase for run in story.phases if run.is_run], line
    untouched(workspace)


@run_async
async def test_a_program_in_the_workspace_is_not_taken_for_the_systems(workspace: Path) -> None:
    async with ops(workspace, {"PATH": str(workspace)}) as app:
        assert "link" in value(await bash(app, "ls"))["output"]
        assert failed(await bash(app, "./ls"))[0] == "invalid_arguments"
    untouched(workspace)


@run_async
async def test_nothing_secret_comes_out(workspace: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Environment, /proc, links, neighbours, keys: the command runs, and finds nothing."""
    monkeypatch.setenv("STRIPE_KEY", SECRET)
    outside = str(workspace.parent / "outside.txt")
    async with ops(workspace, {"STRIPE_KEY": SECRET}) as app:
        for line in FRUITLESS:
            result = await bash(app, line.replace("{secret}", outside).replace("{pid}", str(os.getpid())))
            assert SECRET not in str(result.to_record()), line
            if "environ" not in line:
                assert value(result)["exit_code"] != 0, line
            assert Story(await app.store.rows_of(result.invocation_id)).result_status == "succeeded"
    untouched(workspace)


@run_async
async def test_the_policy_cannot_be_loosened_from_inside(workspace: Path) -> None:
    """Settings and policy are covered, and where there are none yet, none can be made."""
    (workspace / "ferrule.toml").unlink()
    async with ops(workspace) as app:
        for name in ("ferrule.toml", "policy.toml", ".ferrule/policy.local.toml"):
            result = await bash(app, f"cp x {name}")
            assert value(result)["exit_code"] != 0
            result = await bash(app, f"ln -sf x {name}")
            assert value(result)["exit_code"] != 0
    assert (workspace / "ferrule.toml").read_text() == ""
    assert (workspace / "policy.toml").read_text() == ""
    assert not (workspace / ".ferrule/policy.local.toml").exists()
