"""Files that only their owner may read: keys and tokens. They are written atomically."""

from __future__ import annotations

import os
import tempfile
from contextlib import suppress
from pathlib import Path

from ferrule.errors import AccessError
from ferrule.infra.atomic_files import flush_folder

_OWNER_ONLY = 0o600
_OTHERS = 0o077


def read_private(path: Path) -> bytes | None:
    """Returns the contents of a file; None when it does not exist. Raises AccessError when others may read it too."""
    try:
        with path.open("rb") as stream:
            # Checked on the open file: a check by name could see another file.
            if os.fstat(stream.fileno()).st_mode & _OTHERS:
                raise AccessError(f"{path} can be read by others; make it yours alone: chmod 600 {path}")
            return stream.read()
    except FileNotFoundError:
        return None
    except OSError as error:
        raise AccessError(f"{path} cannot be read: {error.strerror}") from None


def create_private(path: Path, data: bytes) -> bytes:
    """Writes a new file; when another process was quicker, returns the contents of that file."""
    temporary = _write_temporary(path, data)
    try:
        os.link(temporary, path)  # unlike a rename, this fails when the name is taken
    except FileExistsError:
        return read_private(path) or b""
    except OSError as error:
        raise AccessError(f"cannot write {path}: {error.strerror}") from None
    finally:
        temporary.unlink()
    flush_folder(path.parent)
    return data


def replace_private(path: Path, data: bytes) -> None:
    """Replaces a file atomically: readers find the old one or the new one."""
    temporary = _write_temporary(path, data)
    try:
        os.replace(temporary, path)
    except OSError as error:
        with suppress(OSError):
            temporary.unlink()
        raise AccessError(f"cannot write {path}: {error.strerror}; what was there before is untouched") from None
    flush_folder(path.parent)


def _write_temporary(path: Path, data: bytes) -> Path:
    """Writes data to a temporary file beside `path`, and flushes it."""
    temporary = None
    try:
        _make_folder(path.parent)
        descriptor, temporary = tempfile.mkstemp(prefix=f".{path.name}.", dir=path.parent)
        with os.fdopen(descriptor, "wb") as stream:
            os.fchmod(stream.fileno(), _OWNER_ONLY)
            stream.write(data)
            stream.flush()
            os.fsync(stream.fileno())
    except OSError as error:
        if temporary is not None:
            with suppress(OSError):
                os.unlink(temporary)
        raise AccessError(f"cannot write {path}: {error.strerror}; what was there before is untouched") from None
    return Path(temporary)


def _make_folder(folder: Path) -> None:
    folder.mkdir(parents=True, exist_ok=True)
    ignore = folder / ".gitignore"
    if folder.name == "keys" and not ignore.exists():
        ignore.write_text("*\n", encoding="utf-8")
