"""Where programs are found, and what environment they get. Neither depends on who started this process."""

from __future__ import annotations

import os
import stat
from collections.abc import Mapping
from types import MappingProxyType

FOLDERS = ("/usr/local/sbin", "/usr/local/bin", "/usr/sbin", "/usr/bin", "/sbin", "/bin")
"""Where a program's name is looked for. Never in the working folder, and never along the caller's PATH."""
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
    """A program that is not there, or may not be named like this."""


def find_program(name: str, folders: tuple[str, ...] = FOLDERS) -> str:
    """The file a command's first word stands for. Raises NoSuchProgram."""
    if name.startswith("/"):
        if _is_program(name):
            return name
        raise NoSuchProgram(f"there is no program {_shown(name)}")
    if "/" in name:
        raise NoSuchProgram(
            f"{_shown(name)} is relative to a folder; name a program by its name alone or by its whole path"
        )
    for folder in folders:
        path = f"{folder}/{name}"
        if _is_program(path):
            return path
    raise NoSuchProgram(
        f"there is no program {_shown(name)} in {', '.join(folders)}; what a shell has built in (cd, export, source) is"
        " not there either"
    )


def _is_program(path: str) -> bool:
    try:
        found = os.stat(path)
    except (OSError, ValueError):
        return False
    return stat.S_ISREG(found.st_mode) and os.access(path, os.X_OK)


def _shown(name: str) -> str:
    return repr(name if len(name) <= 80 else f"{name[:77]}…")
