"""What one program may use up. Set by `prlimit` (util-linux), which then becomes the program: no code of ours runs in between."""

from __future__ import annotations

import platform
import re
import resource

import msgspec

from ferrule.infra.processes.programs import NoSuchProgram, find_program

_MIB = 1024**2
_OWN_COUNT = (5, 14)
"""Since then Linux counts the processes of a user namespace by themselves; before, everything its user runs."""


class Limits(msgspec.Struct, frozen=True, kw_only=True):
    """Bounds of one run. Seconds and bytes."""

    seconds: float = 30.0
    """From start to end."""
    grace_seconds: float = 0.5
    """Between being asked to end and being ended."""
    output_bytes: int = 64 * _MIB
    """What it may write to its two outputs together; then it is ended."""
    inline_bytes: int = 64 * 1024
    """How much of its output is kept in memory; of more, the first and the last half."""
    processes: int = 256
    """How many may run at once; then all are ended."""
    memory_bytes: int = 4096 * _MIB
    """Writable memory of each process."""
    file_bytes: int = 1024 * _MIB
    """The largest file it may write."""
    open_files: int = 1024
    scratch_bytes: int = 256 * _MIB
    """Of the sandbox's own /tmp."""


def limiting(limits: Limits, *, in_own_namespace: bool) -> tuple[str, ...]:
    """The words to put before a program; none where there is no `prlimit`, as on macOS."""
    try:
        prlimit = find_program("prlimit")
    except NoSuchProgram:
        return ()
    cpu = int(limits.seconds) + 2
    wanted = [
        ("cpu", resource.RLIMIT_CPU, cpu),
        ("data", resource.RLIMIT_DATA, limits.memory_bytes),
        ("fsize", resource.RLIMIT_FSIZE, limits.file_bytes),
        ("nofile", resource.RLIMIT_NOFILE, limits.open_files),
        ("core", resource.RLIMIT_CORE, 0),
    ]
    if in_own_namespace and _kernel() >= _OWN_COUNT:
        wanted.append(("nproc", resource.RLIMIT_NPROC, limits.processes))
    return (prlimit, *(f"--{name}={_at_most(kind, value)}" for name, kind, value in wanted), "--")


def _at_most(kind: int, value: int) -> int:
    """No more than this process may have itself: nobody can be given more."""
    hard = resource.getrlimit(kind)[1]
    return value if hard == resource.RLIM_INFINITY else min(value, hard)


def _kernel() -> tuple[int, ...]:
    found = re.match(r"(\d+)\.(\d+)", platform.release()) if platform.system() == "Linux" else None
    return (int(found[1]), int(found[2])) if found else (0,)
