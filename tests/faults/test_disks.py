"""A disk that fails, or is full, under the whole runtime: a success that is told is on disk, and what happened is known
or said to be unknown (promise 2)."""

from __future__ import annotations

import shutil
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest

import ferrule
from ferrule.model.journal import LAST_KINDS, StoredEntry
from tests.faults.place import MUST_RUN, SOAK, Place, Worker, played, rows_by_call

_FAILURES = (
    "fdatasync:error=EIO:when=40..44",
    "fdatasync:error=ENOSPC:when=25+11",
    "pwrite64:error=EIO:when=150..170",
    "pwrite64:error=ENOSPC:when=90+13",
    "fdatasync,pwrite64:error=EIO:when=200..280",
)
_MORE = tuple(
    f"{call}:error={error}:when={first}+{step}"
    for call in ("fdatasync", "pwrite64", "fdatasync,pwrite64,ftruncate")
    for error in ("EIO", "ENOSPC")
    for first, step in ((21, 2), (33, 3), (50, 5), (70, 17))
)


@pytest.fixture
def place(tmp_path: Path) -> Place:
    return Place(tmp_path)


@pytest.mark.parametrize("failure", (*_FAILURES, *(_MORE if SOAK else ())))
def test_a_failing_disk_makes_no_success(place: Place, failure: str) -> None:
    place.start("go_on", "before").finish()
    told = place.start("rounds", "sick", _strace(failure)).finish()
    codes = {words[3] for words in told if words[0] == "ended"}
    assert codes & {"ledger_unavailable", "outcome_not_recorded"} or _was_refused(told), "the disk was not felt to fail"
    _check(place, told)
    assert place.start("go_on", "after").finish()[-1] == ["closed"]


def test_a_full_disk_makes_no_success(tmp_path: Path) -> None:
    """A small disk that somebody else fills, and empties again: the process goes on by itself."""
    with _small_disk(tmp_path / "disk") as disk:
        place = Place(tmp_path, ledger=disk / "ledger.db")
        worker = place.start("go_on_when_told", "full")
        _until_paused(worker)
        _fill(disk / "filler")
        worker.say("go on, the disk is full")
        while_full = _until_paused(worker)
        (disk / "filler").unlink()
        worker.say("go on, there is room again")
        _until_paused(worker)
        worker.say("go on")
        told = worker.finish()
        assert any(words[0] == "ended" and words[3] != "-" for words in while_full), "the disk was not felt to be full"
        assert told[-1] == ["closed"]
        _check(place, told)


def test_a_file_that_may_not_grow_makes_no_success(place: Place) -> None:
    place.start("go_on", "before").finish()
    size = sum(file.stat().st_size for file in place.ledger.parent.glob("ledger.db*"))
    told = place.start("rounds", "short", _no_larger_than(size + 40_000)).finish()
    assert any(words[0] == "ended" and words[3] != "-" for words in told), "the limit was not felt"
    _check(place, told)


def _check(place: Place, told: list[list[str]]) -> None:
    """After a recovery everything adds up: what was told, what happened, and what is on record."""

    async def reopened() -> tuple[dict[str, list[StoredEntry]], dict[str, str]]:
        async with ferrule.open(place.root, tends=False) as app:
            await app.calls.recover()
            return await rows_by_call(app), {call.call: call.state for call in await app.store.open_calls()}

    calls, open_calls = played(reopened())
    for words in told:
        if words[0] == "ended" and words[2] == "succeeded":
            rows = calls.get(words[1])
            assert rows and rows[-1].kind in LAST_KINDS, f"{words} was told and is not on disk"
            assert rows[-1].segment().status == "succeeded"
        elif words[0] == "waits":
            assert words[1] in calls, f"{words} was told and is not on disk"
    effects = place.effects()
    assert set(effects.values()) == {1}
    for call in effects:
        rows = calls[call]
        assert any(row.kind == "started" for row in rows), f"{call} acted without a record before"
        assert rows[-1].outcome == "succeeded" or open_calls.get(call) == "needs_input", f"{call}: {rows[-1].outcome}"
    assert not place.verify().findings


def _was_refused(told: list[list[str]]) -> bool:
    """True when it could not even be opened."""
    return told == []


def _strace(failure: str) -> list[str]:
    """How to run a command so that system calls fail; skips where processes may not be traced."""
    reason = "" if shutil.which("strace") else "strace is not installed"
    if (
        not reason
        and subprocess.run(["strace", "-o", "/dev/null", "true"], capture_output=True, check=False).returncode
    ):
        reason = "processes may not be traced here"
    _demand(reason)
    calls = failure.partition(":")[0]
    return ["strace", "-f", "-qq", "-o", "/dev/null", "-e", f"trace={calls}", "-e", f"inject={failure}"]


def _no_larger_than(size: int) -> list[str]:
    """How to run a command that cannot write files beyond a size."""
    limit = f"resource.setrlimit(resource.RLIMIT_FSIZE, ({size}, {size}))"
    return [sys.executable, "-c", f"import os, resource, sys; {limit}; os.execvp(sys.argv[1], sys.argv[1:])"]


@contextmanager
def _small_disk(folder: Path) -> Iterator[Path]:
    folder.mkdir()
    mount = ["mount", "-t", "tmpfs", "-o", "size=24m", "tmpfs", str(folder)]
    tried = subprocess.run(mount, capture_output=True, check=False) if shutil.which("mount") else None
    _demand("" if tried is not None and tried.returncode == 0 else "disks may not be mounted here")
    try:
        yield folder
    finally:
        subprocess.run(["umount", "-l", str(folder)], check=True)


def _fill(file: Path) -> None:
    with pytest.raises(OSError), file.open("wb", buffering=0) as stream:
        while True:
            stream.write(b"\0" * 65536)


def _until_paused(worker: Worker) -> list[list[str]]:
    told: list[list[str]] = []
    while (words := worker.hear()) and words != ["paused"]:
        told.append(words)
    assert words, "the worker ended"
    return told


def _demand(reason: str) -> None:
    if reason and MUST_RUN:
        pytest.fail(reason)
    if reason:
        pytest.skip(f"needs service: {reason}")
