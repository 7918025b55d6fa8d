"""Reading what a desktop client knows of MCP servers: its configuration file, in any of the forms there are.

Secrets that stand in such a file are told apart from the rest, so that whoever takes the servers over can keep them elsewhere:
values of variables and headers. Words of a command and addresses hold no references; what looks like a secret there is noted.
"""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Collection, Iterator, Sequence
from pathlib import Path
from typing import Any

import msgspec

from ferrule.errors import SettingsError
from ferrule.infra.lockfile.tools import check_server
from ferrule.infra.network.urls import BadUrl, parse_url
from ferrule.model.credentials import read_credentials
from ferrule.model.upstreams import McpServerSettings

_LISTS = (("mcpServers",), ("servers",), ("mcp", "servers"), ("context_servers",), ("mcp",))
"""Where clients keep their servers: Claude, Cursor, Windsurf; VS Code; its settings.json; Zed; opencode."""
_URLS = ("url", "serverUrl", "httpUrl", "uri")
_COMMENTS = re.compile(r'("(?:[^"\\]|\\.)*")|//[^\n]*|/\*.*?\*/', re.DOTALL)
_TRAILING = re.compile(r'("(?:[^"\\]|\\.)*")|,(?=\s*[}\]])', re.DOTALL)
_NAMED = re.compile(r"\$\{(?:env:)?([A-Za-z_][A-Za-z0-9_]*)\}|\$\{input:([^}]+)\}")
_FILLED = re.compile(r"\$\{((?:env:|input:)?+[^{}:]*+)[^{}]*+\}")
"""What some client or other fills in, by its name; a default value behind the name may be a secret."""
_BEARER = re.compile(r"[Bb]earer\s+(.+)")
_SECRET = re.compile(
    r"(?:^|[-_.])(?:(?:api|access|private|secret|auth)?key|(?:api|access|auth|bearer|refresh)?token|secret|pass(?:word|wd|phrase)?"
    r"|pwd|auth|authorization|credentials?|bearer|pat|dsn|connection[-_.]?string)(?:[-_.](?:header|value|[0-9]+))?$",
    re.IGNORECASE,
)
"""Names of options, variables, headers and members that hold a secret."""
_HUMP = re.compile(r"(?<=[a-z0-9])(?=[A-Z])")
_VALUED = re.compile(
    r"""(?<![\w.-])([\w.-]{1,64}+)["']?+(?=\s*+[=:]\s*+["']?+(?:(?:bearer|basic|token)\s++)?+(?!\$|//)[^\s=&#"'])""",
    re.IGNORECASE,
)
"""A name with its value in one word: an option, a variable, a header, a part of a query. What is looked up is no value."""
_USER = re.compile(r"://[^/?#\s@]+@")
_LONGEST = 4 * 1024**2
_LONGEST_NAME = 64


class Taken(msgspec.Struct, frozen=True, kw_only=True):
    """One server of a client's."""

    name: str
    """An id that the settings take."""
    server: McpServerSettings
    secrets: dict[str, str] = {}
    """Values for the file of secrets, by variable."""
    notes: tuple[str, ...] = ()
    """What could not be taken over as it was."""


def servers_in(
    file: Path, variables: Collection[str] = (), unusable: Callable[[str], None] = lambda problem: None
) -> list[Taken]:
    """Returns the enabled servers of a client's configuration. `variables`: names that have a value already, which no server's
    secret may replace. Raises SettingsError."""
    found = _list_in(_read(file))
    if found is None:
        raise SettingsError(f"{file} lists no MCP servers: there is neither 'mcpServers' nor 'servers' in it")
    taken: list[Taken] = []
    problems: list[str] = []
    used = set(variables)
    for title, said in found.items():
        if isinstance(said, dict) and not said.get("disabled") and said.get("enabled") is not False:
            try:
                taken.append(_taken(title, said, {one.name for one in taken}, file, used))
            except SettingsError as error:
                problems.append(str(error))
    for problem in problems if taken else ():
        unusable(problem)
    if not taken:
        raise SettingsError("; ".join(problems) or f"{file} lists no MCP server that is switched on")
    return taken


