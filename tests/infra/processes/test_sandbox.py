"""The sandbox: what a confined program cannot see, change, reach or become."""

from __future__ import annotations

import os
import socket
from pathlib import Path

import pytest

from ferrule.contracts.executor import ExecutionFailed
from ferrule.infra.processes import sandbox
from ferrule.infra.processes.programs import NoSuchProgram
from tests.infra.processes.recording import run_line
from tests.infra.processes.secret_workspace import SECRET, write_secret_workspace
from tests.spec.running_app import run_async

READS = [
    "cat .ferrule/keys/workspace.key", "cat ferrule.toml", "cat link", "cat up/outside.txt", "cat ../outside.txt",
    "cat {outside}", "cat /proc/1/root{outside}", "cat /proc/self/root{outside}", "cat /proc/self/cwd/../outside.txt",
    "cat /proc/{pid}/environ", "cat /proc/1/environ", "cat /proc/2/environ", "cat /proc/{pid}/cmdline", "cat /etc/shadow",
    "cat /etc/hostname", "cat /root/.bashrc", "ls /home /root /var /run /sys /boot /mnt", "cat /proc/kcore",
    "cp -r . /tmp/copy", "find / -name workspace.key -print -exec cat '{}' ';'", "grep -rs {secret} / --include=*.key",
    "cat /proc/self/fd/3 /proc/self/fd/4 /proc/self/fd/5 /proc/1/fd/3", "git config --system -l", "dmesg",
    "python3 -c 'print(open(\"{outside}\").read())'",
    "nsenter -t 1 -m cat {outside}", "unshare -Ur cat {outside}", "chroot /proc/1/root cat {outside}",
    "mount --bind /proc/1/root /tmp", "umount -l .ferrule", "umount ferrule.toml",
    "sh -c 'umount -l .ferrule; cat .ferrule/keys/workspace.key'", "sudo cat {outside}", "su -c id",
]  # fmt: skip


