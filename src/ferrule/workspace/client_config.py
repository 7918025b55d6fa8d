"""Reads the MCP servers in the configuration file of a desktop client, in any of their formats.

Secrets in values of variables and headers are separated, so that an import can store them elsewhere. Words of a command and
addresses cannot hold references, so an apparent secret there is only noted.
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
from ferrule.model.value import JsonObject

_LISTS = (("mcpServers",), ("servers",), ("mcp", "servers"), ("context_servers",), ("mcp",))
"""The keys of server lists: Claude, Cursor, Windsurf; VS Code; its settings.json; Zed; opencode."""
_URLS = ("url", "serverUrl", "httpUrl", "uri")
_COMMENTS = re.compile(r'("(?:[^"\\]|\\.)*")|//[^\n]*|/\*.*?\*/', re.DOTALL)
_TRAILING = re.compile(r'("(?:[^"\\]|\\.)*")|,(?=\s*[}\]])', re.DOTALL)
_NAMED = re.compile(r"\$\{(?:env:)?([A-Za-z_][A-Za-z0-9_]*)\}|\$\{input:([^}]+)\}")
_FILLED = re.compile(r"\$\{((?:env:|input:)?+[^{}:]*+)[^{}]*+\}")
"""A placeholder of any client, by its name; a default value after the name may be a secret."""
_BEARER = re.compile(r"[Bb]earer\s+(.+)")
_SECRET = re.compile(
    r"(?:^|[-_.])(?:(?:api|access|private|secret|auth)?key|(?:api|access|auth|bearer|refresh)?token|secret|pass(?:word|wd|phrase)?"
    r"|pwd|auth|authorization|credentials?|bearer|pat|dsn|connection[-_.]?string)(?:[-_.](?:header|value|[0-9]+))?$",
    re.IGNORECASE,
)
"""Names of options, variables, headers and members that hold a secret."""
_HUMP = re.compile(r"(?<=[a-z0-9])(?=[A-Z])")
# Possessive quantifiers (`++`): a long word without a value is read once.
_VALUED = re.compile(
    r"""(?<![\w.-])([\w.-]{1,64}+)["']?+(?=\s*+[=:]\s*+["']?+(?:(?:bearer|basic|token)\s++)?+(?!\$|//)[^\s=&#"'])""",
    re.IGNORECASE,
)
"""A name with its value in one word: an option, a variable, a header, a part of a query. A reference is no value."""
_USER = re.compile(r"://[^/?#\s@]+@")
_LONGEST = 4 * 1024**2
_LONGEST_NAME = 64


class ClientServer(msgspec.Struct, frozen=True, kw_only=True):
    """One server of a client's configuration."""

    name: str
    """A valid id for the settings."""
    server: McpServerSettings
    secrets: dict[str, str] = {}
    """Values for the secret file, by variable."""
    notes: tuple[str, ...] = ()
    """Settings that could not be imported exactly."""


def read_servers(
    file: Path, variables: Collection[str] = (), unusable: Callable[[str], None] = lambda problem: None
) -> list[ClientServer]:
    """Returns the enabled servers of a client's configuration. `variables`: names that have a value already, which no server's
    secret may replace. Raises SettingsError."""
    found = _find_list(_read(file))
    if found is None:
        raise SettingsError(f"{file} lists no MCP servers: there is neither 'mcpServers' nor 'servers' in it")
    taken: list[ClientServer] = []
    problems: list[str] = []
    used = set(variables)
    for title, said in found.items():
        if isinstance(said, dict) and not said.get("disabled") and said.get("enabled") is not False:
            try:
                taken.append(_import_server(title, said, {one.name for one in taken}, file, used))
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
        return json.loads(_strip(_TRAILING, _strip(_COMMENTS, text)))
    except (ValueError, RecursionError) as error:
        raise SettingsError(f"{file} is not JSON: {error}") from None


def _strip(pattern: re.Pattern[str], text: str) -> str:
    """Removes a pattern's matches outside strings: clients write comments into their JSON."""
    return pattern.sub(lambda match: match[1] or "", text)


def _find_list(config: object) -> JsonObject | None:
    for path in _LISTS:
        found: Any = config
        for name in path:
            found = found.get(name) if isinstance(found, dict) else {}
        if isinstance(found, dict) and any(_is_server(one) for one in found.values()):
            return found
    return None


def _is_server(said: object) -> bool:
    return isinstance(said, dict) and any(name in said for name in ("command", *_URLS))


def _import_server(title: str, said: JsonObject, others: set[str], file: Path, used: set[str]) -> ClientServer:
    name = _build_free_name(title, others)
    keep = _SecretSplitter(name, used)
    url = next((said[key] for key in _URLS if isinstance(said.get(key), str)), "")
    try:
        json.dumps(said, ensure_ascii=False).encode()  # JSON may hold lone surrogates, files may not
        if url:
            server = McpServerSettings(url=_check_url(url), credentials=keep.build_credentials(said.get("headers")))
            keep.notes += _note_url(url)
        else:
            server = McpServerSettings(command=_read_command(said), env=dict(keep.replace_env(said.get("env"))), cwd="")
            keep.notes += _note_command(server)
        check_server(name, server)
        read_credentials(server.credentials or None)
    except (TypeError, ValueError, SettingsError) as error:
        raise SettingsError(f"{file}: the server {_shorten(title)!r} cannot be imported: {error}") from None
    if len(title) > _LONGEST_NAME:
        keep.notes.append("its name was too long, and was shortened to this")
    if said.get("cwd"):
        keep.notes.append(f"its folder {said['cwd']!r} is not imported; set cwd below the workspace if it needs one")
    return ClientServer(name=name, server=server, secrets=keep.secrets, notes=tuple(keep.notes))


