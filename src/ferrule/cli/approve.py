"""`ferrule approve ID`: says yes to a waiting call, as it is or with an edited input, and lets it run."""

from __future__ import annotations

import json
import sys
from pathlib import Path

import click
import msgspec

from ferrule.app.app import App
from ferrule.cli.inbox import open_inbox
from ferrule.cli.loop import run_command
from ferrule.cli.options import json_option, waiting_calls_here, workspace_option
from ferrule.cli.show.outcome import WAITS, exit_code_of, make_record, outcome_lines
from ferrule.cli.show.output import json_text
from ferrule.errors import InboxError, WorkspaceError
from ferrule.model.result import Pending
from ferrule.runtime.approval.inbox import InboxAnswer
from ferrule.runtime.approval.inbox_item import InboxItem

_LOOK_SECONDS = 60.0
"""For how long one look for a result waits."""
_EDITOR = "\0editor"
"""What `--edit` without a value gives; no file has such a name."""


@click.command(
    epilog="Exit code: 0 the call ran and succeeded (or was left to others with --no-wait), 1 it ended with an error, "
    "2 it could not be approved, 3 it waits for more people or for a process that can run it."
)
@click.argument("call", metavar="ID", shell_complete=waiting_calls_here)
@click.option(
    "--edit",
    metavar="[FILE|-]",
    is_flag=False,
    flag_value=_EDITOR,
    help="Edit the input first: in your editor, or read it from a file or standard input. Goes after ID.",
)
@click.option("--input", "written", metavar="JSON", help="Approve with this input instead.")
@click.option("--reason", help="The reason, kept with the record.")
@click.option("--accept-rule", "rules", type=int, multiple=True, metavar="N", help="Also accept suggested rule N.")
@click.option("--seen", metavar="HEX", help="Approve only what 'ferrule pending --json' showed under `seen`.")
@click.option("--no-wait", is_flag=True, help="Let a process that waits for the call run it.")
@json_option
@workspace_option
def command(
    call: str,
    path: str,
    edit: str | None,
    written: str | None,
    reason: str | None,
    rules: tuple[int, ...],
    seen: str | None,
    no_wait: bool,
    as_json: bool,
) -> int:
    """Approve the waiting call ID (the beginning of an id is enough, `last` is the newest) and run it.

    The approval holds for exactly this call: its tool, its input, whom it is for, until it expires. An edited input is
    validated again, and whoever approved before has to approve again.
    """
    if edit is not None and written is not None:
        raise click.UsageError("--edit and --input both give the input; use one of them")
    answered, ended = run_command(_approve(path, call, edit, written, reason, rules, _read_bytes(seen), not no_wait))
    if as_json:
        click.echo(json_text(_as_dict(answered)))
    else:
        _print_outcome(answered, no_wait, ended)
    for problem in answered.problems:
        click.echo(f"ferrule: the suggested rule was not taken: {problem}", err=True)
    if answered.people_missing:
        return WAITS
    return 0 if no_wait else exit_code_of(answered.result)


async def _approve(
    path: str,
    prefix: str,
    edit: str | None,
    written: str | None,
    reason: str | None,
    rules: tuple[int, ...],
    seen: bytes | None,
    resume: bool,
) -> tuple[InboxAnswer, str | None]:
    """Approves a call; returns the outcome, and why the call still does not resume, if that is known."""
    async with open_inbox(path) as person:
        call = await person.inbox.resolve(prefix)
        waiting = await person.inbox.get(call)
        answered = await person.inbox.approve(
            call,
            edited_input=written.encode() if written is not None else _read_edited_input(edit, waiting),
            reason=reason,
            accept_rules=rules,
            seen=waiting.binding if seen is None else seen,
            resume=resume,
        )
        return await _wait_elsewhere(person.app, answered), waiting.will_not_run


async def _wait_elsewhere(app: App, answered: InboxAnswer) -> InboxAnswer:
    """Waits for a call that another process resumed first: one that waits there runs what is approved here."""
    result = answered.result
    while (
        isinstance(result, Pending)
        and result.state == "running"
        and result.invocation_id not in app.services.live.calls
    ):
        result = await app.result(result.invocation_id, wait=_LOOK_SECONDS)
    return answered if result is answered.result else msgspec.structs.replace(answered, result=result)


def _read_edited_input(edit: str | None, waiting: InboxItem) -> bytes | None:
    if edit is None:
        return None
    if edit == "-":
        return sys.stdin.buffer.read()
    if edit != _EDITOR:
        try:
            return Path(edit).read_bytes()
        except OSError as error:
            raise WorkspaceError(f"{edit} cannot be read: {error.strerror}") from None
    text = click.edit(json.dumps(waiting.input, indent=2, ensure_ascii=False) + "\n", extension=".json")
    if text is None:
        raise InboxError("the input was not saved in the editor; nothing was approved")
    return text.encode()


def _read_bytes(text: str | None) -> bytes | None:
    try:
        return None if text is None else bytes.fromhex(text)
    except ValueError:
        raise click.UsageError("--seen takes hexadecimal digits, as 'ferrule pending --json' shows them") from None


def _print_outcome(answered: InboxAnswer, no_wait: bool, ended: str | None) -> None:
    click.echo(f"approved {answered.invocation_id}")
    if answered.people_missing:
        noun = "1 more person has" if answered.people_missing == 1 else f"{answered.people_missing} more people have"
        click.echo(f"{noun} to approve it")
    elif no_wait and ended is not None:
        click.echo(f"it does not go on: {ended}")
    elif no_wait:
        click.echo("it runs as soon as a process that waits for it looks")
    else:
        click.echo("\n".join(outcome_lines(answered.result)))
    for update in answered.accepted:
        click.echo(f"rule taken: {json.dumps(update.get('rule', update), ensure_ascii=False)}")


def _as_dict(answered: InboxAnswer) -> dict[str, object]:
    return {
        "invocation_id": answered.invocation_id,
        "state": answered.state,
        "people_missing": answered.people_missing,
        "accepted": list(answered.accepted),
        "problems": list(answered.problems),
        "result": make_record(answered.result),
    }
