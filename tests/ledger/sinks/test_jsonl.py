"""Files of events: whole rows only, cut clean after a crash, turned over by size, never somebody else's file."""

from __future__ import annotations

import asyncio
import errno
import json
import os
import signal
import subprocess
import sys
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from ferrule.contracts.sink import SinkBusy
from ferrule.errors import FerruleError
from ferrule.ledger.history.expand import expand_row
from ferrule.ledger.sinks.jsonl import JsonlSink
from ferrule.model.event import Event
from tests.ledger.history.rows import SCENARIOS, Ledger


def some_events() -> list[Event]:
    """A few calls, and a text that looks like our own mark."""
    ledger = Ledger()
    for name in ("success", "action", "denied", "approved_edited"):
        SCENARIOS[name](ledger)
    ledger.fact("switch", tool_id="kb.search", to="off", by="alice", reason='"ends_row":true}\n')
    return [event for row in ledger.rows for event in expand_row(row, source="shop")]


EVENTS = some_events()


def deliver(sink: JsonlSink, events: list[Event] = EVENTS) -> int:
    """Do as a follower does: ask where it stands, and give the rest. Gives where it stood."""

    async def main() -> int:
        cursor = await sink.cursor()
        await sink.write([event for event in events if event.seq > cursor])
        await sink.aclose()
        return cursor

    return asyncio.run(main())


def whole(folder: Path) -> bytes:
    path = folder / "whole.jsonl"
    deliver(JsonlSink(path))
    return path.read_bytes()


def test_each_line_is_an_event_record(tmp_path: Path) -> None:
    lines = [json.loads(line) for line in whole(tmp_path).splitlines()]
    records = [json.loads(json.dumps(event.to_record())) for event in EVENTS]
    assert [{**line, "ends_row": None} for line in lines] == [{**record, "ends_row": None} for record in records]
    ends = [line["seq"] for line in lines if line.get("ends_row")]
    assert ends == sorted({event.seq for event in EVENTS})


@settings(max_examples=60, deadline=None)
@given(st.integers(min_value=0), st.binary(max_size=20))
def test_a_crash_at_any_byte_leaves_each_fact_once(
    tmp_path_factory: pytest.TempPathFactory, cut: int, rubbish: bytes
) -> None:
    folder = tmp_path_factory.mktemp("crash")
    full = whole(folder)
    cut %= len(full) + 1
    path = folder / "events.jsonl"
    path.write_bytes(full[:cut] + (rubbish.replace(b"\n", b"") if cut > 20 else b""))
    deliver(JsonlSink(path))
    assert path.read_bytes() == full


def test_a_whole_file_is_left_alone(tmp_path: Path) -> None:
    full = whole(tmp_path)
    assert deliver(JsonlSink(tmp_path / "whole.jsonl")) == EVENTS[-1].seq
    assert (tmp_path / "whole.jsonl").read_bytes() == full


@pytest.mark.parametrize("code", [errno.ENOSPC, errno.EIO])
@pytest.mark.parametrize("after", [0, 1, 700, 5_000])
def test_a_write_that_fails_half_way_is_taken_back(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, code: int, after: int
) -> None:
    full = whole(tmp_path)
    path, real, left = tmp_path / "events.jsonl", os.pwrite, [after]

    def small_disk(file: int, data: bytes, place: int) -> int:
        if left[0] <= 0:
            raise OSError(code, os.strerror(code))
        left[0] -= len(data := bytes(data[: min(256, left[0])]))
        return real(file, data, place)

    async def main() -> None:
        sink = JsonlSink(path)
        monkeypatch.setattr(os, "pwrite", small_disk)
        with pytest.raises(OSError, match=os.strerror(code)):
            await sink.write(EVENTS)
        assert path.read_bytes() == b""
        left[0] = sys.maxsize
        await sink.write(EVENTS)
        await sink.write(EVENTS)
        await sink.aclose()

    asyncio.run(main())
    assert path.read_bytes() == full