@pytest.mark.parametrize("line", READS)
@run_async
async def test_nothing_secret_is_read(workspace: Path, line: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("STRIPE_KEY", SECRET)
    outside = workspace.parent / "outside.txt"
    words = line.replace("{outside}", str(outside)).replace("{pid}", str(os.getpid())).replace("{secret}", SECRET)
    words = words.replace("*", "\\*")
    try:
        finished = await run_line(words, write_secret_workspace(workspace, seconds=8.0))
    except ExecutionFailed as failed:
        assert failed.error_class == "invalid_arguments"
        return
    assert SECRET not in finished.ended.output
    assert finished.ended.is_gone


WRITES = [
    "touch /x", "touch /usr/x", "touch /etc/x", "touch /dev/x", "touch .ferrule/x",
    "cp note.txt ferrule.toml", "cp note.txt policy.toml", "mv ferrule.toml x", "rm -rf .ferrule", "rm -f ferrule.toml",
    "mv .ferrule x", "mv conf x", "rm -rf conf", "cp note.txt conf/rules.toml", "ln -sf note.txt ferrule.toml",
    "mkdir -p .ferrule/keys", "cp /dev/null /proc/sysrq-trigger", "cp /dev/null /proc/self/oom_score_adj",
    "cp /dev/null /proc/sys/kernel/core_pattern", "cp /dev/null /proc/sys/vm/drop_caches",
    "mknod /tmp/d b 8 0", "mount -t tmpfs x /mnt", "hostname x",
    "python3 -c 'open(\"ferrule.toml\",\"w\")'", "kill -9 {pid}", "chown 0 note.txt", "chmod u+s /usr/bin/env",
]  # fmt: skip


@pytest.mark.parametrize("line", WRITES)
@run_async
async def test_nothing_outside_is_changed(workspace: Path, line: str) -> None:
    outside = workspace.parent / "outside.txt"
    words = line.replace("{outside}", str(outside)).replace("{pid}", str(os.getpid()))
    finished = await run_line(words, write_secret_workspace(workspace))
    assert finished.ended.exit_code != 0
    assert (workspace / "ferrule.toml").read_text() == f"# {SECRET}\n"
    assert (workspace / ".ferrule/keys/workspace.key").read_text() == SECRET
    assert sorted(path.name for path in (workspace / ".ferrule").iterdir()) == ["keys"]
    assert outside.read_text() == SECRET
    assert sorted(path.name for path in workspace.parent.iterdir()) == ["outside.txt", "ws"]
    assert (workspace / "policy.toml").read_text() == ""
    assert (workspace / "conf/rules.toml").read_text() == ""
    assert (workspace / "conf").is_dir()


@pytest.mark.parametrize("line", ["cp note.txt {outside}", "cp note.txt ../x", "cp note.txt link", "cp note.txt up/x"])
@run_async
async def test_what_is_written_beside_the_workspace_goes_nowhere(workspace: Path, line: str) -> None:
    """Folders above it are the sandbox's own."""
    outside = workspace.parent / "outside.txt"
    await run_line(line.replace("{outside}", str(outside)), write_secret_workspace(workspace))
    assert outside.read_text() == SECRET
    assert sorted(path.name for path in workspace.parent.iterdir()) == ["outside.txt", "ws"]


@run_async
async def test_settings_of_the_kernel_are_read_only(workspace: Path) -> None:
    """Also where Ferrule runs as root. Opened for writing, never written: a sandbox that leaks must not harm the machine."""
    code = (
        "import os\nfound = []\nfor top, _, names in os.walk('/proc/sys'):\n for name in names:\n"
        "  try:\n   os.close(os.open(f'{top}/{name}', os.O_WRONLY))\n   found.append(f'{top}/{name}')\n"
        "  except OSError:\n   pass\nprint(found)"
    )
    assert (await run_line(["python3", "-c", code], write_secret_workspace(workspace))).ended.output == "[]\n"


@run_async
async def test_work_in_the_workspace_is_done(workspace: Path) -> None:
    given = write_secret_workspace(workspace)
    assert (
        await run_line("sh -c 'cat note.txt > sub/copy && mkdir new && mv sub/copy new/'", given)
    ).ended.exit_code == 0
    made = workspace / "new/copy"
    assert made.read_text() == "a note\n"
    assert made.stat().st_uid == os.getuid()
    assert (await run_line("git init -q .", given)).ended.exit_code == 0
    assert (await run_line("git status -s", given)).ended.exit_code == 0


@run_async
async def test_only_the_working_folder_is_there(workspace: Path) -> None:
    given = write_secret_workspace(workspace, working_dir="sub")
    assert (await run_line("pwd", given)).ended.output == f"{workspace}/sub\n"
    assert (await run_line("cat ../note.txt", given)).ended.exit_code != 0
    assert (await run_line("touch here", given)).ended.exit_code == 0
    assert (workspace / "sub/here").exists()
    read_only = write_secret_workspace(workspace, working_dir="sub", is_writable=False)
    assert (await run_line("touch there", read_only)).ended.exit_code != 0


@run_async
async def test_there_is_no_network(workspace: Path) -> None:
    """Not even this machine: neither its ports nor its abstract sockets."""
    with socket.create_server(("127.0.0.1", 0)) as server, socket.socket(socket.AF_UNIX) as local:
        port = server.getsockname()[1]
        local.bind(f"\0ferrule-{os.getpid()}")
        local.listen()
        code = (
            "import socket,sys\n"
            f"for kind, to in ((socket.AF_INET, ('127.0.0.1', {port})), (socket.AF_UNIX, '\\0ferrule-{os.getpid()}')):\n"
            " try:\n  s = socket.socket(kind)\n  s.settimeout(1)\n  s.connect(to)\n  print('connected')\n"
            " except OSError as e:\n  print(type(e).__name__)"
        )
        finished = await run_line(["python3", "-c", code], write_secret_workspace(workspace))
        assert "connected" not in finished.ended.output
        assert finished.ended.line_count == 2
        open_world = await run_line(["python3", "-c", code], write_secret_workspace(workspace, has_network=True))
        assert open_world.ended.output.count("connected") == 2


@run_async
async def test_it_has_no_privilege(workspace: Path) -> None:
    output = (await run_line("cat /proc/self/status", write_secret_workspace(workspace))).ended.output
    facts = dict(line.split(":\t", 1) for line in output.splitlines() if ":\t" in line)
    assert facts["NoNewPrivs"] == "1"
    assert {int(facts[name], 16) for name in ("CapInh", "CapPrm", "CapEff", "CapAmb")} == {0}
    assert facts["Uid"].split()[0] == "1000"
    assert (await run_line("unshare -U true", write_secret_workspace(workspace))).ended.exit_code != 0


@run_async
async def test_its_processes_are_its_own(workspace: Path) -> None:
    output = (await run_line("ls /proc", write_secret_workspace(workspace))).ended.output
    assert len([name for name in output.split() if name.isdigit()]) <= 3


@run_async
async def test_its_scratch_is_bounded_and_gone_afterwards(workspace: Path) -> None:
    given = write_secret_workspace(workspace, scratch_bytes=1024 * 1024)
    finished = await run_line("dd if=/dev/zero of=/tmp/big bs=1M count=5", given)
    assert finished.ended.exit_code != 0
    assert (await run_line("dd if=/dev/zero of=/dev/shm/big bs=1M count=5", given)).ended.exit_code != 0
    assert (await run_line("touch /tmp/mine", given)).ended.exit_code == 0
    assert (await run_line("ls /tmp/mine", given)).ended.exit_code != 0


@pytest.mark.parametrize(
    ("script", "said"),
    [
        ("echo 'No permissions to create new namespace' >&2; exit 1", "No permissions"),
        ("case \"$*\" in *--ro-bind-fd*) echo 'Unknown option --ro-bind-fd' >&2; exit 1;; esac", "--ro-bind-fd"),
        ("exit 7", "exit code 7"),
    ],
)
def test_a_sandbox_that_does_not_work_is_none(
    tmp_path: Path, script: str, said: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    """User namespaces forbidden, or a bubblewrap that is too old."""
    program = tmp_path / "bwrap"
    program.write_text(f"#!/bin/sh\n{script}\n")
    program.chmod(0o755)
    monkeypatch.setattr(sandbox, "find_program", lambda _: str(program))
    found = sandbox.find_bubblewrap.__wrapped__()
    assert isinstance(found, str)
    assert said in found


def test_a_sandbox_may_be_missing(monkeypatch: pytest.MonkeyPatch) -> None:
    def missing(_: str) -> str:
        raise NoSuchProgram("bwrap")

    monkeypatch.setattr(sandbox, "find_program", missing)
    assert sandbox.find_bubblewrap.__wrapped__() == "bubblewrap (bwrap) is not installed"
