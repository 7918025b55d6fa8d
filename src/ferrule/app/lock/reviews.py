"""What other servers say about their tools, against what was accepted of them: one record per server, whatever it speaks."""

from __future__ import annotations

import msgspec

from ferrule.contracts.redactor import Redactor
from ferrule.infra.lockfile.compare import Difference
from ferrule.infra.lockfile.file import Lock, LockedServer
from ferrule.infra.lockfile.native import Native
from ferrule.runtime.executors.mcp.looking import Seen
from ferrule.runtime.executors.mcp.upstream import Upstream

TELLING = "its definition holds a secret, which is not written down; tell whoever runs the server"


class Served(msgspec.Struct, frozen=True, kw_only=True):
    """A server, and what is wanted of it."""

    upstream: Upstream
    tools: dict[str, tuple[str, ...]] = {}
    """Of a server that AML definitions name: the tools they name, and the ids of the definitions."""
    is_imported: bool = False


class Review(msgspec.Struct, frozen=True, kw_only=True):
    """One server, against what is pinned of it."""

    served: Served
    pinned: LockedServer | None
    seen: Seen | None = None
    problem: str = ""
    """Why it could not be looked at."""
    offered: dict[str, Native] = {}
    """What it offers of what is wanted and can be used."""
    unfit: dict[str, str] = {}
    """What it offers that cannot become a tool, and why."""
    differences: tuple[Difference, ...] = ()
    notes: tuple[str, ...] = ()
    """What else is not as it was; nothing is refused because of it."""

    @property
    def key(self) -> str:
        """What it is called in the lock."""
        return self.served.upstream.key

    @property
    def is_first(self) -> bool:
        """True when nothing of it was ever pinned."""
        return self.pinned is None and self.seen is not None


class Reviewed(msgspec.Struct, frozen=True):
    """All servers of a workspace."""

    lock: Lock
    servers: tuple[Review, ...]
    unused: tuple[str, ...]
    """In the lock, and nothing names them any more."""


def without_secrets(seen: Seen, redactor: Redactor, key: str = "name") -> tuple[Seen, frozenset[str]]:
    """What a server said, as it may be written down and shown; and the tools whose definitions held a secret, by
    their `key`."""
    tools: list[Native] = []
    telling: set[str] = set()
    for tool in seen.tools:
        cleaned, names = redactor.value(tool)
        tools.append(cleaned)
        if names:
            telling.add(str(cleaned.get(key)))
    name, version, instructions = (redactor.text(text)[0] for text in (seen.name, seen.version, seen.instructions))
    cleaned_seen = msgspec.structs.replace(
        seen, name=name, version=version, instructions=instructions, tools=tuple(tools)
    )
    return cleaned_seen, frozenset(telling)