def test_a_disk_that_does_not_keep_it_is_no_success(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    full, path = whole(tmp_path), tmp_path / "events.jsonl"

    async def main() -> None:
        sink = JsonlSink(path, fsync=True)
        monkeypatch.setattr(os, "fsync", lambda file: (_ for _ in ()).throw(OSError(errno.EIO, "disk error")))
        with pytest.raises(OSError, match="disk error"):
            await sink.write(EVENTS)
        monkeypatch.undo()
        await sink.write(EVENTS)
        await sink.aclose()

    asyncio.run(main())
    assert path.read_bytes() == full


def test_files_are_turned_over_by_size(tmp_path: Path) -> None:
    """Each row stands in exactly one file, and an empty newest file does not forget the one before."""
    path = tmp_path / "events.jsonl"

    async def main() -> None:
        for seq in sorted({event.seq for event in EVENTS}):
            sink = JsonlSink(path, max_bytes=2_000, keep=50)
            assert await sink.cursor() == seq - 1
            await sink.write([event for event in EVENTS if event.seq == seq])
            await sink.aclose()

    asyncio.run(main())
    files = sorted(tmp_path.glob("events.jsonl.[0-9]*"), key=lambda file: -int(file.suffix[1:]))
    assert len(files) > 2
    assert b"".join(file.read_bytes() for file in [*files, path]) == whole(tmp_path)
    os.replace(path, tmp_path / "events.jsonl.1")
    assert deliver(JsonlSink(path, max_bytes=2_000)) == EVENTS[-1].seq


def test_only_so_many_files_are_kept(tmp_path: Path) -> None:
    path = tmp_path / "events.jsonl"

    async def main() -> None:
        sink = JsonlSink(path, max_bytes=1, keep=2)
        for seq in sorted({event.seq for event in EVENTS}):
            await sink.write([event for event in EVENTS if event.seq == seq])
        await sink.aclose()

    asyncio.run(main())
    assert sorted(file.name for file in tmp_path.iterdir()) == [
        "events.jsonl",
        "events.jsonl.1",
        "events.jsonl.2",
        "events.jsonl.lock",
    ]


@pytest.mark.parametrize("text", ["my diary\n", '{"name": "package"}\n', '{"schema_version":"1","ends_row":true}\n'])
def test_a_file_of_something_else_is_not_touched(tmp_path: Path, text: str) -> None:
    path = tmp_path / "events.jsonl"
    path.write_text(text)
    with pytest.raises(FerruleError, match="name another file"):
        deliver(JsonlSink(path))
    assert path.read_text() == text


def test_a_row_larger_than_the_blocks_it_is_read_in(tmp_path: Path) -> None:
    large = [event for event in EVENTS if event.seq == 1]
    large[0] = Event(
        **{name: getattr(large[0], name) for name in large[0].__struct_fields__} | {"data": {"x": "y" * 10**6}}
    )
    path = tmp_path / "events.jsonl"
    deliver(JsonlSink(path), large)
    size = path.stat().st_size
    with path.open("ab") as file:
        file.write(b'{"schema_version":"0.2.0","x":"' + b"z" * 10**6)
    assert deliver(JsonlSink(path), large) == 1
    assert path.stat().st_size == size


def test_one_process_at_a_time(tmp_path: Path) -> None:
    async def main() -> None:
        first, second = JsonlSink(tmp_path / "e.jsonl"), JsonlSink(tmp_path / "e.jsonl")
        await first.cursor()
        with pytest.raises(SinkBusy):
            await second.cursor()
        await first.aclose()
        assert await second.cursor() == 0
        await second.aclose()

    asyncio.run(main())


WRITER = """
import asyncio, sys
from pathlib import Path
from tests.ledger.sinks.test_jsonl import EVENTS
from ferrule.ledger.sinks.jsonl import JsonlSink

async def main():
    sink = JsonlSink(Path(sys.argv[1]))
    cursor = await sink.cursor()
    for seq in range(cursor + 1, EVENTS[-1].seq + 1):
        await sink.write([event for event in EVENTS if event.seq == seq])
        print(seq, flush=True)
asyncio.run(main())
"""


def test_killed_again_and_again(tmp_path: Path) -> None:
    """Real processes, killed while they write; each one goes on where the file says."""
    path = tmp_path / "events.jsonl"
    for round_ in range(6):
        process = subprocess.Popen([sys.executable, "-c", WRITER, str(path)], stdout=subprocess.PIPE)
        assert process.stdout is not None
        for _ in range(round_ % 3):
            process.stdout.readline()
        process.send_signal(signal.SIGKILL)
        process.communicate(timeout=30)
    deliver(JsonlSink(path))
    assert path.read_bytes() == whole(tmp_path)
