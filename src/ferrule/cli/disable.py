"""`ferrule disable TOOL`: the off switch, at once and in every process that has the workspace open."""

from __future__ import annotations

import asyncio

import click

from ferrule.cli.call_lookup import format_clock
from ferrule.cli.inbox import find_tool, open_inbox, require_admin
from ferrule.cli.options import tools_here, workspace_option
from ferrule.contracts.store import Store
from ferrule.definitions.reporters.excerpt import sanitize
from ferrule.model.journal import Switch


@click.command()
@click.argument("tool", required=False, shell_complete=tools_here)
@click.option("--reason", default="", help="The reason, kept with the record.")
@workspace_option
def command(tool: str | None, path: str, reason: str) -> None:
    """Turn TOOL off: new calls are refused and waiting ones ended, at once and everywhere.

    Without TOOL: list what is turned off, since when, by whom and why.
    """
    if tool is None:
        asyncio.run(_list(path))
    else:
        asyncio.run(_disable(path, tool, reason))


async def _disable(path: str, name: str, reason: str) -> None:
    async with open_inbox(path) as person:
        require_admin(person.identity)
        tool_id, note = await find_tool(person.app, name)
        ended = await person.app.disable(tool_id, by=person.identity.principal, reason=reason)
    if note:
        click.echo(f"ferrule: {sanitize(note)}", err=True)
    waiting = f"; {ended} waiting call{'s' if ended != 1 else ''} ended" if ended else ""
    click.echo(f"disabled {sanitize(tool_id)}{waiting}")


async def _list(path: str) -> None:
    async with open_inbox(path) as person:
        lines = [await _format_switch(person.app.store, switch) for switch in await person.app.store.list_disabled()]
    for line in lines:
        click.echo(sanitize(line))
    if not lines:
        click.echo("no tool is disabled", err=True)


async def _format_switch(store: Store, switch: Switch) -> str:
    """Formats a disabled tool with who, when and why; alone when that row was pruned."""
    row = next(iter(await store.rows_after(switch.seq - 1, 1)), None)
    if row is None or row.seq != switch.seq:
        return switch.tool_id
    facts = row.facts()
    why = f": {facts['reason']}" if facts.get("reason") else ""
    return f"{switch.tool_id}  off since {format_clock(row.at)} by {facts.get('by', 'somebody')}{why}"
