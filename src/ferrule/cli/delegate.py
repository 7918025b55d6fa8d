"""`ferrule delegate ID PERSON`: hands a waiting task on."""

from __future__ import annotations

import asyncio
import json

import click

from ferrule.cli.inbox import open_inbox
from ferrule.cli.options import json_option, waiting_calls_here, workspace_option
from ferrule.model.approval import Delegation
from ferrule.model.timestamps import iso


@click.command()
@click.argument("call", metavar="ID", shell_complete=waiting_calls_here)
@click.argument("to", metavar="PERSON")
@click.option("--reason", help="The reason, shown to the new assignee.")
@json_option
@workspace_option
def command(call: str, to: str, path: str, reason: str | None, as_json: bool) -> None:
    """Hand the task ID on to PERSON, or to a group.

    \b
    ferrule delegate inv_06 ben --reason "he knows the customer"
    ferrule delegate inv_06 group:finance

    PERSON may answer it from now on, and so may everybody who could before. Only who may answer a task may hand it on.
    """
    delegation = asyncio.run(_delegate(path, call, to, reason))
    if as_json:
        record = {
            "invocation_id": delegation.invocation_id,
            "by": delegation.by,
            "to": delegation.to,
            "at": iso(delegation.delegated_at),
            "reason": delegation.reason,
        }
        click.echo(json.dumps(record, indent=2, ensure_ascii=False))
    else:
        click.echo(f"handed {delegation.invocation_id} on to {delegation.to}")


async def _delegate(path: str, prefix: str, to: str, reason: str | None) -> Delegation:
    async with open_inbox(path) as person:
        return await person.inbox.delegate(await person.inbox.resolve(prefix), to, reason=reason)
