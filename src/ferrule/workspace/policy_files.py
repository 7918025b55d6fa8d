"""Checks the policy files of a workspace. It imports the policy engine, so a check loads it only where there is a policy."""

from __future__ import annotations

from collections.abc import Callable, Collection
from pathlib import Path

from ferrule.contracts.registry import late
from ferrule.model.diagnostic import Diagnostic
from ferrule.model.outline import Library
from ferrule.runtime.policy.check import check_policy, find_policy_files, require_engine
from ferrule.settings import Settings

# The parts of a check that few workspaces need.
_function_names: Callable[..., frozenset[str] | None] = late("ferrule.runtime.functions.discovery:read_tool_names")
_imported_names: Callable[..., frozenset[tuple[str, str]] | None] = late(
    "ferrule.infra.lockfile.tools:list_imported_names"
)


class PolicyChecker:
    """The policy of one workspace."""

    def __init__(self, root: Path, settings: Settings) -> None:
        self._root = root
        self._settings = settings

    def find_paths(self) -> dict[str, Path]:
        """Returns the existing files, by name."""
        return find_policy_files(self._root, self._settings.policy)

    def demand_engine(self, wanted: Collection[str] | None) -> None:
        """Raises ExtraMissing if the engine is not installed. `wanted`: the policy files of interest; None means all."""
        require_engine(self._root, self._settings.policy, wanted)

    def check(self, library: Library, namespace: str) -> dict[str, tuple[Diagnostic, ...]]:
        """Returns what is wrong with each file, by name."""
        modules, mcp = self._settings.functions.modules, self._settings.mcp
        functions = _function_names(self._root, modules) if modules else frozenset()
        imported = _imported_names(self._root, mcp) if mcp.servers else frozenset()
        return check_policy(self._root, self._settings.policy, library, namespace, functions, imported)
