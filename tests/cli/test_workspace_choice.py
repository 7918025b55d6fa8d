"""Commands that write into a workspace, in a folder that is none: nothing is written, and it is said what was perhaps meant."""

from __future__ import annotations

import shutil
from pathlib import Path

import pytest

from ferrule.cli.init import write_workspace
from tests.cli.run import ferrule
from tests.servers.local_server import running_process

WRITING = (
    ("key", "add", "bob"),
    ("key", "list"),
    ("key", "rotate", "1"),
    ("key", "revoke", "1"),
    ("console", "--no-open"),
    ("serve", "--port", "0"),
    ("serve", "--stdio"),
    ("serve", "--snippet", "curl"),
)


@pytest.mark.parametrize("words", WRITING, ids=" ".join)
def test_a_folder_that_is_no_workspace_is_left_as_it_is(tmp_path: Path, words: tuple[str, ...]) -> None:
    (tmp_path / "README.md").write_text("# Something else\n")
    ran = ferrule(*words, folder=tmp_path)
    assert (ran.code, ran.out) == (2, "")
    assert f"there is no workspace in {tmp_path}: neither a ferrule.toml nor a definition" in ran.err
    assert "--workspace DIR" in ran.err and "'ferrule init'" in ran.err and "did you mean" not in ran.err
    assert [file.name for file in tmp_path.iterdir()] == ["README.md"]


@pytest.mark.parametrize("words", [("key", "add", "bob"), ("serve", "--port", "0")], ids=" ".join)
@pytest.mark.parametrize("has_strays", [False, True], ids=["nothing else", "definitions with errors beside it"])
def test_the_one_workspace_below_is_named(tmp_path: Path, words: tuple[str, ...], has_strays: bool) -> None:
    write_workspace(tmp_path / "shop")
    if has_strays:
        shutil.copytree(tmp_path / "shop" / "tools", tmp_path / "examples")  # each is defined twice, seen from here
    else:
        for folder in ("tools", "agents", "iam"):
            shutil.rmtree(tmp_path / "shop" / folder)
    ran = ferrule(*words, folder=tmp_path)
    assert ran.code == 2 and "did you mean --workspace shop?" in ran.err
    assert not (tmp_path / ".ferrule").exists()


def test_a_bare_folder_with_a_definition_is_a_workspace(workspace: Path, tmp_path: Path) -> None:
    bare = tmp_path / "bare"
    bare.mkdir()
    shutil.copy(workspace / "tools" / "translate.json", bare)
    assert ferrule("key", "add", "bob", folder=bare).code == 0
    with running_process(bare) as server:
        assert ferrule("console", "--no-open", folder=bare).out.startswith(server.url)
