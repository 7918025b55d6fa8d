"""`ferrule settle ID`: says whether a tool acted, where a crash left that unknown."""

from __future__ import annotations

import asyncio
import json

import click

from ferrule.cli.inbox import open_inbox
from ferrule.cli.options import json_option, waiting_calls_here, workspace_option
from ferrule.cli.show.outcome import make_record
from ferrule.model.result import Result


@click.command()
@click.argument("call", metavar="ID", shell_complete=waiting_calls_here)
@click.option("--happened/--did-not-happen", "happened", default=None, help="Whether the tool acted.")
@click.option("--reason", required=True, help="How you know, kept with the record.")
@json_option
@workspace_option
def command(call: str, path: str, happened: bool | None, reason: str, as_json: bool) -> None:
    """Settle the call ID, whose process ended while it ran: did the tool act?

    Ferrule never runs such a call again by itself. Look at the system behind the tool, then say what you found.
    """
    if happened is None:
        raise click.UsageError("say --happened or --did-not-happen")
    result = asyncio.run(_settle(path, call, happened, reason))
    if as_json:
        click.echo(json.dumps(make_record(result), indent=2, ensure_ascii=False))
    else:
        click.echo(f"settled {result.invocation_id}: the tool {'acted' if happened else 'did not act'}")


async def _settle(path: str, prefix: str, happened: bool, reason: str) -> Result:
    async with open_inbox(path) as person:
        return await person.inbox.settle(await person.inbox.resolve(prefix), happened=happened, note=reason)
