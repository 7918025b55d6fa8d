"""Failures of file tools: operating-system errors by one table, the others by name. All file tools and `fetch` use it."""

from __future__ import annotations

import errno
import os
from collections.abc import Iterator
from contextlib import contextmanager

from ferrule.contracts.executor import ExecutionFailed
from ferrule.model.failure import ErrorClass

_LONGEST_SHOWN = 200
_TABLE: dict[int, tuple[ErrorClass, str, str]] = {
    errno.ENOENT: ("invalid_arguments", "file_not_found", "there is no file {}"),
    errno.ENOTDIR: ("invalid_arguments", "file_not_found", "there is no file {}: a part of its path is no folder"),
    errno.EISDIR: ("invalid_arguments", "is_a_folder", "{} is a folder; name a file"),
    errno.ENAMETOOLONG: ("invalid_arguments", "bad_path", "the path {} is longer than any path can be"),
    errno.EILSEQ: ("invalid_arguments", "bad_path", "the file system does not take the path {}"),
    errno.ELOOP: ("sandbox_violation", "path_outside_roots", "{} turned into a link while it was looked at; try again"),
    errno.ENXIO: ("sandbox_violation", "special_file", "{} is no plain file, and nothing else is opened"),
    errno.EACCES: ("execution_failed", "file_not_accessible", "this process may not use {}"),
    errno.EPERM: ("execution_failed", "file_not_accessible", "this process may not use {}"),
    errno.EROFS: ("execution_failed", "file_not_accessible", "{} is on a disk that cannot be written"),
    errno.ENOSPC: ("execution_failed", "disk_full", "there is no room on the disk for {}; nothing was changed"),
    errno.EDQUOT: ("execution_failed", "disk_full", "there is no room on the disk for {}; nothing was changed"),
}


def violation(message: str, code: str) -> ExecutionFailed:
    """Builds the failure of a call that would leave the tool's bounds."""
    return ExecutionFailed("sandbox_violation", message, code=code)


def bad_arguments(message: str, code: str) -> ExecutionFailed:
    """Builds the failure of arguments that the caller can correct."""
    return ExecutionFailed("invalid_arguments", message, code=code)


def quote_text(text: str) -> str:
    """Quotes a caller's text for a message: on one line, and shortened."""
    cut = text if len(text) <= _LONGEST_SHOWN else f"{text[:_LONGEST_SHOWN]}…"
    return repr(cut.encode("utf-8", "backslashreplace").decode())


@contextmanager
def translate_os_errors(path: str) -> Iterator[None]:
    """Turns errors of the operating system about a path into ExecutionFailed."""
    try:
        yield
    except OSError as error:
        kind, code, text = _TABLE.get(
            error.errno or 0, ("execution_failed", "file_error", f"{{}}: {os.strerror(error.errno or errno.EIO)}")
        )
        raise ExecutionFailed(kind, text.format(quote_text(path)), code=code) from None
