"""`ferrule doctor`: for each tool one line: would it work, and if not, why and what to do. No tool is called."""

from __future__ import annotations

import os
import sys

import click
import msgspec

from ferrule.app.doctor.checkup import Checkup, check_workspace
from ferrule.app.doctor.doctor import Examination, Health
from ferrule.cli import OK, PROBLEMS_FOUND
from ferrule.cli.caller import parse_seconds
from ferrule.cli.loop import run_command
from ferrule.cli.options import json_option, workspace_option
from ferrule.cli.show.output import ProgressBar, has_colour, json_text
from ferrule.definitions.reporters.excerpt import sanitize

_SIGNS: dict[Health, tuple[str, str, str]] = {
    "works": ("✓", "ok", "\x1b[32m"),
    "unproven": ("·", "?", "\x1b[2m"),
    "warned": ("!", "!", "\x1b[33m"),
    "broken": ("✗", "x", "\x1b[31m"),
    "off": ("-", "-", "\x1b[2m"),
}
_PLAIN = "\x1b[0m"


@click.command(epilog="Exit code: 0 when nothing is broken, 1 when something is, 2 when there is nothing to look at.")
@click.option("--tool", "names", multiple=True, metavar="NAME", help="Check only this tool; may be repeated.")
@click.option("--timeout", type=float, default=10.0, show_default=True, metavar="SECONDS", callback=parse_seconds,
              help="Timeout for each tool.")  # fmt: skip
@click.option("--principal", help="On whose behalf; by default as in 'ferrule call'.")
@json_option
@workspace_option
def command(path: str, names: tuple[str, ...], timeout: float, principal: str | None, as_json: bool) -> int:
    """Tell for each tool whether its upstream and its credentials work.

    Looks at the definitions as they are now: compiled, executor and driver there, credentials there, address allowed, upstream
    reachable. No tool is called, nothing is recorded, no secret is shown.
    """
    with ProgressBar("tools") as bar:
        found = run_command(
            check_workspace(path, os.environ, names=names, principal=principal, seconds=timeout, told=bar)
        )
    if as_json:
        click.echo(json_text(_record(found)))
    else:
        _print(found)
    return PROBLEMS_FOUND if found.is_broken else OK


def _record(found: Checkup) -> dict[str, object]:
    counts: dict[str, int] = {}
    for one in found.tools:
        counts[one.health] = counts.get(one.health, 0) + 1
    return {
        "tools": msgspec.to_builtins(found.tools),
        "workspace": msgspec.to_builtins(found.workspace),
        "summary": {"is_broken": found.is_broken, "tools": len(found.tools), **counts},
    }


def _print(found: Checkup) -> None:
    everything = [*found.workspace, *found.tools]
    names = max((len(one.name) for one in everything), default=0)
    kinds = max((len(one.kind) for one in everything), default=0)
    for one in everything:
        click.echo(_line(one, min(names, 40), kinds))
    broken = sum(one.health == "broken" for one in found.tools)
    count = len(found.tools)
    tools = f"{count} tool{'' if count == 1 else 's'}"
    other = sum(one.health == "broken" for one in found.workspace)
    also = f"; {other} thing{'' if other == 1 else 's'} of the workspace broken, too" if other else ""
    click.echo(f"{tools}, {broken} broken{also}" if broken or other else f"{tools}, none broken")


def _line(one: Examination, names: int, kinds: int) -> str:
    sign, plain, colour = _SIGNS[one.health]
    try:
        sign.encode(sys.stdout.encoding or "ascii")
    except UnicodeEncodeError:
        sign = plain.ljust(2)
    shown = f"{colour}{sign}{_PLAIN}" if has_colour(sys.stdout) else sign
    return f"{shown} {sanitize(one.name).ljust(names)}  {one.kind.ljust(kinds)}  {sanitize(one.told)}"
