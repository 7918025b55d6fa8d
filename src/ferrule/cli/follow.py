"""`ferrule follow ID`: the progress of a call, in any process, until it has ended.

Exit codes: those of `ferrule call`.
"""

from __future__ import annotations

import asyncio
import math

import click
import msgspec

from ferrule.app.progress import follow_progress
from ferrule.app.recorded_calls import HELD_STATES
from ferrule.cli.call_lookup import find_new_call, open_ledger
from ferrule.cli.caller import parse_seconds
from ferrule.cli.options import calls_here
from ferrule.cli.show.outcome import print_outcome
from ferrule.cli.show.watching import View, choose_view, show_all
from ferrule.contracts.store import Store
from ferrule.definitions.reporters.excerpt import sanitize
from ferrule.model.result import Pending, Result
from ferrule.model.value import JsonObject
from ferrule.runtime.pipeline.live import InFlight
from ferrule.runtime.pipeline.results.packing import read_answer

_LOOK_SECONDS = 1.0
_PEOPLE = ("awaiting_approval", "needs_input")


@click.command()
@click.argument("call", metavar="ID", shell_complete=calls_here)
@click.option("--after", default=0, type=click.IntRange(0), metavar="N", help="Start after record number N.")
@click.option("--wait", type=float, metavar="SECONDS", callback=parse_seconds,
              help="Keep waiting so long for a person; then exit with code 3.")  # fmt: skip
@click.option("--json", "as_json", is_flag=True, help="Progress and result as JSON, for programs.")
@click.option("--workspace", "path", default=".", type=click.Path(), help="Look in the workspace around this path.")
def command(call: str, after: int, wait: float | None, as_json: bool, path: str) -> int:
    """Follow a call that runs in any process: first what it said already, then what it says, then its result.

    ID may be shortened; `last` is the newest call. Progress goes to standard error, the result to standard output. Whoever
    was cut off goes on with --after and the number of the last record. Ctrl-C stops following; the call goes on
    (`ferrule cancel ID` stops it).

    \b
      ferrule follow last
      ferrule follow inv_06605c --after 12 --json
    """
    return print_outcome(asyncio.run(_follow(path, call, after, wait or 0.0, choose_view(as_json))), as_json)


async def _follow(path: str, word: str, after: int, wait: float, view: View) -> Result | Pending:
    async with open_ledger(path) as store:
        call_id = (await find_new_call(store, word))[0].call
        with view:
            view.begin(call_id, f"{call_id}; to stop it: ferrule cancel {call_id}")
            telling = asyncio.create_task(show_all(follow_progress(store, InFlight(), call_id, after), view))
            try:
                outcome = await _wait_for_end(store, call_id, wait, view)
                if isinstance(outcome, Result):
                    await telling
                return outcome
            finally:
                telling.cancel()
                await asyncio.wait({telling})


async def _wait_for_end(store: Store, call_id: str, wait: float, view: View) -> Result | Pending:
    """Waits for the end of a call; returns what it waits for when the person leaves before."""
    loop = asyncio.get_running_loop()
    until, told = math.inf, ""
    while True:
        # Read before the call: whatever is recorded after this look ends the wait below at once.
        newest = await store.rows_before(None, 1)
        opened = await store.find_open(call_id)
        answer = read_answer(await store.rows_of(call_id), opened.state if opened is not None else None)
        if not isinstance(answer, Pending):
            assert answer is not None  # it had rows when it was found, and rows of open calls stay
            return answer
        until = min(until, loop.time() + wait) if answer.state in _PEOPLE else math.inf
        if loop.time() >= until:
            return answer
        if answer.state in HELD_STATES and await _is_abandoned(store, call_id):
            message = "the process that had it is gone; 'ferrule pending' finds out what is known of it"
            return msgspec.structs.replace(answer, message=message)
        if answer.state in _PEOPLE and answer.message != told:
            told = answer.message
            view.note(sanitize(told), _describe_failure(answer))
        await store.wait_after(newest[0].seq if newest else 0, min(_LOOK_SECONDS, max(until - loop.time(), 0.01)))


async def _is_abandoned(store: Store, call_id: str) -> bool:
    """True when the process of a call is gone. Asked again, because it may have written its last row meanwhile."""
    is_lost = any(lost.call == call_id for lost in await store.find_abandoned())
    return is_lost and await store.find_open(call_id) is not None


def _describe_failure(answer: Pending) -> JsonObject:
    return {"pending": msgspec.to_builtins(answer)}