def _check_url(written: str) -> str:
    """Checks an address, and returns it. Raises ValueError for an unusable one."""
    if named := _FILLED.search(written):
        raise ValueError(f"its url contains ${{{named[1]}}}, and addresses take no references; write the value")
    try:
        parse_url(written)
    except BadUrl as error:
        raise ValueError(f"its url cannot be used: {error}") from None
    return written


def _read_command(said: JsonObject) -> tuple[str, ...]:
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
            else "it has neither a command nor a url; correct or remove it"
        )
    return tuple(words)


def _note_url(url: str) -> Iterator[str]:
    for name in _find_secrets((url,)):
        yield (
            f"{name!r} in its url looks like a secret, and is written to ferrule.toml and ferrule.lock; if the server takes"
            " it in a header, write it into credentials instead, and share neither file before"
        )


def _note_command(server: McpServerSettings) -> Iterator[str]:
    for name in _find_secrets(server.command):
        yield (
            f"{name!r} in its args looks like a secret, and is written to ferrule.toml and ferrule.lock; if the program"
            " takes it from a variable, write it into env instead, and share neither file before"
        )
    # The program expands its own variables itself, as mcp-remote does.
    named = dict.fromkeys(found[1] for word in server.command for found in _FILLED.finditer(word))
    for name in named:
        if name not in server.env:
            yield f"${{{name}}} in its args is passed on unchanged; write its value into command in ferrule.toml"


def _find_secrets(words: Sequence[str]) -> list[str]:
    """Returns names of apparent secrets; a value is never read as a name."""
    found: dict[str, None] = {}
    is_value = False
    for word, after in zip(words, (*words[1:], ""), strict=True):
        if is_value:
            is_value = False
            continue
        named = next((match[1] for match in _VALUED.finditer(word) if _is_secret(match[1])), None)
        if named is not None:  # the next word may be its value
            found[named] = None
        if _USER.search(word):
            found["user:password@"] = None
        if word.startswith("-") and _is_secret(word) and after and not after.startswith(("-", "$")):
            found[word] = None
            is_value = True
    return list(found)


def _is_secret(name: str) -> bool:
    return _SECRET.search(_HUMP.sub("-", name)) is not None


def _build_free_name(title: str, others: set[str]) -> str:
    """Returns a legal id like the title that is not taken."""
    plain = re.sub(r"[^A-Za-z0-9_-]+", "-", title).strip("-_")[:_LONGEST_NAME].rstrip("-_") or "server"
    name, number = plain, 2
    while name in others:
        name, number = f"{plain}-{number}", number + 1
    return name


def _read_members(said: object, what: str) -> JsonObject:
    if said is not None and not isinstance(said, dict):
        raise ValueError(f'its {what} are not names with values; write {{"NAME": "value"}}')
    return said or {}


def _shorten(title: str) -> str:
    return title if len(title) <= _LONGEST_NAME else f"{title[:_LONGEST_NAME]}…"


class _SecretSplitter:
    """Separates the secrets of one server from its other settings."""

    def __init__(self, name: str, used: set[str]) -> None:
        """`used`: variables with another meaning, so that a secret goes to one server only, not to one of a similar name."""
        self._used = used
        self._prefix = re.sub(r"[^A-Z0-9]+", "_", name.upper())
        self.secrets: dict[str, str] = {}
        self.notes: list[str] = []

    def replace_env(self, said: object) -> Iterator[tuple[str, str]]:
        """Yields its variables, each as a reference."""
        for name, value in _read_members(said, "env").items():
            yield name, self.replace_value(name, value if isinstance(value, str) else json.dumps(value))

    def replace_value(self, name: str, value: str) -> str:
        """Returns a text with references instead of values; the client's own references are kept."""
        if _NAMED.search(value):
            return _NAMED.sub(self._replace_reference, value)
        variable = plain = f"{self._prefix}_{re.sub(r'[^A-Z0-9]+', '_', name.upper())}"
        number = 2
        while variable in self._used:
            variable, number = f"{plain}_{number}", number + 1
        self._used.add(variable)
        self.secrets[variable] = value
        return f"${{{variable}}}"

    def _replace_reference(self, match: re.Match[str]) -> str:
        if match[1]:
            return f"${{{match[1]}}}"
        variable = f"{self._prefix}_{re.sub(r'[^A-Z0-9]+', '_', match[2].upper()).strip('_')}"
        self.notes.append(f"the client prompts for {match[2]!r}: set it in .env as {variable}")
        return f"${{{variable}}}"

    def build_credentials(self, headers: object) -> JsonObject:
        """Returns the credential in its headers."""
        shown = {name: value for name, value in _read_members(headers, "headers").items() if isinstance(value, str)}
        for name, value in shown.items():
            bearer = _BEARER.fullmatch(value) if name.lower() == "authorization" else None
            written = self.replace_value("TOKEN" if bearer else name, bearer[1] if bearer else value)
            if not _NAMED.fullmatch(written):
                self.notes.append(
                    f"its header {name!r} is more than one variable: put all of it into one, in credentials"
                )
                continue
            variable = written[2:-1]
            others = [other for other in shown if other != name]
            if others:
                self.notes.append(f"its headers {', '.join(others)} are not imported: a server has one credential")
            kind = {"scheme": "bearer-token"} if bearer else {"scheme": "api-key", "header": name}
            return {**kind, "source": "env", "name": variable}
        return {}
