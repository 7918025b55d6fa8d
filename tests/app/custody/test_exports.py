"""A ledger written to a file: all or nothing, for its owner alone, and only rows that are there."""

from __future__ import annotations

import json
from collections.abc import Iterator
from pathlib import Path

import pytest

from ferrule.app.custody.exports import export_rows, find_rows_between, stream_calls, write_lines
from ferrule.app.custody.paths import LedgerPaths
from ferrule.app.custody.state import find_ends
from ferrule.errors import LedgerError


def breaking() -> Iterator[bytes]:
    yield b"one\n"
    raise LedgerError("it breaks off")


def test_a_file_is_its_owners_and_the_lines_are_counted(tmp_path: Path) -> None:
    target = tmp_path / "out.jsonl"
    assert write_lines(target, [b"one\n", b"two\n"]) == 2
    assert target.read_bytes() == b"one\ntwo\n" and target.stat().st_mode & 0o777 == 0o600


def test_what_breaks_off_leaves_the_file_as_it_was_and_nothing_beside_it(tmp_path: Path) -> None:
    target = tmp_path / "out.jsonl"
    target.write_bytes(b"before")
    with pytest.raises(LedgerError, match="it breaks off"):
        write_lines(target, breaking())
    assert [(file.name, file.read_bytes()) for file in tmp_path.iterdir()] == [("out.jsonl", b"before")]
    with pytest.raises(LedgerError, match="cannot write"):
        write_lines(tmp_path / "nowhere" / "out.jsonl", [b"one\n"])


def test_rows_that_are_not_there_are_told_with_those_that_are(paths: LedgerPaths, tmp_path: Path) -> None:
    ends = find_ends(paths)
    told = f"the ledger has rows {ends.first_seq} to {ends.last_seq}"
    with pytest.raises(LedgerError, match=told):
        export_rows(paths, tmp_path / "out.jsonl", first=ends.last_seq + 1)
    assert export_rows(paths, tmp_path / "out.jsonl", first=2, last=4) == 3


def test_only_wanted_calls_are_given(paths: LedgerPaths) -> None:
    every = [json.loads(line)["invocation_id"] for line in stream_calls(paths)]
    wanted = stream_calls(paths, is_wanted=lambda record: record["invocation_id"] == every[0])
    assert len(every) > 1 and [json.loads(line)["invocation_id"] for line in wanted] == every[:1]


def test_a_time_is_found_as_the_rows_of_it(paths: LedgerPaths) -> None:
    ends = find_ends(paths)
    assert find_rows_between(paths, None, None) == (0, None)
    assert find_rows_between(paths, ends.first_at, None)[0] <= ends.first_seq
    with pytest.raises(LedgerError, match="there are no rows of that time"):
        find_rows_between(paths, None, 1)
