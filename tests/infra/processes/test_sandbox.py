"""The sandbox: what a confined program cannot see, change, reach or become."""

from __future__ import annotations

import asyncio
import os
import shutil
import socket
from pathlib import Path
from typing import Any

import pytest

from ferrule.contracts.executor import ExecutionFailed
from ferrule.infra.processes import confined, sandbox
from ferrule.infra.processes.programs import NoSuchProgram
from ferrule.infra.processes.protected_files import FolderRefused, covers_of, open_folder
from tests.infra.processes.surroundings import place, ran, sandboxed
from tests.spec.scene import played

SECRET = "top-secret-value"


@pytest.fixture
def workspace(tmp_path: Path) -> Path:
    """A workspace with keys, settings and a neighbour that must not be seen."""
    sandboxed()
    root = tmp_path / "ws"
    (root / ".ferrule/keys").mkdir(parents=True)
    (root / ".ferrule/keys/workspace.key").write_text(SECRET)
    (root / "ferrule.toml").write_text(f"# {SECRET}\n")
    (root / "sub").mkdir()
    (root / "note.txt").write_text("a note\n")
    (tmp_path / "outside.txt").write_text(SECRET)
    (root / "link").symlink_to(tmp_path / "outside.txt")
    (root / "up").symlink_to(tmp_path)
    return root


