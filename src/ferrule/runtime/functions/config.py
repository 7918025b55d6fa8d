"""The config of an ADL agent as its tools get it: read-only, with `${VAR}` filled in from the environment.

Values that fill placeholders count as secrets and are reported for redaction.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping
from types import MappingProxyType
from typing import Any

from ferrule.contracts.executor import ExecutionFailed

_PLACEHOLDER = re.compile(r"\$\{([A-Za-z_][A-Za-z0-9_]*)(?::?-([^}]*))?\}")
_OWNED = "tools"
"""The group of the built-in tools, hidden from all others (ADL-31)."""

OnSecret = Callable[[str, str], None]
"""Receives each secret: the variable's name and its value."""


class Config:
    """One agent's config."""

    def __init__(self, written: object, environment: Mapping[str, str], on_secret: OnSecret | None = None) -> None:
        groups = written if isinstance(written, dict) else {}
        self._environment = environment
        self._on_secret = on_secret
        self._missing: dict[str, str] = {}
        """The first variable that is not set, by section."""
        self.sections: dict[str, Any] = {
            name: self._fill(group, name) for name, group in groups.items() if name != _OWNED
        }

    def get(self, path: str) -> object:
        """Returns a section, a value in it (`database.pool`), or everything for an empty path.

        Raises ExecutionFailed (`setup_required`) when the value is missing, or a variable it needs is not set.
        """
        section, *below = path.split(".") if path else [""]
        for name in [section] if section else self._missing:
            if name in self._missing:
                variable = self._missing[name]
                raise ExecutionFailed(
                    "setup_required",
                    f"config.{name} needs the environment variable {variable}, which is not set; set it",
                )
        value: Any = MappingProxyType(self.sections)
        for name in [section, *below] if section else ():
            if not isinstance(value, Mapping) or name not in value:
                raise ExecutionFailed("setup_required", f"the agent's config has no {path!r}; add it to spec.config")
            value = value[name]
        return value

    def _fill(self, value: object, section: str) -> object:
        if isinstance(value, dict):
            return MappingProxyType({name: self._fill(member, section) for name, member in value.items()})
        if isinstance(value, list):
            return tuple(self._fill(member, section) for member in value)
        return self._fill_text(value, section) if isinstance(value, str) else value

    def _fill_text(self, text: str, section: str) -> str:
        def fill(found: re.Match[str]) -> str:
            name, default = found[1], found[2]
            value = self._environment.get(name, "")
            if value:
                if self._on_secret is not None:
                    self._on_secret(name, value)
                return value
            if default is None:
                self._missing.setdefault(section, name)
            return default or ""

        return _PLACEHOLDER.sub(fill, text)
