"""The workspace a command is meant for, for commands that would write into any folder: one that holds no workspace is refused
before anything is written, with the workspace below it that was perhaps meant.
"""

from __future__ import annotations

import os
from pathlib import Path

from ferrule.errors import WorkspaceError
from ferrule.model.diagnostic import Severity
from ferrule.settings import FILE_NAME
from ferrule.workspace.catalog_file import CATALOG_FILE
from ferrule.workspace.workspace import Workspace, show_path

_CLUTTER = frozenset({"node_modules", "venv", "dist", "build", "target"})


def existing_workspace(path: str) -> Workspace:
    """The workspace around a path: a folder with a ferrule.toml, or a bare one with definitions. Raises WorkspaceError."""
    workspace = Workspace.open(path)
    if workspace.has_settings_file or _was_used(workspace):
        return workspace
    below = _workspaces_below(workspace.root)
    has_definitions = any(compiled.compiled for compiled in workspace.compile())
    # A bare folder around a workspace, such as a repository, has definitions in it that were never meant to go together.
    if has_definitions and not (len(below) == 1 and _has_errors(workspace)):
        return workspace
    lack = (
        f"no {FILE_NAME}, and definitions with errors" if has_definitions else f"neither a {FILE_NAME} nor a definition"
    )
    hint = f"did you mean --workspace {show_path(str(below[0]))}? " if len(below) == 1 else ""
    raise WorkspaceError(
        f"there is no workspace in {workspace.root}: {lack}; {hint}--workspace DIR names one, 'ferrule init' makes one"
    )


def _was_used(workspace: Workspace) -> bool:
    """True where a catalog was built, or calls were made: of Python functions, there need be no definition."""
    return any((workspace.root / file).exists() for file in (CATALOG_FILE, workspace.settings.ledger.path))


def _has_errors(workspace: Workspace) -> bool:
    return any(found.severity is Severity.ERROR for found in workspace.check().diagnostics)


def _workspaces_below(folder: Path) -> list[Path]:
    """The folders right in this one that are workspaces."""
    try:
        with os.scandir(folder) as listing:
            names = sorted(entry.name for entry in listing if not entry.name.startswith("."))
    except OSError:
        return []
    return [folder / name for name in names if name not in _CLUTTER and (folder / name / FILE_NAME).is_file()]
