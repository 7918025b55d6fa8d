"""`ferrule reject ID`: says no to a waiting call."""

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
@click.option("--reason", required=True, help="The reason, told to the caller.")
@json_option
@workspace_option
def command(call: str, path: str, reason: str, as_json: bool) -> None:
    """Reject the waiting call ID (the beginning of an id is enough, `last` is the newest).

    It ends as denied, and nothing runs.
    """
    result = asyncio.run(_reject(path, call, reason))
    if as_json:
        click.echo(json.dumps(make_record(result), indent=2, ensure_ascii=False))
    else:
        click.echo(f"rejected {result.invocation_id}")


async def _reject(path: str, prefix: str, reason: str) -> Result:
    async with open_inbox(path) as person:
        return await person.inbox.reject(await person.inbox.resolve(prefix), reason=reason)
