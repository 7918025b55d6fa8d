"""Files checked by a process of the pool: each with its findings, its state and the digest of what was read."""

from __future__ import annotations

from pathlib import Path

import msgspec

from ferrule.definitions.compiler.cache import digest_of
from ferrule.definitions.compiler.pool import FileTask
from ferrule.workspace.check_pool import CheckedFile, check_tasks, decode
from ferrule.workspace.workspace import Workspace


def checked(folder: Path, name: str) -> CheckedFile:
    task = FileTask(str(folder / name), name, True, True)
    (found,) = check_tasks([task], Workspace.open(folder).rule_settings())
    return found


def test_a_file_comes_with_its_findings_and_the_digest_of_its_bytes(tmp_path: Path) -> None:
    (tmp_path / "a.tool.md").write_bytes(b"---\ntool_id: a\n---\n")
    found = checked(tmp_path, "a.tool.md")
    assert found.digest == digest_of(b"---\ntool_id: a\n---\n")
    assert found.report.file == "a.tool.md" and found.report.diagnostics and found.stat is not None


def test_a_file_that_is_gone_has_no_state_to_know_it_again_by(tmp_path: Path) -> None:
    found = checked(tmp_path, "gone.tool.md")
    assert found.stat is None and found.report.diagnostics


def test_an_answer_is_read_as_it_was_written(tmp_path: Path) -> None:
    (tmp_path / "a.tool.md").write_bytes(b"---\ntool_id: a\n---\n")
    answers = [(7, checked(tmp_path, "a.tool.md"))]
    assert decode(msgspec.msgpack.encode(answers)) == answers
