"""Work shared between processes: what a process of the pool is told, and how it takes the next batch. See `pool.py`."""

from __future__ import annotations

import os
import struct
from collections.abc import Iterator

import msgspec

NUMBER = struct.Struct("<H")
"""A batch number as it stands in the pipe."""


class Task(msgspec.Struct, frozen=True, array_like=True):
    """One file to work on."""

    path: str
    name: str
    named: bool
    """Asked for by name, so it must be recognised."""
    is_wanted: bool = True
    """Reported on; of other files only what they define matters."""


class Job(msgspec.Struct, frozen=True):
    """Everything a process of the pool needs to know."""

    tasks: tuple[Task, ...]
    batch: int
    tickets: int
    """File descriptor of the pipe with the batch numbers."""
    settings: msgspec.Raw


def taken(reading: int, batch: int, count: int) -> Iterator[range]:
    """Batches of task numbers for this process, until none are left."""
    while ticket := os.read(reading, NUMBER.size):
        first = NUMBER.unpack(ticket)[0] * batch
        yield range(first, min(first + batch, count))
