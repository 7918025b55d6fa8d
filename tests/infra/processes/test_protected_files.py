"""Folders that programs work in, and the files there that they must neither see nor make."""

from __future__ import annotations

import asyncio
import os
import shutil
from pathlib import Path

import pytest

from ferrule.contracts.executor import ExecutionFailed
from ferrule.infra.processes.protected_files import FolderRefused, open_covers, open_folder
from tests.infra.processes.recording import make_confinement, run_line, sandboxed
from tests.infra.processes.secret_workspace import write_secret_workspace
from tests.spec.running_app import run_async


@pytest.mark.parametrize("below", ["..", "../ws", "sub/../..", "/etc", "up", "link", "missing", "note.txt", "sub\0"])
@pytest.mark.parametrize("mode", ["required", "off"])
@run_async
async def test_a_working_folder_outside_is_refused(workspace: Path, below: str, mode: str) -> None:
    with pytest.raises(ExecutionFailed) as failed:
        await run_line("pwd", write_secret_workspace(workspace, working_dir=below, mode=mode))
    assert failed.value.error_class == "setup_required"


@pytest.mark.parametrize("below", ["", ".", "sub", "./sub/", "{root}/sub", "{root}"])
@pytest.mark.parametrize("mode", ["required", "off"])
@run_async
async def test_a_working_folder_inside_is_taken(workspace: Path, below: str, mode: str) -> None:
    given = write_secret_workspace(workspace, working_dir=below.replace("{root}", str(workspace)), mode=mode)
    expected = workspace / "sub" if "sub" in below else workspace
    assert (await run_line("pwd", given)).ended.output == f"{expected}\n"


@run_async
async def test_no_program_works_among_the_keys(workspace: Path) -> None:
    for below in (".ferrule", ".ferrule/keys"):
        with pytest.raises(ExecutionFailed) as failed:
            await run_line("ls", write_secret_workspace(workspace, working_dir=below))
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


@run_async
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
                await run_line("touch mark", write_secret_workspace(workspace, working_dir="a/b"))
            except ExecutionFailed as failed:
                assert failed.error_class == "setup_required"
    finally:
        stop = True
        await swapping
    assert not list(other.iterdir())


@run_async
async def test_protected_links_are_refused(workspace: Path) -> None:
    """What cannot be covered is not left open: a link could be replaced by the program."""
    (workspace / "policy.toml").symlink_to(workspace / "note.txt")
    with pytest.raises(ExecutionFailed, match="symbolic link"):
        await run_line("ls", write_secret_workspace(workspace))
    (workspace / "policy.toml").unlink()
    shutil.rmtree(workspace / "conf")
    (workspace / "conf").symlink_to(workspace / "sub")
    with pytest.raises(ExecutionFailed, match="conf"):
        await run_line("ls", write_secret_workspace(workspace))


def test_covers_reach_only_what_is_inside(tmp_path: Path) -> None:
    (tmp_path / "sub").mkdir()
    with open_folder(tmp_path, "sub") as folder:
        outside = (tmp_path / ".ferrule", Path("/etc/policy.toml"), tmp_path / "sub/../x.toml")
        with open_covers(folder, tmp_path, outside) as covers:
            assert covers.options == ()
        inner = (tmp_path / "sub/keys", tmp_path / "sub/keys/deep/x.key")
        with open_covers(folder, tmp_path, inner) as covers:
            assert covers.options == ("--tmpfs", f"{tmp_path}/sub/keys", "--remount-ro", f"{tmp_path}/sub/keys")


@pytest.mark.parametrize("root", ["/", "/usr", "/etc", "/proc/self", "/dev/shm"])
@run_async
async def test_parts_of_the_system_are_no_workspace(root: str) -> None:
    sandboxed()
    with pytest.raises(ExecutionFailed) as failed:
        await run_line("ls", make_confinement(Path(root)))
    assert failed.value.error_class == "setup_required"
