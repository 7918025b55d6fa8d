"""Writing many files so that nobody ever finds half of one: as `write_whole` does, with the disk asked once for all of them."""

from __future__ import annotations

import os
import tempfile
from collections.abc import Mapping
from contextlib import suppress
from pathlib import Path

from ferrule.definitions.compiler.write import flush_folder, write_whole
from ferrule.errors import WorkspaceError
from ferrule.workspace.workspace import Progress

_FEW = 8
"""So many are written one by one: asking the disk for everything takes as long as that."""


def write_together(files: Mapping[Path, bytes], progress: Progress | None = None) -> None:
    """Write files, each whole or not at all. Raises WorkspaceError; those that were not reached yet are as they were."""
    if len(files) <= _FEW:
        for path, data in files.items():
            write_whole(path, data)
        return
    waiting: dict[Path, str] = {}
    path = next(iter(files))
    try:
        for path, data in files.items():
            if progress is not None:
                progress(len(waiting), len(files))
            path.parent.mkdir(parents=True, exist_ok=True)
            descriptor, waiting[path] = tempfile.mkstemp(prefix=f".{path.name}.", dir=path.parent)
            with os.fdopen(descriptor, "wb") as stream:
                stream.write(data)
            os.chmod(waiting[path], 0o644)
        os.sync()  # before any of them has its name
        for path in files:
            os.replace(waiting[path], path)
            del waiting[path]
        for folder in {path.parent for path in files}:
            flush_folder(folder)
    except OSError as error:
        raise WorkspaceError(f"cannot write {path}: {error.strerror}; no file is half written") from None
    finally:
        for temporary in waiting.values():
            with suppress(OSError):
                os.unlink(temporary)
