"""Shares files out between processes. Whoever is free takes the next batch, so no core waits for another.

The batch numbers stand in a pipe that every process reads from; taking one is a single short read, which the kernel
makes exclusive. What a worker fails to deliver is done again by the caller, so a crash costs time and nothing else.
"""

from __future__ import annotations

import os
import struct
import subprocess
import sys
import tempfile
from collections.abc import Callable, Iterable, Sequence
from typing import Any

import msgspec

BATCH = 50
_NUMBER = struct.Struct("<H")
_MOST_BATCHES = 20_000
"""Two bytes a batch must fit into a pipe."""
MIN_FILES = 400
"""Below this a second process costs more than it saves."""


class Task(msgspec.Struct, frozen=True, array_like=True):
    """One file to work on."""

    path: str
    name: str
    named: bool


class Job(msgspec.Struct, frozen=True):
    """Everything a worker needs to know."""

    tasks: tuple[Task, ...]
    batch: int
    tickets: int
    """File descriptor of the pipe with the batch numbers."""
    settings: msgspec.Raw


def run(
    tasks: Sequence[Task],
    work: Callable[[Task], Any],
    decode: Callable[[bytes], Iterable[tuple[int, Any]]],
    settings: bytes,
    *,
    jobs: int,
    worker: str,
    progress: Callable[[int, int], None] | None = None,
) -> list[Any]:
    """`work` done for every task, in order, with `jobs` processes. `worker` is the module the others run."""
    results: list[Any] = [None] * len(tasks)
    if jobs < 2 or len(tasks) < MIN_FILES:
        _alone(tasks, work, results, progress)
        return results
    batch = max(BATCH, -(-len(tasks) // _MOST_BATCHES))
    count = -(-len(tasks) // batch)
    reading, writing = os.pipe()
    try:
        os.write(writing, b"".join(_NUMBER.pack(number) for number in range(count)))
    finally:
        os.close(writing)
    try:
        message = msgspec.msgpack.encode(Job(tuple(tasks), batch, reading, msgspec.Raw(settings)))
        workers = [_start(worker, reading, message) for _ in range(jobs - 1)]
        for index in taken(reading, batch, len(tasks)):
            results[index] = work(tasks[index])
            if progress is not None and index % batch == 0:
                progress(index, len(tasks))
    finally:
        os.close(reading)
    for process in filter(None, workers):
        for index, result in _collect(process, decode):
            results[index] = result
    _alone(tasks, work, results, None)
    return results


def taken(reading: int, batch: int, count: int) -> Iterable[int]:
    """Task numbers for this process, until none are left."""
    while ticket := os.read(reading, _NUMBER.size):
        first = _NUMBER.unpack(ticket)[0] * batch
        yield from range(first, min(first + batch, count))


def _alone(
    tasks: Sequence[Task], work: Callable[[Task], Any], results: list[Any], progress: Callable[[int, int], None] | None
) -> None:
    for index, task in enumerate(tasks):
        if results[index] is None:
            results[index] = work(task)
            if progress is not None:
                progress(index + 1, len(tasks))


def _start(worker: str, reading: int, message: bytes) -> subprocess.Popen[bytes] | None:
    try:
        with tempfile.TemporaryFile() as job:  # a file, because a pipe would make us wait until the worker reads it
            job.write(message)
            job.seek(0)
            return subprocess.Popen(
                [sys.executable, "-m", worker],
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
