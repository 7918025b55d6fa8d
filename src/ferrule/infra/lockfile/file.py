"""Reads and writes `ferrule.lock`: the definitions that a person has accepted, server by server, as text for Git.

Definitions stay as a server gave them; a digest identifies equal ones, and unseen characters in texts are escaped.
`compare.py` compares, `tools.py` and `oxp_tools.py` make tools; nothing connects to a server.
"""

from __future__ import annotations

import hashlib
import json
import os
import re
from pathlib import Path
from typing import Any

import msgspec

from ferrule.errors import SettingsError
from ferrule.model.value import JsonObject

Native = dict[str, Any]
"""One entry of `tools/list`, as it came."""

_BLANK = frozenset("\u034f\u115f\u1160\u17b4\u17b5\u2800\u3164\uffa0")
"""Letters and marks by their class, but invisible to a reader."""
_SELECTORS = ((0xFE00, 0xFE0F), (0x180B, 0x180F), (0xE0100, 0xE01EF))
"""They change how the letter before looks, if at all; long runs of them hide texts."""
_NAME = re.compile(r"[A-Za-z0-9_][A-Za-z0-9_./-]{0,127}")


def is_usable_name(name: object) -> bool:
    """True for a name that can be called and written anywhere."""
    return isinstance(name, str) and _NAME.fullmatch(name) is not None


def digest(definition: Native) -> str:
    """Returns the digest of a definition, independent of the order of its members."""
    text = json.dumps(definition, sort_keys=True, separators=(",", ":"))
    return f"sha256:{hashlib.sha256(text.encode()).hexdigest()}"


def is_unseen(character: str) -> bool:
    """True for characters a person does not see: zero width, direction marks, tags, control characters, odd blanks."""
    if character in _BLANK or not character.isprintable():
        return True
    code = ord(character)
    return any(first <= code <= last for first, last in _SELECTORS)


def has_unseen(value: object) -> bool:
    """True when a text in a definition holds such a character; line breaks and tabs are expected."""
    text = json.dumps(value, ensure_ascii=False, indent=None)
    return any(map(is_unseen, text))


def encode_visible(value: object) -> str:
    """Encodes a value as JSON on one line, with unseen characters escaped."""
    return escape_unseen(json.dumps(value, ensure_ascii=False))


def escape_unseen(text: str) -> str:
    """Escapes the unseen characters of a JSON text. It remains the same JSON."""
    if text.isascii() and text.isprintable():
        return text
    return "".join(_number(character) if _is_hidden_in_json(character) else character for character in text)


def _is_hidden_in_json(character: str) -> bool:
    return character != "\n" and is_unseen(character)


def _number(character: str) -> str:
    units = character.encode("utf-16-be", "surrogatepass")
    return "".join(f"\\u{units[at]:02x}{units[at + 1]:02x}" for at in range(0, len(units), 2))


LOCK_FILE = "ferrule.lock"
_VERSION = 1


class LockedTool(msgspec.Struct, frozen=True, kw_only=True):
    """One accepted definition."""

    digest: str
    """Of `definition`."""
    approved_by: str
    approved_at: str
    """RFC 3339."""
    definition: Native
    """As the server gave it."""


class LockedServer(msgspec.Struct, frozen=True, kw_only=True):
    """One server, as it was when its tools were accepted."""

    source: str
    """Its address, or the program that is started."""
    name: str = ""
    version: str = ""
    protocol_version: str = ""
    instructions: str = ""
    tools: dict[str, LockedTool] = {}


class Lock(msgspec.Struct, frozen=True, kw_only=True):
    """All pinned definitions: of imported servers by their ids, of AML tools' servers by their addresses."""

    version: int = _VERSION
    servers: dict[str, LockedServer] = {}

    def tool(self, server: str, name: str) -> LockedTool | None:
        """Returns the pinned definition of one tool."""
        found = self.servers.get(server)
        return None if found is None else found.tools.get(name)


def make_locked_tool(definition: Native, by: str, at: str) -> LockedTool:
    """Returns the record of a definition that a person has just accepted."""
    return LockedTool(digest=digest(definition), approved_by=by, approved_at=at, definition=definition)


def read_lock(root: Path) -> Lock:
    """Returns the workspace's lock; an empty one when there is no file. Raises SettingsError for one that cannot be
    trusted."""
    file = root / LOCK_FILE
    try:
        text = file.read_text(encoding="utf-8")
    except FileNotFoundError:
        return Lock()
    except (OSError, UnicodeDecodeError) as error:
        raise SettingsError(f"{file} cannot be read: {error}") from None
    try:
        lock = msgspec.convert(json.loads(text), Lock)
    except (ValueError, RecursionError) as error:  # a ValidationError is one too
        raise SettingsError(
            f"{file} is damaged ({error}); restore it, or pin anew with 'ferrule lock --accept'"
        ) from None
    if lock.version != _VERSION:
        raise SettingsError(f"{file} is of version {lock.version}, and this Ferrule knows version {_VERSION}")
    for server, name, tool in _tools(lock):
        if digest(tool.definition) != tool.digest or name != find_tool_key(tool.definition, server):
            raise SettingsError(
                f"{file}: the definition of {name!r} at {server!r} was edited after it was accepted; restore it, or look"
                " at what the server says now with 'ferrule lock --accept'"
            )
    return lock


def write_lock(root: Path, lock: Lock) -> None:
    """Replaces the file atomically."""
    file = root / LOCK_FILE
    beside = file.with_name(f"{LOCK_FILE}.{os.getpid()}")
    beside.write_text(encode_lock(lock), encoding="utf-8")
    os.replace(beside, file)


def encode_lock(lock: Lock) -> str:
    """Returns the file's text: servers and tools in order, definitions unchanged, unseen characters escaped."""
    servers: JsonObject = {}
    for server_id, server in sorted(lock.servers.items()):
        facts = msgspec.structs.asdict(server)
        facts["tools"] = {name: msgspec.structs.asdict(tool) for name, tool in sorted(server.tools.items())}
        servers[server_id] = facts
    text = json.dumps({"version": lock.version, "servers": servers}, indent=2, ensure_ascii=False)
    return f"{escape_unseen(text)}\n"


def find_tool_key(definition: Native, server: str) -> str | None:
    """Returns the key of a definition among its server's: the name of MCP tools, the id of OXP tools."""
    key = definition.get("id" if server.startswith("oxp:") else "name")
    return key if isinstance(key, str) else None


def _tools(lock: Lock) -> list[tuple[str, str, LockedTool]]:
    return [(key, name, tool) for key, server in lock.servers.items() for name, tool in server.tools.items()]
