"""`ferrule answer ID`: gives a tool what it waits for."""

from __future__ import annotations

import json
from typing import Any

import click

from ferrule.cli.inbox import open_inbox
from ferrule.cli.loop import run_command
from ferrule.cli.options import json_option, waiting_calls_here, workspace_option
from ferrule.cli.show.outcome import make_record
from ferrule.model.result import Result
from ferrule.runtime.approval.inbox import InboxAnswer


@click.command()
@click.argument("call", metavar="ID", shell_complete=waiting_calls_here)
@click.argument("value", metavar="ANSWER")
@click.option("--reason", help="A remark, kept with the record.")
@json_option
@workspace_option
def command(call: str, value: str, path: str, reason: str | None, as_json: bool) -> None:
    """Answer the call ID, whose tool waits for somebody. ANSWER is JSON, or plain text.

    \b
    ferrule answer inv_06 '{"account": "savings"}'
    ferrule answer inv_06 "the second one"

    'ferrule pending' shows what is asked. The call goes on at once, where it can run here.
    """
    answered = run_command(_answer(path, call, _read_answer(value), reason))
    result = answered.result
    if as_json:
        record = make_record(result) if result is not None else {"invocation_id": answered.invocation_id}
        click.echo(json.dumps(record, indent=2, ensure_ascii=False))
    elif isinstance(result, Result):
        click.echo(f"answered {answered.invocation_id}: it ended as {result.status}")
    else:
        click.echo(f"answered {answered.invocation_id}; it goes on")


def _read_answer(value: str) -> Any:
    try:
        return json.loads(value)
    except json.JSONDecodeError:
        return value


async def _answer(path: str, prefix: str, value: object, reason: str | None) -> InboxAnswer:
    async with open_inbox(path) as person:
        return await person.inbox.answer(await person.inbox.resolve(prefix), value, reason=reason)
