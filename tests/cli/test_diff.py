"""`ferrule build`, `publish` and `diff` when something is wrong with what they are given."""

from __future__ import annotations

import json
import shutil
import subprocess
from pathlib import Path

import pytest

from tests.cli.run import ferrule

CATALOG = ".ferrule/catalog.ferrule"


@pytest.mark.parametrize("damage", [b"", b"hello", b"\xff" * 4000], ids=["empty", "text", "noise"])
def test_a_damaged_catalog_is_never_taken_for_definitions(damage: bytes, workspace: Path) -> None:
    ferrule("build", folder=workspace)
    (workspace / CATALOG).write_bytes(damage)
    for sides in ((CATALOG, "."), (CATALOG,), (".", CATALOG)):
        ran = ferrule("diff", *sides, folder=workspace)
        assert ran.code == 2, ran.out
        assert "catalog.ferrule" in ran.err


def test_a_named_file_without_definitions_cannot_be_compared(workspace: Path) -> None:
    ran = ferrule("diff", "ferrule.toml", ".", folder=workspace)
    assert ran.code == 2
    assert ran.err == "ferrule: ferrule.toml holds no definition that can be read; see 'ferrule check'\n"


def test_an_output_file_gets_all_that_the_terminal_would(workspace: Path) -> None:
    ferrule("publish", folder=workspace)
    tool = workspace / "tools" / "send-reply.tool.md"
    tool.write_text(tool.read_text().replace("Sends an answer", "Sends a kind answer"))
    shown = ferrule("diff", folder=workspace)
    written = ferrule("diff", "-o", "changes.txt", folder=workspace)
    assert (written.code, written.out) == (shown.code, "")
    text = (workspace / "changes.txt").read_text()
    assert text.split("\n")[:-2] == shown.out.split("\n")[:-2]  # all but the seconds
    assert "~ send-reply" in text


def test_a_revision_without_git_says_so(workspace: Path, tmp_path: Path) -> None:
    ran = ferrule("diff", "HEAD", folder=workspace, environment={"PATH": str(tmp_path)})
    assert ran.code == 2
    assert ran.err.endswith("and Git is not installed\n")


def test_a_key_is_never_trusted_without_a_word(workspace: Path) -> None:
    assert "ferrule.pub" not in ferrule("publish", folder=workspace).out
    shutil.rmtree(workspace / ".ferrule" / "keys")
    lines = ferrule("publish", folder=workspace).out.split("\n")
    assert lines[0].startswith("made a new key, .ferrule/keys/workspace.key")
    assert lines[1].startswith("added the key's public half to ferrule.pub")
    assert lines[2].startswith("nothing to publish")
    listed = workspace / "ferrule.pub"
    listed.write_text("\n".join(listed.read_text().split("\n")[:2]) + "\n")  # the second key is taken back
    assert json.loads(ferrule("build", "--format", "json", folder=workspace).out)["is_newly_trusted"] is True


def test_a_release_record_that_cannot_be_read_is_no_traceback(workspace: Path) -> None:
    (workspace / ".ferrule" / "releases" / "0001.json").mkdir(parents=True)
    ran = ferrule("diff", folder=workspace)
    assert ran.code == 2
    assert "0001.json cannot be read: Is a directory" in ran.err


def test_a_candidate_that_cannot_be_read_does_not_pass(workspace: Path) -> None:
    ferrule("publish", folder=workspace)
    (workspace / "tools" / "send-reply.tool.md").write_text("---\ntool_id: [\n---\n")
    ran = ferrule("diff", folder=workspace)
    assert ran.code == 1
    assert ran.err.startswith("ferrule: tools/send-reply.tool.md cannot be read, so it was not compared")


def test_everything_is_new_against_a_revision_from_before_the_workspace(workspace: Path) -> None:
    def git(*words: str) -> None:
        who = ("-c", "user.name=Ada", "-c", "user.email=ada@example.com")
        subprocess.run(["git", *who, *words], cwd=workspace.parent, check=True, capture_output=True)

    git("init", "--initial-branch", "main")
    git("commit", "--allow-empty", "-m", "nothing yet")
    ran = ferrule("diff", "main", folder=workspace)
    assert ran.code == 0, ran.err
    assert ran.out.startswith("from main (which has no tools-of-ours) to .:\n\n+ ")
    assert ferrule("diff", "main:./tools", folder=workspace).code == 2
    assert ferrule("diff", "mane", folder=workspace).code == 2


@pytest.mark.parametrize("command", ["build", "publish"])
def test_a_folder_without_definitions_is_left_as_it_is(command: str, tmp_path: Path) -> None:
    ran = ferrule(command, folder=tmp_path)
    assert ran.code == 2
    assert ran.err.startswith("ferrule: there are no definitions in ")
    assert not [*tmp_path.iterdir()]
