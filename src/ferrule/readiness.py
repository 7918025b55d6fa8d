"""What this process has for its tools. Functions bring what they need along; nothing else can be set up here yet."""

from __future__ import annotations

from collections.abc import Callable, Collection, Sequence

from ferrule.contracts.readiness import Provider
from ferrule.model.tool import Tool


class Here:
    """The readiness of one process."""

    def __init__(self, can_run: Callable[[Tool], bool]) -> None:
        self._can_run = can_run

    def missing_credentials(self, tool: Tool, names: Sequence[str]) -> Collection[str]:
        """None: a function has its own; a tool nobody here can run is refused for that instead."""
        return ()

    def is_set_up(self, tool: Tool) -> bool:
        """True when a function was bound to the tool, which is how tools are set up here."""
        return self._can_run(tool)

    def provider(self, tool: Tool) -> Provider | None:
        """Nobody to wait for."""
        return None
