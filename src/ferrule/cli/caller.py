"""Whoever calls from the command line: the options that say who, and the surface they get. Used by `call` and `batch`."""

from __future__ import annotations

import math
from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager
from typing import Any, NamedTuple

import click

from ferrule.access.keys import Access
from ferrule.app.app import App
from ferrule.app.assembly import is_stale, open_app
from ferrule.app.surface import SurfaceHandle
from ferrule.cli.signals import stopping_on_sigterm
from ferrule.workspace.workspace import Workspace


class Caller(NamedTuple):
    """The workspace running, and what the caller may use of it."""

    app: App
    surface: SurfaceHandle


def seconds(context: click.Context, parameter: click.Parameter, given: float | None) -> float | None:
    """A number of seconds that can be waited. Raises UsageError."""
    if given is None or 0 <= given < math.inf:
        return given
    raise click.UsageError(f"--{parameter.name} takes a number of seconds from 0 on, not {given:g}")


_OPTIONS = (
    click.option("--agent", help="Call as this agent of the catalog; by default every tool can be called."),
    click.option("--principal", help="On whose behalf; by default the holder of the agents' token."),
    click.option("--run", "run_id", help="The piece of work this belongs to; limits count per run."),
    click.option("--wait", type=float, metavar="SECONDS", callback=seconds,
                 help="Stay so long for an approval, a person's answer or the reply of a queue."),
    click.option("--non-interactive", is_flag=True,
                 help="Nobody can be asked: what would wait for a person is refused."),
    click.option("--build", "is_built", is_flag=True,
                 help="Build the catalog first, with the definitions as they are now."),
    click.option("--workspace", "path", default=".", type=click.Path(), help="Use the workspace around this path."),
)  # fmt: skip


def caller_options(command: Callable[..., Any]) -> Callable[..., Any]:
    """Adds the options that say who calls, and how long to wait for an approval."""
    for option in reversed(_OPTIONS):
        command = option(command)
    return command


@asynccontextmanager
async def calling(path: str, options: dict[str, Any]) -> AsyncIterator[Caller]:
    """The workspace around a path and a surface for whoever the options name. Raises FerruleError."""
    workspace = Workspace.open(path)
    workspace.demand_policy_engine()
    if not options["is_built"] and is_stale(workspace):
        click.echo(
            "note: definitions changed since the catalog was built; --build calls them as they are now", err=True
        )
    async with open_app(path, tends=False, build="always" if options["is_built"] else "missing") as app:
        caller = Access(app.root).local_agent()
        surface = app.surface(
            agent=options["agent"],
            principal=options["principal"] or caller.principal,
            channel=caller.channel,
            run_id=options["run_id"],
            is_interactive=not options["non_interactive"],
        )
        if options["wait"]:
            app.listen()
        with stopping_on_sigterm(app):
            yield Caller(app, surface)


def load_if_deferred(surface: SurfaceHandle, tool: str) -> None:
    """Whoever types a tool's name has found it already."""
    entry = surface.surface.find(tool)
    if entry is not None and entry.standing == "deferred":
        surface.select([tool])
