"""The names that a shell completes while somebody types a command."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING

import click

from ferrule.registry import late
from ferrule.workspace import Workspace

if TYPE_CHECKING:
    from ferrule.cli.shelf import Shelf

_shelf_of: Callable[..., Shelf] = late("ferrule.cli.shelf:shelf_of")


def tools_here(context: click.Context, parameter: click.Parameter, incomplete: str) -> list[str]:
    """The ids of the tools of the workspace around here that begin so."""
    shelf = _shelf_of(Workspace.open("."), lambda outline: False)
    return [entry.outline.tool_id for entry in shelf.entries if entry.outline.tool_id.startswith(incomplete)]
