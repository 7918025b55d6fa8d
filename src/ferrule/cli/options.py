"""Options that several commands share."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import click


def workspace_option(command: Callable[..., Any]) -> Callable[..., Any]:
    """Adds `--workspace` to a command, as `path`."""
    return click.option(
        "--workspace", "path", default=".", type=click.Path(), help="Use the workspace around this path."
    )(command)


def json_option(command: Callable[..., Any]) -> Callable[..., Any]:
    """Adds `--json` to a command, as `as_json`."""
    return click.option("--json", "as_json", is_flag=True, help="Print JSON, for programs.")(command)
