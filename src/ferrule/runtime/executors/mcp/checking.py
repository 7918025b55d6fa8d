"""Holds a server to what was accepted of it: its definitions now against those in the lock, before anything is sent."""

from __future__ import annotations

from pathlib import Path

from ferrule.contracts.executor import ExecutionFailed
from ferrule.errors import SettingsError
from ferrule.infra.lockfile.compare import differences
from ferrule.infra.lockfile.file import LOCK_FILE, Lock, read_lock
from ferrule.infra.lockfile.native import Native
from ferrule.runtime.executors.mcp.failures import blocked
from ferrule.runtime.executors.mcp.upstream import Place


class Pinned:
    """What is accepted, read again whenever the file changes."""

    def __init__(self, root: Path, *, is_required: bool) -> None:
        self._root = root
        self._is_required = is_required
        self._stamp: tuple[int, int, int] | None = None
        self._lock = Lock()

    def definitions(self, place: Place) -> dict[str, Native]:
        """The accepted definitions of a tool's server; empty when nobody demands one for this tool.

        Raises ExecutionFailed (`policy_blocked`) when one is demanded and not there, or the file cannot be trusted.
        """
        if place.is_own:
            return {}
        label = place.upstream.label
        try:
            lock = self._read()
        except SettingsError as error:
            raise ExecutionFailed("policy_blocked", str(error), code="lock_damaged", is_retryable=False) from None
        server = lock.servers.get(place.upstream.key)
        pinned = {name: tool.definition for name, tool in server.tools.items()} if server is not None else {}
        if place.accepted is not None:
            # What the caller saw and was allowed counts, also when somebody has accepted something else since.
            return {**pinned, place.tool_name: place.accepted}
        if place.tool_name in pinned:
            return pinned
        if self._is_required:
            raise blocked(label, place.tool_name, f"it is not in {LOCK_FILE}, and [mcp] require_lock wants it there",
                          "upstream_unlocked")  # fmt: skip
        return {}

    def _read(self) -> Lock:
        file = self._root / LOCK_FILE
        try:
            facts = file.stat()
        except OSError:
            self._stamp, self._lock = None, Lock()
            return self._lock
        stamp = (facts.st_mtime_ns, facts.st_size, facts.st_ino)
        if stamp != self._stamp:
            self._lock, self._stamp = read_lock(self._root), stamp
        return self._lock


def demand_unchanged(place: Place, pinned: dict[str, Native], live: tuple[Native, ...]) -> None:
    """Raises ExecutionFailed (`policy_blocked`, `upstream_changed`) when the tool is not what was accepted."""
    for found in differences(pinned, live):
        if found.tool == place.tool_name and found.kind != "new":
            raise blocked(place.upstream.label, place.tool_name, found.text)
