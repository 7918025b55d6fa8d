"""Where and how a workspace is served: `[serve]` in ferrule.toml, changed by the environment, changed by options."""

from __future__ import annotations

import os
from collections.abc import Mapping
from typing import Any

import msgspec

from ferrule.errors import SettingsError
from ferrule.model.serving import ServeSettings
from ferrule.settings import load_settings
from ferrule.workspace.workspace import Workspace

PREFIX = "FERRULE_SERVE_"
NAMES = {"host": str, "port": int, "public_url": str, "processes": int, "log_level": str}
"""What the environment may say: `FERRULE_SERVE_PORT=9000`."""


def serve_settings(workspace: Workspace, options: Mapping[str, Any] | None = None) -> ServeSettings:
    """The settings of the file, changed by the environment, changed by the options. Raises SettingsError."""
    said = said_by_environment() | dict(options or {})
    settings = load_settings(workspace.root).serve
    try:
        said["public_url"] = str(said.get("public_url", settings.public_url)).rstrip("/")  # paths begin with theirs
        return msgspec.convert({**msgspec.structs.asdict(settings), **said}, ServeSettings, from_attributes=True)
    except msgspec.ValidationError as error:
        raise SettingsError(f"[serve], {PREFIX}… or an option cannot be used: {error}") from None


def said_by_environment(environment: Mapping[str, str] = os.environ) -> dict[str, Any]:
    """What the variables say, by setting. Raises SettingsError."""
    said: dict[str, Any] = {}
    for name, kind in NAMES.items():
        text = environment.get(PREFIX + name.upper())
        if text:
            if kind is int and not text.isdecimal():
                raise SettingsError(f"{PREFIX}{name.upper()} is {text!r}; write a whole number")
            said[name] = kind(text)
    return said
