"""The catalog of an app: built from definitions where needed, joined with imported tools and Python functions."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Literal

from ferrule.contracts.registry import late
from ferrule.contracts.surface import CatalogView
from ferrule.infra.lockfile.oxp_tools import list_imported_oxp_tools
from ferrule.infra.lockfile.tools import list_imported_tools
from ferrule.model.tool import Tool
from ferrule.runtime.executors.function import FunctionExecutor
from ferrule.runtime.functions.function_tools import rejoin_functions
from ferrule.runtime.surface.catalogs import EmptyCatalog, SealedCatalog
from ferrule.settings import Settings
from ferrule.workspace.staleness import CATALOG_FILE, load_catalog
from ferrule.workspace.workspace import Workspace

_build_release: Callable[[Workspace], object] = late("ferrule.workspace.releases:build")

Build = Literal["missing", "always", "never"]
"""When to build the catalog from the definitions: if there is none, every time, or not at all."""


def load_or_build_catalog(workspace: Workspace, when: Build) -> CatalogView:
    """Loads the workspace's sealed catalog, and builds it first if need be. Without definitions: an empty one."""
    if when == "always" or (when == "missing" and not (workspace.root / CATALOG_FILE).exists()):
        if not any(compiled.compiled for compiled in workspace.compile()):
            return EmptyCatalog()
        _build_release(workspace)
    return SealedCatalog(load_catalog(workspace))


def rebuild_catalog(root: Path, functions: FunctionExecutor) -> CatalogView:
    """Builds the catalog from the current definitions, settings and lock file, with the functions of this process."""
    workspace = Workspace.open(root)
    under = load_or_build_catalog(workspace, "always")
    return rejoin_functions(under, list_server_tools(root, workspace.settings), functions)


def list_server_tools(root: Path, settings: Settings) -> tuple[Tool, ...]:
    """Returns the tools of other servers, as they were accepted."""
    return (*list_imported_tools(root, settings.mcp), *list_imported_oxp_tools(root, settings.oxp))