def _read(file: Path) -> Any:
    try:
        if file.stat().st_size > _LONGEST:
            raise SettingsError(f"{file} is too large for a client's configuration")
        text = file.read_text(encoding="utf-8-sig")
    except OSError as error:
        raise SettingsError(f"{file} cannot be read: {error.strerror}") from None
    except UnicodeDecodeError:
        raise SettingsError(f"{file} is no text") from None
    try:
        return json.loads(_without(_TRAILING, _without(_COMMENTS, text)))
    except (ValueError, RecursionError) as error:
        raise SettingsError(f"{file} is not JSON: {error}") from None


def _without(pattern: re.Pattern[str], text: str) -> str:
    """Returns a text without what a pattern finds outside strings: clients write comments into their JSON."""
    return pattern.sub(lambda match: match[1] or "", text)


def _list_in(config: Any) -> dict[str, Any] | None:
    for path in _LISTS:
        found: Any = config
        for name in path:
            found = found.get(name) if isinstance(found, dict) else {}
        if isinstance(found, dict) and any(_is_server(one) for one in found.values()):
            return found
    return None


def _is_server(said: Any) -> bool:
    return isinstance(said, dict) and any(name in said for name in ("command", *_URLS))


def _taken(title: str, said: dict[str, Any], others: set[str], file: Path, used: set[str]) -> Taken:
    name = _free(title, others)
    keep = _Keeper(name, used)
    url = next((said[key] for key in _URLS if isinstance(said.get(key), str)), "")
    try:
        json.dumps(said, ensure_ascii=False).encode()  # halves of characters can be in JSON, and in no file
        if url:
            server = McpServerSettings(url=_url(url), credentials=keep.credentials(said.get("headers")))
            keep.notes += _about_url(url)
        else:
            server = McpServerSettings(command=_command(said), env=dict(keep.env(said.get("env"))), cwd="")
            keep.notes += _about_command(server)
        check_server(name, server)
        read_credentials(server.credentials or None)
    except (TypeError, ValueError, SettingsError) as error:
        raise SettingsError(f"{file}: the server {_short(title)!r} cannot be taken over: {error}") from None
    if len(title) > _LONGEST_NAME:
        keep.notes.append("its name was too long, and was shortened to this")
    if said.get("cwd"):
        keep.notes.append(f"its folder {said['cwd']!r} is not taken over; set cwd below the workspace if it needs one")
    return Taken(name=name, server=server, secrets=keep.secrets, notes=tuple(keep.notes))


def _url(written: str) -> str:
    """Returns an address as it was written. Raises ValueError for one that nothing can be reached at."""
    if named := _FILLED.search(written):
        raise ValueError(f"its url has ${{{named[1]}}} in it, and addresses are not filled in here; write it out")
    try:
        parse_url(written)
    except BadUrl as error:
        raise ValueError(f"its url cannot be used: {error}") from None
    return written


def _command(said: dict[str, Any]) -> tuple[str, ...]:
    command: Any = said.get("command")
    args: Any = said.get("args")
    if isinstance(command, dict):  # Zed
        command, args = command.get("path"), command.get("args")
    args = [] if args is None else args
    if not isinstance(args, list):
        raise ValueError('its args are not a list of words; write ["one", "two"]')
    words = [*command, *args] if isinstance(command, list) else [command, *args]
    if not all(isinstance(word, str) and word for word in words):
        raise ValueError(
            "its command is not a list of words"
            if command
            else "it has neither a command nor a url; mend it, or take it out"
        )
    return tuple(words)


def _about_url(url: str) -> Iterator[str]:
    for name in _secrets_in((url,)):
        yield (
            f"{name!r} in its url looks like a secret, and stands in ferrule.toml and ferrule.lock as it is; if the server takes"
            " it in a header, write it into credentials instead, and share neither file before"
        )


def _about_command(server: McpServerSettings) -> Iterator[str]:
    for name in _secrets_in(server.command):
        yield (
            f"{name!r} in its args looks like a secret, and stands in ferrule.toml and ferrule.lock as it is; if the program"
            " takes it from a variable, write it into env instead, and share neither file before"
        )
    # What the program has in its own variables, it fills in by itself: mcp-remote does.
    named = dict.fromkeys(found[1] for word in server.command for found in _FILLED.finditer(word))
    for name in named:
        if name not in server.env:
            yield f"${{{name}}} in its args is handed on as it is; write what it stands for into command in ferrule.toml"


