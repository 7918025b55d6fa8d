"""The processes of a program: which are alive, and how to end them all. Read from /proc; without it (macOS), only the
process group is known.

In a sandbox no process gets away: all stay below the sandbox's own first process, and end with it. Without one,
processes are found as children, as those seen while the program ran, and by a mark in their environment, which also
finds one in another session. One that clears its environment and leaves its parent between two looks is lost.
"""

from __future__ import annotations

import asyncio
import os
import signal
from collections.abc import Iterable
from contextlib import suppress
from typing import NamedTuple

from ferrule.infra.tasks import Patience

_LOOK_SECONDS = 0.01
_MOST_SECONDS = 5.0
"""How long to wait for killed processes. It takes that long only where the system is stuck."""
_GONE = frozenset("ZXx")


class Process(NamedTuple):
    """A process; its start time distinguishes it from a later one with the same number."""

    pid: int
    began: int


class _Stat(NamedTuple):
    parent: int
    began: int
    is_alive: bool


class ProcessTree:
    """The processes of one run."""

    def __init__(self, pid: int, *, mark: str | None, keepers: int = 0) -> None:
        """`pid` is our own child. `mark`: a text in the environment of all of them. `keepers`: how many generations are
        the sandbox's own, and get no SIGTERM."""
        self._top = pid
        self._mark = mark.encode() if mark else None
        self._keepers = keepers
        self._seen: set[Process] = set()

    def add(self, pid: int, name: str) -> None:
        """Adds a reported process, if it still has that name."""
        found = _read_stat(pid)
        # The number may have been reused between the report and this look.
        if found is not None and _read_name(pid) == name:
            self._seen.add(Process(pid, found.began))

    def look(self) -> int:
        """Remembers the processes alive now; returns their number."""
        found = [process for generation in _list_generations(self._top) for process in generation]
        self._seen.update(found)
        return len(found)

    def list_living(self, *, is_reaped: bool) -> list[Process]:
        """Lists the living processes. `is_reaped`: the first one has ended, and its number may have been reused."""
        if not is_reaped:
            self.look()
        if self._mark is not None:
            self._seen.update(_find_marked(self._mark))
        for process in list(self._seen):
            if not _is_alive(process):
                self._seen.discard(process)
            else:
                self._seen.update(
                    child for generation in _list_generations(process.pid, most=1) for child in generation
                )
        return [process for process in self._seen if not (is_reaped and process.pid == self._top)]

    def ask_to_end(self) -> None:
        """Sends SIGTERM to the program and its processes; the sandbox's own processes stay to watch the rest."""
        generations = _list_generations(self._top)
        asked = {process for generation in generations[self._keepers :] for process in generation}
        if self._keepers == 0:
            asked |= set(self.list_living(is_reaped=False))
            _send_group(self._top, signal.SIGTERM)
        _send(asked, signal.SIGTERM)

    async def end(self, exited: asyncio.Future[int], patience: Patience) -> bool:
        """Kills all processes and waits until they are gone; `exited` is done once our own child is reaped. False: some
        are left."""
        loop = asyncio.get_running_loop()
        until = loop.time() + _MOST_SECONDS
        while True:
            is_reaped = exited.done()
            living = self.list_living(is_reaped=is_reaped)
            if is_reaped and not living:
                # One that forks and ends between the list of processes and the look at it is seen by a second look.
                living = self.list_living(is_reaped=True) if self._mark is not None else []
            if is_reaped and not living:
                return True
            if loop.time() > until:
                return False
            if not is_reaped:
                _send_group(self._top, signal.SIGKILL)
            _send(living, signal.SIGSTOP)  # a program that forks as fast as it is killed stands still first
            _send(living, signal.SIGKILL)
            if is_reaped:
                await patience.sleep(_LOOK_SECONDS)
            else:
                await patience.wait(exited, _LOOK_SECONDS)


def _list_generations(top: int, most: int = 1000) -> list[list[Process]]:
    """Lists a process and those below it, by depth."""
    found = _read_stat(top)
    if found is None:
        return []
    generations, known = [[Process(top, found.began)]], {top}
    while generations[-1] and len(generations) <= most:
        below = {child for process in generations[-1] for child in _list_children(process.pid)} - known
        known |= below
        generations.append([Process(pid, stat.began) for pid in below if (stat := _read_stat(pid)) and stat.is_alive])
    return generations[: most + 1]


def _list_children(pid: int) -> Iterable[int]:
    found: list[int] = []
    try:
        # The kernel lists a child under the thread that started it.
        for thread in os.listdir(f"/proc/{pid}/task"):
            with open(f"/proc/{pid}/task/{thread}/children", encoding="ascii") as file:
                found += map(int, file.read().split())
    except FileNotFoundError:
        if os.path.isdir(f"/proc/{pid}"):  # a kernel without these files
            return [other for other in _list_pids() if (stat := _read_stat(other)) and stat.parent == pid]
    except OSError:
        pass
    return found


def _list_pids() -> list[int]:
    try:
        return [int(name) for name in os.listdir("/proc") if name.isdigit()]
    except OSError:
        return []


def _find_marked(mark: bytes) -> list[Process]:
    found = []
    for pid in _list_pids():
        with suppress(OSError), open(f"/proc/{pid}/environ", "rb") as file:
            if mark in file.read() and (stat := _read_stat(pid)) and stat.is_alive:
                found.append(Process(pid, stat.began))
    return found


def _read_stat(pid: int) -> _Stat | None:
    try:
        with open(f"/proc/{pid}/stat", encoding="utf-8", errors="replace") as file:
            # From the last bracket on: the program's name stands in brackets, and may hold brackets and blanks itself.
            fields = file.read().rpartition(")")[2].split()
    except OSError:
        return None
    return _Stat(int(fields[1]), int(fields[19]), fields[0] not in _GONE)


def _read_name(pid: int) -> str:
    try:
        with open(f"/proc/{pid}/comm", encoding="utf-8", errors="replace") as file:
            return file.read().strip()
    except OSError:
        return ""


def _is_alive(process: Process) -> bool:
    found = _read_stat(process.pid)
    return found is not None and found.is_alive and found.began == process.began


def _send(processes: Iterable[Process], number: signal.Signals) -> None:
    for process in processes:
        if _is_alive(process):
            with suppress(OSError):
                os.kill(process.pid, number)


def _send_group(pid: int, number: signal.Signals) -> None:
    with suppress(OSError):
        os.killpg(pid, number)
