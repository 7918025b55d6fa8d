"""`ferrule enable TOOL`: turns a disabled tool on again."""

from __future__ import annotations

import asyncio

import click

from ferrule.cli.inbox import find_tool, open_inbox, require_admin
from ferrule.cli.options import tools_here, workspace_option
from ferrule.definitions.reporters.excerpt import sanitize


@click.command()
@click.argument("tool", shell_complete=tools_here)
@click.option("--reason", default="", help="The reason, kept with the record.")
@workspace_option
def command(tool: str, path: str, reason: str) -> None:
    """Turn TOOL on again, at once and in every process that has the workspace open."""
    tool_id, was_off = asyncio.run(_enable(path, tool, reason))
    click.echo(f"enabled {sanitize(tool_id)}" if was_off else f"{sanitize(tool_id)} was not disabled")


async def _enable(path: str, name: str, reason: str) -> tuple[str, bool]:
    async with open_inbox(path) as person:
        require_admin(person.identity)
        tool_id, _ = await find_tool(person.app, name)
        was_off = any(switch.tool_id == tool_id for switch in await person.app.store.list_disabled())
        if was_off:
            await person.app.enable(tool_id, by=person.identity.principal, reason=reason)
        return tool_id, was_off
