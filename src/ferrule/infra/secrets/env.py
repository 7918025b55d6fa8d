"""Reads secrets from environment variables and, for development, from `.env` in the workspace. The environment wins.

Lines of the file are `NAME=value`, perhaps with `export` before them; a value may be quoted, and then span several
lines; `#` begins a comment. Values are neither expanded nor executed. A changed file is read again. Nothing of it
enters the environment of this process, so child processes do not inherit it.
"""

from __future__ import annotations

import logging
import os
import re
from collections.abc import Iterator, Mapping
from pathlib import Path

from ferrule.contracts.secrets import SecretUnavailable
from ferrule.infra.clouds.clouds import Clouds
from ferrule.model.credentials import SecretRef


class EnvironmentSource:
    """Secrets in environment variables."""

    def __init__(self, env: Mapping[str, str], clouds: Clouds) -> None:
        self._env = env

    def is_missing(self, ref: SecretRef) -> bool:
        """True when the variable is not set, or empty."""
        return not self._env.get(ref.name)

    async def fetch(self, ref: SecretRef) -> str:
        """Returns the variable's value."""
        value = self._env.get(ref.name)
        if not value:
            raise SecretUnavailable(f"the environment variable {ref.name} is not set; set it, or put it into .env")
        return value


_LONGEST = 1024**2
_log = logging.getLogger("ferrule.secrets")

_LINE = re.compile(
    r"""[ \t]*(?:export[ \t]+)?(?P<name>[A-Za-z_][A-Za-z0-9_.-]*)[ \t]*=[ \t]*
        (?:'(?P<single>[^']*)'|"(?P<double>(?:[^"\\]|\\.)*)"|(?P<bare>[^'"\n][^\n]*|))
        [ \t]*(?:\#[^\n]*)?(?:\n|\Z)""",
    re.VERBOSE | re.DOTALL,
)
_IDLE = re.compile(r"[ \t]*(?:#[^\n]*)?(?:\n|\Z)")
_COMMENT = re.compile(r"(?:^|[ \t])#.*")
_ESCAPE = re.compile(r"\\(.)", re.DOTALL)
_ESCAPED = {"n": "\n", "r": "\r", "t": "\t", '"': '"', "\\": "\\", "$": "$"}

_State = tuple[int, int, int] | None


class EnvFile(Mapping[str, str]):
    """The variables of an environment, and those that only the file has."""

    def __init__(self, env: Mapping[str, str], path: Path) -> None:
        self._env = env
        self._path = path
        self._state: _State = None
        self._values: dict[str, str] = {}

    def __getitem__(self, name: str) -> str:
        if name in self._env:
            return self._env[name]
        return self._read()[name]

    def __iter__(self) -> Iterator[str]:
        return iter({**self._read(), **self._env})

    def __len__(self) -> int:
        return len({**self._read(), **self._env})

    def __repr__(self) -> str:
        return f"EnvFile({self._path.name!r})"

    def _read(self) -> dict[str, str]:
        state = _read_state(self._path)
        if state != self._state:
            # The values first: a thread that sees the new state must not see the old values.
            self._values = {} if state is None else _read_values(self._path)
            self._state = state
        return self._values


def parse_env_file(text: str) -> tuple[dict[str, str], list[int]]:
    """Returns the variables of a file, and the numbers of invalid lines."""
    text = text.removeprefix("\ufeff").replace("\r\n", "\n")
    values: dict[str, str] = {}
    strange: list[int] = []
    at = 0
    while at < len(text):
        found = _IDLE.match(text, at)
        if found is None:
            found = _LINE.match(text, at)
            if found is not None:
                values[found["name"]] = _read_value(found)
            else:
                strange.append(text.count("\n", 0, at) + 1)
                end = text.find("\n", at)
                at = len(text) if end < 0 else end + 1
                continue
        at = found.end()
    return values, strange


def _read_value(found: re.Match[str]) -> str:
    if found["single"] is not None:
        return found["single"]
    if found["double"] is not None:
        return _ESCAPE.sub(lambda escape: _ESCAPED.get(escape[1], escape[0]), found["double"])
    return _COMMENT.sub("", found["bare"]).strip()


def _read_values(path: Path) -> dict[str, str]:
    try:
        with path.open("rb") as file:
            data = file.read(_LONGEST + 1)
        if len(data) > _LONGEST:
            raise ValueError("it is too long")
        values, strange = parse_env_file(data.decode())
    except (OSError, ValueError) as error:
        _log.warning("%s cannot be read (%s): nothing in it counts", path.name, type(error).__name__)
        return {}
    for line in strange[:10]:
        _log.warning("line %d of %s is no NAME=value: it does not count", line, path.name)
    return values


def _read_state(path: Path) -> _State:
    try:
        found = os.stat(path)
    except OSError:
        return None
    return found.st_mtime_ns, found.st_size, found.st_ino
