"""Stores values that must not be in the settings in the workspace's secret file, which only its owner can read."""

from __future__ import annotations

import os
import re
from collections.abc import Mapping
from pathlib import Path

from ferrule.errors import SettingsError
from ferrule.settings import load_settings

_MODE = 0o600
_NAME = re.compile(r"^\s*(?:export\s+)?(\w+)\s*=", re.MULTILINE)


def list_variables(root: Path, env: Mapping[str, str] = os.environ) -> set[str]:
    """Returns the variables that have a value: in the environment or in the secret file. Raises SettingsError."""
    name = load_settings(root).secrets.env_file
    file = root / name if name else None
    text = file.read_text(encoding="utf-8", errors="replace") if file is not None and file.is_file() else ""
    return {*env, *_NAME.findall(text)}


def keep_secrets(root: Path, values: Mapping[str, str]) -> None:
    """Adds values to the secret file. Raises SettingsError."""
    if not values:
        return
    name = load_settings(root).secrets.env_file
    if not name:
        raise SettingsError("the servers have secrets, and [secrets] env_file is empty: set a file for them first")
    _create_private(root / name)
    append_text(root / name, "".join(f"{key}={_quote(value)}\n" for key, value in values.items()))
    ignored = root / ".gitignore"
    if name not in (ignored.read_text(encoding="utf-8").split() if ignored.exists() else ()):
        append_text(ignored, f"{name}\n.ferrule/keys/\n")


def append_text(file: Path, text: str) -> None:
    """Adds lines to a file. Raises SettingsError."""
    try:
        descriptor = os.open(file, os.O_RDWR | os.O_CREAT | os.O_APPEND, 0o644)
        with os.fdopen(descriptor, "rb+") as opened:
            size = opened.seek(0, os.SEEK_END)
            opened.seek(max(0, size - 1))
            is_whole = opened.read(1) in (b"", b"\n")  # otherwise the text would continue an unfinished last line
            opened.write((b"" if is_whole else b"\n") + text.encode())
    except OSError as error:
        raise SettingsError(f"cannot write {file}: {error.strerror}") from None


def _create_private(file: Path) -> None:
    """Creates a file that only its owner can read, before anything is written into it."""
    try:
        os.close(os.open(file, os.O_WRONLY | os.O_CREAT, _MODE))
        # A file that was there before keeps its mode when it is opened.
        os.chmod(file, _MODE)
    except OSError as error:
        raise SettingsError(f"cannot write {file}: {error.strerror}") from None


def _quote(value: str) -> str:
    escaped = (
        value.replace("\\", "\\\\").replace('"', '\\"').replace("\n", "\\n").replace("\r", "\\r").replace("$", "\\$")
    )
    return f'"{escaped}"'
