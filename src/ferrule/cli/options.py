"""Options that several commands share, and the names that a shell completes.

Nearly every command imports it, so it is light: it loads the tools and calls of a workspace only when a shell asks.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, Any

import click
from click.shell_completion import CompletionItem

from ferrule.errors import FerruleError
from ferrule.model.journal import WAITING_STATES
from ferrule.workspace.workspace import Workspace

if TYPE_CHECKING:
    pass


def workspace_option(command: Callable[..., Any]) -> Callable[..., Any]:
    """Adds `--workspace` to a command, as `path`."""
    return click.option(
        "--workspace", "path", default=".", type=click.Path(), help="Use the workspace around this path."
    )(command)


def json_option(command: Callable[..., Any]) -> Callable[..., Any]:
    """Adds `--json` to a command, as `as_json`."""
    return click.option("--json", "as_json", is_flag=True, help="Print JSON, for programs.")(command)


_MOST_CALLS = 50


def tools_here(context: click.Context, parameter: click.Parameter, incomplete: str) -> list[str]:
    """Completes the ids of the workspace's tools."""
    from ferrule.cli.workspace_tools import collect_tools

    try:
        shelf = collect_tools(Workspace.open("."), lambda outline: False)
    except FerruleError:  # the command itself tells what is wrong
        return []
    return [entry.outline.tool_id for entry in shelf.entries if entry.outline.tool_id.startswith(incomplete)]


def calls_here(context: click.Context, parameter: click.Parameter, incomplete: str) -> list[CompletionItem]:
    """Completes the ids of the workspace's newest calls."""
    return _calls(context, incomplete)


def waiting_calls_here(context: click.Context, parameter: click.Parameter, incomplete: str) -> list[CompletionItem]:
    """Completes the ids of calls that wait for a person."""
    return _calls(context, incomplete, WAITING_STATES)


def _calls(context: click.Context, incomplete: str, states: Sequence[str] = ()) -> list[CompletionItem]:
    try:
        workspace = Workspace.open(context.params.get("path") or ".")
    except FerruleError:
        return []
    from ferrule.ledger.stores.sqlite.peek import find_newest_calls

    file = workspace.root / workspace.settings.ledger.path
    found = find_newest_calls(file, incomplete, _MOST_CALLS, states)
    return [CompletionItem(one.call, help=one.tool_id) for one in found]
