"""The ids of calls that a shell completes: the newest first, nothing written, and silence where there is nothing to read."""

from __future__ import annotations

import json
import shutil
import sqlite3
from contextlib import closing
from pathlib import Path

from tests.cli.completing import offered
from tests.cli.run import ferrule


def test_completion_completes_the_ids_of_calls(workspace: Path) -> None:
    (workspace / "policy.toml").write_text(
        '[[rules]]\nid = "look"\ndecision = "allow"\ntool = "find-customer"\n'
        '[[rules]]\nid = "ask"\ndecision = "ask"\ntool = "send-reply"\n'
    )
    reply = {"to": "a@example.com", "subject": "s", "body": "b"}
    ferrule("call", "find-customer", "--email", "a@example.com", folder=workspace)
    ferrule("call", "send-reply", "--input", json.dumps(reply), folder=workspace)
    lines = ferrule("log", "--json", folder=workspace).out.splitlines()
    calls = [json.loads(line)["invocation_id"] for line in lines]
    assert len(calls) == 2
    before = sorted(file.name for file in (workspace / ".ferrule").iterdir())
    for command in ("explain", "result", "follow", "cancel"):
        assert offered(workspace, f"ferrule {command} inv_") == calls[::-1], command
    assert offered(workspace, f"ferrule explain {calls[0]}") == calls[:1]
    for command in ("approve", "reject", "answer", "settle", "delegate"):
        assert offered(workspace, f"ferrule {command} ") == calls[1:], command
    assert sorted(file.name for file in (workspace / ".ferrule").iterdir()) == before


def test_completion_of_ids_writes_nothing_after_a_crash(workspace: Path) -> None:
    (workspace / "policy.toml").write_text('[[rules]]\nid = "look"\ndecision = "allow"\ntool = "find-customer"\n')
    ferrule("call", "find-customer", "--email", "a@example.com", folder=workspace)
    left = workspace.parent / "left"
    with closing(sqlite3.connect(workspace / ".ferrule" / "ledger.db")) as database:
        database.execute("CREATE TABLE written_last (one)")
        database.commit()
        shutil.copytree(workspace, left)
    files = [left / ".ferrule" / name for name in ("ledger.db", "ledger.db-wal")]
    before = [file.read_bytes() for file in files]
    assert len(before[1]) > 0
    assert len(offered(left, "ferrule explain inv_")) == 1
    assert [file.read_bytes() for file in files] == before


def test_completion_of_ids_is_silent_where_there_is_nothing_to_read(tmp_path: Path) -> None:
    assert offered(tmp_path, "ferrule explain inv_") == []
    assert list(tmp_path.iterdir()) == []
    (tmp_path / "ferrule.toml").write_text("")
    assert offered(tmp_path, "ferrule explain inv_") == []
    assert [file.name for file in tmp_path.iterdir()] == ["ferrule.toml"]
    (tmp_path / ".ferrule").mkdir()
    (tmp_path / ".ferrule" / "ledger.db").write_text("no ledger at all")
    assert offered(tmp_path, "ferrule explain inv_") == []
    (tmp_path / "ferrule.toml").write_text("namespace = [")
    assert offered(tmp_path, "ferrule explain inv_") == offered(tmp_path, "ferrule show a") == []
