"""`ferrule batch FILE`: many governed calls from one file, each like one of `ferrule call`.

Exit codes: 0 every call succeeded, 1 some did not (or wait for a person), 2 the batch could not be run at all, 130 whoever
watched left.
"""

from __future__ import annotations

import asyncio
import sys
from collections.abc import Sequence
from contextlib import redirect_stdout
from shutil import get_terminal_size
from typing import Any, TextIO, get_args

import click
import msgspec

from ferrule.app.app import App
from ferrule.app.batches import BatchRun
from ferrule.app.surface import SurfaceHandle
from ferrule.cli.batch_file import BatchFile, read_batch
from ferrule.cli.caller import (
    INTERRUPTED,
    LEFT,
    TERMINATED,
    Interrupts,
    StoppedWatching,
    caller_options,
    describe_cancellation,
    is_in_background,
    load_if_deferred,
    open_caller,
    wait_for_background,
)
from ferrule.cli.loop import run_command
from ferrule.cli.show.batch_view import BatchView, PlainBatch, QuietBatch, make_table
from ferrule.cli.show.outcome import make_pending_record
from ferrule.cli.show.watching import is_watched
from ferrule.model.result import Pending, Result
from ferrule.model.scheduling import OrderingPolicy, SiblingPolicy
from ferrule.model.value import JsonObject

_LOOK_SECONDS = 0.1
ALL_SUCCEEDED, SOME_DID_NOT = 0, 1


@click.command(
    epilog="Exit code: 0 every call succeeded, 1 some did not or wait for a person, 2 the batch could not be run at all."
)
@click.argument("file", metavar="FILE")
@caller_options
@click.option(
    "--sibling-policy",
    type=click.Choice(get_args(SiblingPolicy)),
    help="The effect of a failed call on the others; `ignore` unless the file or the settings say otherwise.",
)
@click.option(
    "--ordering",
    type=click.Choice(get_args(OrderingPolicy)),
    help="Results in call order, as they are ready (with --json), or one call after the other.",
)
@click.option("--json", "as_json", is_flag=True, help="Print one JSON object a line: a result for each call.")  # fmt: skip
def command(file: str, path: str, as_json: bool, **options: Any) -> int:
    """Make the calls in FILE: JSON, YAML or JSON lines; - reads standard input. Reads run side by side, everything else in
    turn, and every call gets exactly one result. What each is doing is shown on standard error, the results, in call
    order, on standard output.

    \b
      - name: order_status
        arguments: {order_number: BK-104233}
      - [search_books, {query: austen}]
      - id: refund
        name: refund_order
        arguments: {order_number: BK-104233, amount_eur: 12, reason: late}
        depends_on: [0]

    \b
      ferrule batch calls.yaml --agent shop-assistant --principal lena
      ferrule batch calls.yaml --sibling-policy cancel_siblings --json
      produce-calls | ferrule batch - --ordering serial

    A call takes `name`, `arguments`, `id`, `depends_on` (ids, or numbers counted from 0), `idempotency_key`,
    `timeout_seconds`, `priority`, `native_call_id` and `retry_of`. A mapping with `calls` may have a `policy` beside them,
    with the keys of [scheduler]. Ctrl-C asks every call to stop; once more leaves without waiting.
    """
    batch = read_batch(file)
    names = [call.name for call in batch.calls]
    view = _choose_view(names, as_json)
    results = sys.stdout
    with redirect_stdout(sys.stderr):  # what a tool prints is not its answer, and programs read the answer
        try:
            outcomes = run_command(_batch(path, batch, options, view, results if as_json else None))
        except StoppedWatching:
            return LEFT
        except asyncio.CancelledError:
            return TERMINATED
    if not as_json:
        width = get_terminal_size((1_000, 0)).columns if results.isatty() else 1_000
        for line in make_table(names, outcomes, width):
            click.echo(line)
    is_good = all(isinstance(outcome, Result) and not outcome.is_error for outcome in outcomes)
    return ALL_SUCCEEDED if is_good else SOME_DID_NOT


def _choose_view(names: Sequence[str], as_json: bool) -> BatchView:
    if as_json:
        return QuietBatch(names)
    if not is_watched():
        return PlainBatch(names)
    from ferrule.cli.show.live import LiveBatch

    return LiveBatch(names)


async def _batch(
    path: str, batch: BatchFile, options: JsonObject, view: BatchView, lines: TextIO | None
) -> list[Result | Pending]:
    async with open_caller(path, options) as (app, surface):
        for call in batch.calls:
            load_if_deferred(surface, call.name)
        policy = _join_policy(batch.policy, options)
        run = await surface.begin_many(batch.calls, wait=options["wait"], **msgspec.to_builtins(policy))
        with view, Interrupts(lambda: _ask_to_stop(surface, run, view)) as interrupts:
            try:
                work = asyncio.create_task(_results(app, run, view, lines))
                outcomes: list[Result | Pending] = await interrupts.wait(work)
            except StoppedWatching:
                view.note("left without waiting; what became of the calls: ferrule log")
                raise
        return outcomes


def _join_policy(written: JsonObject, options: JsonObject) -> JsonObject:
    """Returns the policy of the file, with the changes of the command line."""
    policy = dict(written)
    if options["sibling_policy"] is not None:
        policy["sibling_failure_policy"] = options["sibling_policy"]
    if options["ordering"] is not None:
        policy["ordering_policy"] = options["ordering"]
    if options["ordering"] == "allow_unordered":
        policy["yield_policy"] = "unordered_streaming"
    return policy


async def _results(app: App, run: BatchRun, view: BatchView, lines: TextIO | None) -> list[Result | Pending]:
    looking = asyncio.create_task(_show_states(run, view))
    found: dict[int, Result | Pending] = {}
    held: list[int] = []
    try:
        async for update in run.updates():
            if update.progress is not None:
                view.show_progress(update.index, update.progress)
            if update.result is not None:
                found[update.index] = update.result
                # Lines come in call order: behind a call that still runs in the background the others are held, too.
                if (held and not run.policy.is_unordered) or is_in_background(app, update.result):
                    held.append(update.index)
                else:
                    _write(lines, update.index, run, update.result)
        for number in held:
            found[number] = await wait_for_background(app, found[number])
            _write(lines, number, run, found[number])
    finally:
        looking.cancel()
        await asyncio.wait({looking})
    view.show_states(run.states())
    return [found[number] for number in sorted(found)]


async def _show_states(run: BatchRun, view: BatchView) -> None:
    while True:
        view.show_states(run.states())
        await asyncio.sleep(_LOOK_SECONDS)


def _write(lines: TextIO | None, number: int, run: BatchRun, outcome: Result | Pending) -> None:
    if lines is None:
        return
    record = make_pending_record(outcome) if isinstance(outcome, Pending) else outcome.to_record()
    known = {"index": number, "id": run.requests[number].id or str(number), "name": run.requests[number].name}
    lines.write(msgspec.json.encode({**known, **record}).decode() + "\n")
    lines.flush()


async def _ask_to_stop(surface: SurfaceHandle, run: BatchRun, view: BatchView) -> None:
    view.note("asked every call to stop; Ctrl-C again leaves without waiting")
    asked = await asyncio.gather(*(surface.cancel(call_id, INTERRUPTED) for call_id in run.list_unfinished()))
    for cancellation in asked:
        if cancellation is not None and cancellation.outcome == "requested":
            view.note(f"{cancellation.invocation_id}  {describe_cancellation(cancellation)}; waiting for it")
