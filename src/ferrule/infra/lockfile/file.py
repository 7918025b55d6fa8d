"""`ferrule.lock`: the definitions that a person has accepted, server by server. Text, so that a change is read in Git."""

from __future__ import annotations

import json
import os
from pathlib import Path
from typing import Any

import msgspec

from ferrule.errors import SettingsError
from ferrule.infra.lockfile.native import Native, digest, escaped

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
    """Everything that is pinned: imported servers by their ids, servers of AML tools by their addresses."""

    version: int = _VERSION
    servers: dict[str, LockedServer] = {}

    def tool(self, server: str, name: str) -> LockedTool | None:
        """What is pinned of one tool."""
        found = self.servers.get(server)
        return None if found is None else found.tools.get(name)


def locked_tool(definition: Native, by: str, at: str) -> LockedTool:
    """A definition that somebody has just accepted."""
    return LockedTool(digest=digest(definition), approved_by=by, approved_at=at, definition=definition)


def read_lock(root: Path) -> Lock:
    """The workspace's lock; an empty one when there is no file. Raises SettingsError for one that cannot be trusted."""
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
        if digest(tool.definition) != tool.digest or name != key_of(tool.definition, server):
            raise SettingsError(
                f"{file}: the definition of {name!r} at {server!r} was edited after it was accepted; restore it, or look"
                " at what the server says now with 'ferrule lock --accept'"
            )
    return lock


def write_lock(root: Path, lock: Lock) -> None:
    """Replace the file as a whole."""
    file = root / LOCK_FILE
    beside = file.with_name(f"{LOCK_FILE}.{os.getpid()}")
    beside.write_text(lock_text(lock), encoding="utf-8")
    os.replace(beside, file)


def lock_text(lock: Lock) -> str:
    """The file's text: servers and tools in order, definitions as they came, nothing in them unseen."""
    servers: dict[str, Any] = {}
    for server_id, server in sorted(lock.servers.items()):
        facts = msgspec.structs.asdict(server)
        facts["tools"] = {name: msgspec.structs.asdict(tool) for name, tool in sorted(server.tools.items())}
        servers[server_id] = facts
    text = json.dumps({"version": lock.version, "servers": servers}, indent=2, ensure_ascii=False)
    return f"{escaped(text)}\n"


def key_of(definition: Native, server: str) -> str | None:
    """What a definition is called among its server's: MCP tools by their names, OXP tools by their ids."""
    key = definition.get("id" if server.startswith("oxp:") else "name")
    return key if isinstance(key, str) else None


def _tools(lock: Lock) -> list[tuple[str, str, LockedTool]]:
    return [(key, name, tool) for key, server in lock.servers.items() for name, tool in server.tools.items()]