def guarded(root: Path, **said: Any) -> Any:
    names = (".ferrule", "ferrule.toml", "policy.toml", "conf/rules.toml")
    return place(root, protected=tuple(root / name for name in names), **said)


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
@played
async def test_nothing_secret_is_read(workspace: Path, line: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("STRIPE_KEY", SECRET)
    outside = workspace.parent / "outside.txt"
    words = line.replace("{outside}", str(outside)).replace("{pid}", str(os.getpid())).replace("{secret}", SECRET)
    words = words.replace("*", "\\*")
    try:
        finished = await ran(words, guarded(workspace, seconds=8.0))
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
@played
async def test_nothing_outside_is_changed(workspace: Path, line: str) -> None:
    outside = workspace.parent / "outside.txt"
    words = line.replace("{outside}", str(outside)).replace("{pid}", str(os.getpid()))
    finished = await ran(words, guarded(workspace))
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
@played
async def test_what_is_written_beside_the_workspace_goes_nowhere(workspace: Path, line: str) -> None:
    """Folders above it are the sandbox's own."""
    outside = workspace.parent / "outside.txt"
    await ran(line.replace("{outside}", str(outside)), guarded(workspace))
    assert outside.read_text() == SECRET
    assert sorted(path.name for path in workspace.parent.iterdir()) == ["outside.txt", "ws"]


@played
async def test_settings_of_the_kernel_are_read_only(workspace: Path) -> None:
    """Also where Ferrule runs as root. Opened for writing, never written: a sandbox that leaks must not harm the machine."""
    code = (
        "import os\nfound = []\nfor top, _, names in os.walk('/proc/sys'):\n for name in names:\n"
        "  try:\n   os.close(os.open(f'{top}/{name}', os.O_WRONLY))\n   found.append(f'{top}/{name}')\n"
        "  except OSError:\n   pass\nprint(found)"
    )
    assert (await ran(["python3", "-c", code], guarded(workspace))).ended.output == "[]\n"


@played
async def test_work_in_the_workspace_is_done(workspace: Path) -> None:
    given = guarded(workspace)
    assert (await ran("sh -c 'cat note.txt > sub/copy && mkdir new && mv sub/copy new/'", given)).ended.exit_code == 0
    made = workspace / "new/copy"
    assert made.read_text() == "a note\n"
    assert made.stat().st_uid == os.getuid()
    assert (await ran("git init -q .", given)).ended.exit_code == 0
    assert (await ran("git status -s", given)).ended.exit_code == 0


@played
async def test_only_the_working_folder_is_there(workspace: Path) -> None:
    given = guarded(workspace, working_dir="sub")
    assert (await ran("pwd", given)).ended.output == f"{workspace}/sub\n"
    assert (await ran("cat ../note.txt", given)).ended.exit_code != 0
    assert (await ran("touch here", given)).ended.exit_code == 0
    assert (workspace / "sub/here").exists()
    read_only = guarded(workspace, working_dir="sub", is_writable=False)
    assert (await ran("touch there", read_only)).ended.exit_code != 0


@played
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
        finished = await ran(["python3", "-c", code], guarded(workspace))
        assert "connected" not in finished.ended.output
        assert finished.ended.line_count == 2
        open_world = await ran(["python3", "-c", code], guarded(workspace, has_network=True))
        assert open_world.ended.output.count("connected") == 2


@played
async def test_it_has_no_privilege(workspace: Path) -> None:
    output = (await ran("cat /proc/self/status", guarded(workspace))).ended.output
    facts = dict(line.split(":\t", 1) for line in output.splitlines() if ":\t" in line)
    assert facts["NoNewPrivs"] == "1"
    assert {int(facts[name], 16) for name in ("CapInh", "CapPrm", "CapEff", "CapAmb")} == {0}
    assert facts["Uid"].split()[0] == "1000"
    assert (await ran("unshare -U true", guarded(workspace))).ended.exit_code != 0


@played
async def test_its_processes_are_its_own(workspace: Path) -> None:
    output = (await ran("ls /proc", guarded(workspace))).ended.output
    assert len([name for name in output.split() if name.isdigit()]) <= 3


@played
async def test_its_scratch_is_bounded_and_gone_afterwards(workspace: Path) -> None:
    given = guarded(workspace, scratch_bytes=1024 * 1024)
    finished = await ran("dd if=/dev/zero of=/tmp/big bs=1M count=5", given)
    assert finished.ended.exit_code != 0
    assert (await ran("dd if=/dev/zero of=/dev/shm/big bs=1M count=5", given)).ended.exit_code != 0
    assert (await ran("touch /tmp/mine", given)).ended.exit_code == 0
    assert (await ran("ls /tmp/mine", given)).ended.exit_code != 0


@played
async def test_a_program_outside_is_refused(workspace: Path) -> None:
    program = workspace.parent / "tool"
    program.write_text("#!/bin/sh\necho hi\n")
    program.chmod(0o755)
    with pytest.raises(ExecutionFailed) as failed:
        await ran([str(program)], guarded(workspace))
    assert failed.value.error_class == "sandbox_violation"
    inside = workspace / "tool"
    inside.write_text("#!/bin/sh\necho hi\n")
    inside.chmod(0o755)
    assert (await ran([str(inside)], guarded(workspace))).ended.output == "hi\n"


# Working folders


@pytest.mark.parametrize("below", ["..", "../ws", "sub/../..", "/etc", "up", "link", "missing", "note.txt", "sub\0"])
@pytest.mark.parametrize("mode", ["required", "off"])
@played
async def test_a_working_folder_outside_is_refused(workspace: Path, below: str, mode: str) -> None:
    with pytest.raises(ExecutionFailed) as failed:
        await ran("pwd", guarded(workspace, working_dir=below, mode=mode))
    assert failed.value.error_class == "setup_required"


@pytest.mark.parametrize("below", ["", ".", "sub", "./sub/", "{root}/sub", "{root}"])
@pytest.mark.parametrize("mode", ["required", "off"])
@played
async def test_a_working_folder_inside_is_taken(workspace: Path, below: str, mode: str) -> None:
    given = guarded(workspace, working_dir=below.replace("{root}", str(workspace)), mode=mode)
    expected = workspace / "sub" if "sub" in below else workspace
    assert (await ran("pwd", given)).ended.output == f"{expected}\n"


@played
async def test_no_program_works_among_the_keys(workspace: Path) -> None:
    for below in (".ferrule", ".ferrule/keys"):
        with pytest.raises(ExecutionFailed) as failed:
            await ran("ls", guarded(workspace, working_dir=below))
        assert failed.value.error_class == "setup_required"


def test_a_folder_swapped_for_a_link_changes_nothing(tmp_path: Path) -> None:
    """What was looked at is what is used, however often its name is given to something else."""
    root, other = tmp_path / "ws", tmp_path / "other"
    (root / "sub").mkdir(parents=True)
    other.mkdir()
    with open_folder(root, "sub") as folder:
        (root / "sub").rename(root / "was")
        (root / "sub").symlink_to(other)
        assert os.path.samefile(folder.handle, root / "was")
    with pytest.raises(FolderRefused), open_folder(root, "sub"):
        pass


@played
async def test_swapping_while_it_starts_gains_nothing(workspace: Path) -> None:
    """A link put in the folder's place between the look and the start: every run is inside, or refused."""
    (workspace / "a/b").mkdir(parents=True)
    other = workspace.parent / "other/b"
    other.mkdir(parents=True)
    stop = False

    def swap() -> None:
        while not stop:
            os.rename(workspace / "a", workspace / "a1")
            os.symlink(workspace.parent / "other", workspace / "a")
            os.unlink(workspace / "a")
            os.rename(workspace / "a1", workspace / "a")

    swapping = asyncio.get_running_loop().run_in_executor(None, swap)
    try:
        for _ in range(15):
            try:
                await ran("touch mark", guarded(workspace, working_dir="a/b"))
            except ExecutionFailed as failed:
                assert failed.error_class == "setup_required"
    finally:
        stop = True
        await swapping
    assert not list(other.iterdir())


@played
async def test_protected_links_are_refused(workspace: Path) -> None:
    """What cannot be covered is not left open: a link could be replaced by the program."""
    (workspace / "policy.toml").symlink_to(workspace / "note.txt")
    with pytest.raises(ExecutionFailed, match="symbolic link"):
        await ran("ls", guarded(workspace))
    (workspace / "policy.toml").unlink()
    shutil.rmtree(workspace / "conf")
    (workspace / "conf").symlink_to(workspace / "sub")
    with pytest.raises(ExecutionFailed, match="conf"):
        await ran("ls", guarded(workspace))


def test_covers_reach_only_what_is_inside(tmp_path: Path) -> None:
    (tmp_path / "sub").mkdir()
    with open_folder(tmp_path, "sub") as folder:
        outside = (tmp_path / ".ferrule", Path("/etc/policy.toml"), tmp_path / "sub/../x.toml")
        with covers_of(folder, tmp_path, outside) as covers:
            assert covers.options == ()
        inner = (tmp_path / "sub/keys", tmp_path / "sub/keys/deep/x.key")
        with covers_of(folder, tmp_path, inner) as covers:
            assert covers.options == ("--tmpfs", f"{tmp_path}/sub/keys", "--remount-ro", f"{tmp_path}/sub/keys")


@pytest.mark.parametrize("root", ["/", "/usr", "/etc", "/proc/self", "/dev/shm"])
@played
async def test_parts_of_the_system_are_no_workspace(root: str) -> None:
    sandboxed()
    with pytest.raises(ExecutionFailed) as failed:
        await ran("ls", place(Path(root)))
    assert failed.value.error_class == "setup_required"


# With and without


@pytest.fixture
def no_sandbox(monkeypatch: pytest.MonkeyPatch) -> None:
    """A machine without bubblewrap."""

    def missing() -> str:
        return "bubblewrap (bwrap) is not installed"

    missing.cache_info = lambda: type("Info", (), {"currsize": 1})  # type: ignore[attr-defined]  # as `cache` gives it
    monkeypatch.setattr(confined, "find_bubblewrap", missing)


@pytest.mark.usefixtures("no_sandbox")
@played
async def test_without_a_sandbox_nothing_runs_where_one_is_required(tmp_path: Path) -> None:
    with pytest.raises(ExecutionFailed) as failed:
        await ran("touch x", place(tmp_path))
    assert failed.value.error_class == "setup_required"
    assert "bubblewrap" in failed.value.message
    assert 'sandbox = "preferred"' in failed.value.message
    assert not (tmp_path / "x").exists()


@pytest.mark.usefixtures("no_sandbox")
@played
async def test_without_a_sandbox_it_runs_and_is_told_where_one_is_preferred(tmp_path: Path) -> None:
    finished = await ran("touch x", place(tmp_path, mode="preferred"))
    assert finished.sandbox == "none"
    assert "not installed" in finished.note
    assert (tmp_path / "x").exists()


@played
async def test_preferred_takes_the_sandbox_that_is_there(tmp_path: Path) -> None:
    sandboxed()
    assert (await ran("true", place(tmp_path, mode="preferred"))).sandbox == "bubblewrap"


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


@pytest.mark.parametrize("line", ["no-such-program", "cd /", "/usr", "/usr/bin/no-such-program", "export x"])
@played
async def test_what_is_no_program_is_refused(workspace: Path, line: str) -> None:
    with pytest.raises(ExecutionFailed) as failed:
        await ran(line, guarded(workspace))
    assert (failed.value.error_class, failed.value.code) == ("invalid_arguments", "no_such_program")