def _secrets_in(words: Sequence[str]) -> list[str]:
    """What looks like a secret, by what it is called; nothing of a value is taken for a name."""
    found: dict[str, None] = {}
    is_value = False
    for word, after in zip(words, (*words[1:], ""), strict=True):
        if is_value:
            is_value = False
            continue
        named = next((match[1] for match in _VALUED.finditer(word) if _is_secret(match[1])), None)
        if named is not None:  # what comes after it may be its value
            found[named] = None
        if _USER.search(word):
            found["user:password@"] = None
        if word.startswith("-") and _is_secret(word) and after and not after.startswith(("-", "$")):
            found[word] = None
            is_value = True
    return list(found)


def _is_secret(name: str) -> bool:
    return _SECRET.search(_HUMP.sub("-", name)) is not None


def _free(title: str, others: set[str]) -> str:
    """Returns an id like the title, legal and not taken."""
    plain = re.sub(r"[^A-Za-z0-9_-]+", "-", title).strip("-_")[:_LONGEST_NAME].rstrip("-_") or "server"
    name, number = plain, 2
    while name in others:
        name, number = f"{plain}-{number}", number + 1
    return name


def _members(said: Any, what: str) -> dict[str, Any]:
    if said is not None and not isinstance(said, dict):
        raise ValueError(f'its {what} are not names with values; write {{"NAME": "value"}}')
    return said or {}


def _short(title: str) -> str:
    return title if len(title) <= _LONGEST_NAME else f"{title[:_LONGEST_NAME]}…"


class _Keeper:
    """Takes the secrets of one server out of what is said about it."""

    def __init__(self, name: str, used: set[str]) -> None:
        """`used`: variables that mean something else: a secret goes to one server, and to no other of a similar name."""
        self._used = used
        self._prefix = re.sub(r"[^A-Z0-9]+", "_", name.upper())
        self.secrets: dict[str, str] = {}
        self.notes: list[str] = []

    def env(self, said: Any) -> Iterator[tuple[str, str]]:
        """Its variables, each a reference."""
        for name, value in _members(said, "env").items():
            yield name, self.text(name, value if isinstance(value, str) else json.dumps(value))

    def text(self, name: str, value: str) -> str:
        """Returns a text with references instead of values: what a client looks up is looked up here, too."""
        if _NAMED.search(value):
            return _NAMED.sub(self._named, value)
        variable = plain = f"{self._prefix}_{re.sub(r'[^A-Z0-9]+', '_', name.upper())}"
        number = 2
        while variable in self._used:
            variable, number = f"{plain}_{number}", number + 1
        self._used.add(variable)
        self.secrets[variable] = value
        return f"${{{variable}}}"

    def _named(self, match: re.Match[str]) -> str:
        if match[1]:
            return f"${{{match[1]}}}"
        variable = f"{self._prefix}_{re.sub(r'[^A-Z0-9]+', '_', match[2].upper()).strip('_')}"
        self.notes.append(f"the client asks its user for {match[2]!r}: put it into .env as {variable}")
        return f"${{{variable}}}"

    def credentials(self, headers: Any) -> dict[str, Any]:
        """What its headers show."""
        shown = {name: value for name, value in _members(headers, "headers").items() if isinstance(value, str)}
        for name, value in shown.items():
            bearer = _BEARER.fullmatch(value) if name.lower() == "authorization" else None
            written = self.text("TOKEN" if bearer else name, bearer[1] if bearer else value)
            if not _NAMED.fullmatch(written):
                self.notes.append(
                    f"its header {name!r} is more than one variable: put all of it into one, in credentials"
                )
                continue
            variable = written[2:-1]
            others = [other for other in shown if other != name]
            if others:
                self.notes.append(f"its headers {', '.join(others)} are not taken over: a server has one credential")
            kind = {"scheme": "bearer-token"} if bearer else {"scheme": "api-key", "header": name}
            return {**kind, "source": "env", "name": variable}
        return {}
