"""Shares files out between processes. A process that is free takes the next batch, so no core waits for another."""

from __future__ import annotations

import os
import struct
import subprocess
import sys
import tempfile
from collections.abc import Callable, Iterable, Iterator, Sequence
from typing import Any

import msgspec

NUMBER = struct.Struct("<H")
"""A batch number as it is written into the pipe."""


class FileTask(msgspec.Struct, frozen=True, array_like=True):
    """One file for a process to work on."""

    path: str
    name: str
    named: bool
    """True when it was requested by name, so it must be recognised."""
    is_wanted: bool = True
    """False when only the outlines of its definitions matter, and nothing is reported."""


class Job(msgspec.Struct, frozen=True):
    """Everything a process of the pool needs to know."""

    tasks: tuple[FileTask, ...]
    batch: int
    tickets: int
    """File descriptor of the pipe with the batch numbers."""
    settings: msgspec.Raw


def take_batches(reading: int, batch: int, count: int) -> Iterator[range]:
    """Yields batches of task numbers for this process until none are left."""
    while ticket := os.read(reading, NUMBER.size):
        first = NUMBER.unpack(ticket)[0] * batch
        yield range(first, min(first + batch, count))


BATCH = 50
_MOST_BATCHES = 20_000
"""Two bytes a batch must fit into a pipe."""


def run(
    tasks: Sequence[FileTask],
    work: Callable[[Sequence[FileTask]], list[Any]],
    decode: Callable[[bytes], Iterable[tuple[int, Any]]],
    settings: bytes,
    *,
    jobs: int,
    module: str,
    progress: Callable[[int, int], None] | None = None,
) -> list[Any]:
    """Runs `work` for all tasks, batch by batch, with `jobs` processes; returns results in order. The other
    processes run `module`."""
    results: list[Any] = [None] * len(tasks)
    # At least a few batches for everybody, however large the files; and never more than fit into the pipe.
    batch = max(min(BATCH, -(-len(tasks) // (jobs * 4))), -(-len(tasks) // _MOST_BATCHES))
    count = -(-len(tasks) // batch)
    # The pipe is the queue: a read of two bytes is atomic, so no batch goes to two processes. With the writing end
    # closed, the empty pipe reads as end of file, which ends every process.
    reading, writing = os.pipe()
    try:
        os.write(writing, b"".join(NUMBER.pack(number) for number in range(count)))
    finally:
        os.close(writing)
    try:
        message = msgspec.msgpack.encode(Job(tuple(tasks), batch, reading, msgspec.Raw(settings)))
        processes = [_start(module, reading, message) for _ in range(jobs - 1)]
        for numbers in take_batches(reading, batch, len(tasks)):
            results[numbers.start : numbers.stop] = work(tasks[numbers.start : numbers.stop])
            if progress is not None:
                progress(numbers.stop, len(tasks))
    finally:
        os.close(reading)
    for process in filter(None, processes):
        for index, result in _collect(process, decode):
            results[index] = result
    # A process that died or answered nonsense costs time, not results: its files are done here.
    lost = [index for index, result in enumerate(results) if result is None]
    for index, result in zip(lost, work([tasks[index] for index in lost]), strict=True):
        results[index] = result
    return results


def _start(module: str, reading: int, message: bytes) -> subprocess.Popen[bytes] | None:
    try:
        with tempfile.TemporaryFile() as job:  # a file, because a pipe would make us wait until the process reads it
            job.write(message)
            job.seek(0)
            return subprocess.Popen(
                [sys.executable, "-m", module],
                stdin=job,
                stdout=subprocess.PIPE,
                stderr=subprocess.DEVNULL,
                pass_fds=(reading,),
            )
    except OSError:
        return None


def _collect(
    process: subprocess.Popen[bytes], decode: Callable[[bytes], Iterable[tuple[int, Any]]]
) -> Iterable[tuple[int, Any]]:
    data, _ = process.communicate()
    if process.returncode != 0:
        return ()
    try:
        return decode(data)
    except msgspec.MsgspecError:
        return ()
