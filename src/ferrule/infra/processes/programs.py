"""Finds programs, gives them their environment, and limits their resources. Nothing depends on who started this
process.

`prlimit` (util-linux) sets the limits and then becomes the program: no code of ours runs in between.
"""

from __future__ import annotations

import os
import platform
import re
import resource
import stat
from collections.abc import Mapping
from types import MappingProxyType

import msgspec

FOLDERS = ("/usr/local/sbin", "/usr/local/bin", "/usr/sbin", "/usr/bin", "/sbin", "/bin")
"""The folders to search for a program. Never the working folder, and never the caller's PATH."""
ENVIRONMENT: Mapping[str, str] = MappingProxyType(
    {
        "PATH": ":".join(FOLDERS),
        "HOME": "/tmp",
        "TMPDIR": "/tmp",
        "LANG": "C.UTF-8",
        "LC_ALL": "C.UTF-8",
        "TERM": "dumb",
        "PAGER": "cat",
        "GIT_TERMINAL_PROMPT": "0",
        "GIT_PAGER": "cat",
    }
)
"""The whole environment of a program: nothing of ours goes into it, so no secret does."""


class NoSuchProgram(LookupError):
    """A program that does not exist, or may not be named like this."""


def find_program(name: str, folders: tuple[str, ...] = FOLDERS) -> str:
    """Returns the file of a command's first word. Raises NoSuchProgram."""
    if name.startswith("/"):
        if _is_program(name):
            return name
        raise NoSuchProgram(f"there is no program {_quote_name(name)}")
    if "/" in name:
        raise NoSuchProgram(
            f"{_quote_name(name)} is relative to a folder; name a program by its name alone or by its whole path"
        )
    for folder in folders:
        path = f"{folder}/{name}"
        if _is_program(path):
            return path
    raise NoSuchProgram(
        f"there is no program {_quote_name(name)} in {', '.join(folders)}; what a shell has built in (cd, export, source) is"
        " not there either"
    )


def _is_program(path: str) -> bool:
    try:
        found = os.stat(path)
    except (OSError, ValueError):
        return False
    return stat.S_ISREG(found.st_mode) and os.access(path, os.X_OK)


def _quote_name(name: str) -> str:
    return repr(name if len(name) <= 80 else f"{name[:77]}…")


_MIB = 1024**2
_OWN_COUNT = (5, 14)
"""Since then Linux counts the processes of a user namespace by themselves; before, all processes of its user."""


class ProgramLimits(msgspec.Struct, frozen=True, kw_only=True):
    """The limits of one run, in seconds and bytes."""

    seconds: float = 30.0
    """From start to end."""
    grace_seconds: float = 0.5
    """Between SIGTERM and SIGKILL."""
    output_bytes: int = 64 * _MIB
    """What it may write to its two outputs together before it is ended."""
    inline_bytes: int = 64 * 1024
    """How much of its output is kept in memory; of longer output, the first and the last half."""
    processes: int = 256
    """How many may run at once; above that, all are ended."""
    memory_bytes: int = 4096 * _MIB
    """Writable memory of each process."""
    file_bytes: int = 1024 * _MIB
    """The largest file it may write."""
    open_files: int = 1024
    scratch_bytes: int = 256 * _MIB
    """Of the sandbox's own /tmp."""


def limit_command(limits: ProgramLimits, *, in_own_namespace: bool) -> tuple[str, ...]:
    """Returns the words to put before a program; none without `prlimit`, as on macOS."""
    try:
        prlimit = find_program("prlimit")
    except NoSuchProgram:
        return ()
    cpu = int(limits.seconds) + 2
    wanted = [
        ("cpu", resource.RLIMIT_CPU, cpu),
        # Not the address space: Node, Go and Java reserve far more of it than they use (decision 0016).
        ("data", resource.RLIMIT_DATA, limits.memory_bytes),
        ("fsize", resource.RLIMIT_FSIZE, limits.file_bytes),
        ("nofile", resource.RLIMIT_NOFILE, limits.open_files),
        ("core", resource.RLIMIT_CORE, 0),
    ]
    if in_own_namespace and _kernel() >= _OWN_COUNT:
        wanted.append(("nproc", resource.RLIMIT_NPROC, limits.processes))
    return (prlimit, *(f"--{name}={_at_most(kind, value)}" for name, kind, value in wanted), "--")


def _at_most(kind: int, value: int) -> int:
    """Returns a limit no higher than this process's own: nobody can grant more."""
    hard = resource.getrlimit(kind)[1]
    return value if hard == resource.RLIM_INFINITY else min(value, hard)


def _kernel() -> tuple[int, ...]:
    found = re.match(r"(\d+)\.(\d+)", platform.release()) if platform.system() == "Linux" else None
    return (int(found[1]), int(found[2])) if found else (0,)
