"""What this process has for its tools: bound functions, the secrets that transports name, the tools that are switched on."""

from __future__ import annotations

from collections.abc import Callable, Collection, Sequence

from ferrule.contracts.readiness import Provider
from ferrule.model.tool import Tool


class Here:
    """The readiness of one process."""

    def __init__(
        self,
        is_bound: Callable[[Tool], bool],
        is_switched_on: Callable[[Tool], bool] = lambda tool: False,
        missing: Callable[[Tool], Collection[str]] = lambda tool: (),
    ) -> None:
        """`is_bound`: whether a function or a program does a tool's work. `missing`: the secrets of a tool that are known not to
        be there, by name; nobody is asked for them."""
        self._is_bound = is_bound
        self._is_switched_on = is_switched_on
        self._missing = missing

    def missing_credentials(self, tool: Tool, names: Sequence[str]) -> Collection[str]:
        """Those that are known not to be here (AT-36). A function that is bound brings its own."""
        return () if self._is_bound(tool) and tool.dialect == "aml" else self._missing(tool)

    def is_set_up(self, tool: Tool) -> bool:
        """True when a function or a program was bound to the tool, which is how tools are set up here. That an executor takes
        tools of its kind is no setup (AT-14)."""
        return self._is_bound(tool)

    def is_switched_on(self, tool: Tool) -> bool:
        """True for a built-in tool that the environment enables."""
        return self._is_switched_on(tool)

    def provider(self, tool: Tool) -> Provider | None:
        """Nobody to wait for."""
        return None
