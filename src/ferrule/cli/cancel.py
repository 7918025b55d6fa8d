"""`ferrule cancel ID`: asks that a call stops, wherever it runs, and says honestly what came of it.

Exit codes: 0 it is canceled, 1 it is not (its tool has not stopped, or it had ended already), 2 there is no such call.
"""

from __future__ import annotations

import asyncio

import click

from ferrule.app.progress import Cancellation
from ferrule.cli.call_lookup import find_new_call
from ferrule.cli.caller import describe_cancellation, parse_seconds
from ferrule.cli.inbox import PersonInbox, open_inbox
from ferrule.cli.options import calls_here, json_option, workspace_option
from ferrule.cli.show.output import json_text
from ferrule.cli.show.watching import show_waiting
from ferrule.errors import AccessError, WorkspaceError
from ferrule.model.approval import ADMIN, CALL, Identity
from ferrule.model.surface import SurfaceRequest
from ferrule.runtime.pipeline.live import Cancel

CANCELED, NOT_CANCELED = 0, 1


@click.command(
    epilog="Exit code: 0 the call is canceled, 1 it is not (its tool was told and has not stopped, cannot be stopped, or the "
    "call had ended already), 2 there is no such call, or it is not yours to cancel."
)
@click.argument("call", metavar="ID", shell_complete=calls_here)
@click.option("--reason", default="", help="The reason, kept with the record.")
@click.option("--wait", "within", default=5.0, show_default=True, type=float, metavar="SECONDS", callback=parse_seconds,
              help="How long to wait for an answer from where it runs.")  # fmt: skip
@json_option
@workspace_option
def command(call: str, path: str, reason: str, within: float, as_json: bool) -> int:
    """Cancel a call, in whatever process it runs: one that waits for a person or for its turn ends at once, one that runs is
    told to stop. ID may be shortened; `last` is the newest call.

    A tool that was told may go on: a request is not a result. Then that is said, and the call ends with what really
    happened; `ferrule follow ID` waits for it, `ferrule explain ID` tells what became of the request.

    The owner may cancel any call; whoever comes with a token of the call scope (FERRULE_TOKEN) only those of its person.

    \b
      ferrule cancel inv_06605c --reason "wrong customer"
    """
    cancellation = asyncio.run(_cancel(path, call, reason, within, as_json))
    if as_json:
        click.echo(json_text(cancellation))
    else:
        click.echo(f"{cancellation.invocation_id}  {describe_cancellation(cancellation)}")
        if cancellation.outcome == "requested":
            click.echo(f"  how it ends: ferrule follow {cancellation.invocation_id}")
    return CANCELED if cancellation.outcome == "canceled" else NOT_CANCELED


async def _cancel(path: str, word: str, reason: str, within: float, as_json: bool) -> Cancellation:
    async with open_inbox(path) as person:
        principal = _choose_owner(person.identity)
        call_id = (await find_new_call(person.app.store, word))[0].call
        with show_waiting(f"waiting for {call_id} to stop", as_json):
            found = await _request_cancellation(person, call_id, reason, principal, within)
    if found is None:
        raise WorkspaceError(f"there is no call {word!r} of {principal} here; 'ferrule log' lists them")
    return found


async def _request_cancellation(
    person: PersonInbox, call_id: str, reason: str, principal: str | None, within: float
) -> Cancellation | None:
    cancel = Cancel(reason=reason, by=person.identity.principal)
    caller = None if principal is None else SurfaceRequest(principal=principal, channel=person.identity.channel)
    return await person.app.calls.cancel(call_id, cancel, caller=caller, within=within)


def _choose_owner(identity: Identity) -> str | None:
    """Returns the principal whose calls may be canceled; None for everybody's. Raises AccessError."""
    if ADMIN in identity.scopes:
        return None
    if CALL in identity.scopes:
        return identity.principal
    raise AccessError(
        f"{identity.principal} came by {identity.channel}, which holds neither the call scope (to cancel calls of"
        f" {identity.principal}) nor the admin scope (to cancel any)"
    )
