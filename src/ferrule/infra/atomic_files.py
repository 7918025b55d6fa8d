"""Writes files atomically: a reader, or a power cut, never finds half of one.

The compiler, the workspace, the app and the commands write with it. It does not know what is in a file.
"""

from __future__ import annotations

import os
import tempfile
from contextlib import suppress
from pathlib import Path

from ferrule.errors import WorkspaceError


def write_whole(path: Path, data: bytes) -> None:
    """Replaces a file atomically: readers, also after a power cut, find the old file or the new one."""
    temporary = None
    try:
        path.parent.mkdir(parents=True, exist_ok=True)
        descriptor, temporary = tempfile.mkstemp(prefix=f".{path.name}.", dir=path.parent)
        with os.fdopen(descriptor, "wb") as stream:
            stream.write(data)
            stream.flush()
            # Before the rename: a power cut must not leave the new name with no content.
            os.fsync(stream.fileno())
        os.chmod(temporary, 0o644)
        os.replace(temporary, path)
        flush_folder(path.parent)
    except OSError as error:
        if temporary is not None:
            with suppress(OSError):
                os.unlink(temporary)
        raise WorkspaceError(f"cannot write {path}: {error.strerror}; what was there before is untouched") from None


def flush_folder(folder: Path) -> None:
    """Flushes a folder, so that the names in it survive a power cut as its files do."""
    descriptor = os.open(folder, os.O_RDONLY)
    try:
        os.fsync(descriptor)
    finally:
        os.close(descriptor)
