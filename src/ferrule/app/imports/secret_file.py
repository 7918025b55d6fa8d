"""Values that must not stand in settings: kept in the workspace's file of secrets, which only its owner reads."""

from __future__ import annotations

import os
import re
from collections.abc import Mapping
from pathlib import Path

from ferrule.errors import SettingsError
from ferrule.settings import load_settings

_MODE = 0o600
_NAME = re.compile(r"^\s*(?:export\s+)?(\w+)\s*=", re.MULTILINE)


def variables(root: Path, env: Mapping[str, str] = os.environ) -> set[str]:
    """The variables that have a value: here, or in the file of secrets. Raises SettingsError."""
    name = load_settings(root).secrets.env_file
    file = root / name if name else None
    text = file.read_text(encoding="utf-8", errors="replace") if file is not None and file.is_file() else ""
    return {*env, *_NAME.findall(text)}


def keep_secrets(root: Path, values: Mapping[str, str]) -> None:
    """Add values to the file of secrets. Raises SettingsError."""
    if not values:
        return
    name = load_settings(root).secrets.env_file
    if not name:
        raise SettingsError("the servers have secrets, and [secrets] env_file is empty: name a file for them first")
    _begin_private(root / name)
    append(root / name, "".join(f"{key}={_quoted(value)}\n" for key, value in values.items()))
    ignored = root / ".gitignore"
    if name not in (ignored.read_text(encoding="utf-8").split() if ignored.exists() else ()):
        append(ignored, f"{name}\n.ferrule/keys/\n")


def append(file: Path, text: str) -> None:
    """Add lines to a file. Raises SettingsError."""
    try:
        descriptor = os.open(file, os.O_RDWR | os.O_CREAT | os.O_APPEND, 0o644)
        with os.fdopen(descriptor, "rb+") as opened:
            size = opened.seek(0, os.SEEK_END)
            opened.seek(max(0, size - 1))
            is_whole = opened.read(1) in (b"", b"\n")  # else it would go on with somebody's last line
            opened.write((b"" if is_whole else b"\n") + text.encode())
    except OSError as error:
        raise SettingsError(f"cannot write {file}: {error.strerror}") from None


def _begin_private(file: Path) -> None:
    """Nobody else may read it, from the first byte on."""
    try:
        os.close(os.open(file, os.O_WRONLY | os.O_CREAT, _MODE))
        os.chmod(file, _MODE)
    except OSError as error:
        raise SettingsError(f"cannot write {file}: {error.strerror}") from None


def _quoted(value: str) -> str:
    escaped = (
        value.replace("\\", "\\\\").replace('"', '\\"').replace("\n", "\\n").replace("\r", "\\r").replace("$", "\\$")
    )
    return f'"{escaped}"'
