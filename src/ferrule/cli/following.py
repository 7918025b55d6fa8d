"""Makes one call and watches it until it has ended; Ctrl-C asks it to stop, and tells what came of that."""

from __future__ import annotations

import asyncio
import math
from typing import Any

import msgspec

from ferrule.app.app import App
from ferrule.app.batches import BatchRun
from ferrule.app.cancellation import Cancellation
from ferrule.app.surface import SurfaceHandle
from ferrule.cli.show.watching import View, tell
from ferrule.cli.signals import Interrupts, Left
from ferrule.definitions.reporters.excerpt import cleaned
from ferrule.model.result import Pending, Result

INTERRUPTED = "interrupted with Ctrl-C"
"""The reason on record."""


async def call_followed(
    app: App, surface: SurfaceHandle, tool: str, arguments: dict[str, Any] | bytes, view: View, **options: Any
) -> Result | Pending:
    """Make a call and watch it. Raises Left when nobody waits for its end."""
    run = await surface.begin(tool, arguments, **options)
    call_id = run.invocation_ids[0]
    with view:
        view.begin(call_id, f"{call_id}; from elsewhere: ferrule follow {call_id}, ferrule cancel {call_id}")
        telling = asyncio.create_task(tell(app.follow(call_id), view))
        try:
            with Interrupts(lambda: _ask_to_stop(surface, call_id, view)) as interrupts:
                outcome: Result | Pending = await interrupts.ended(asyncio.create_task(_ended(app, run, view)))
            if isinstance(outcome, Result):
                await telling
            return outcome
        except Left:
            view.note(f"left without waiting; its tool may have acted: ferrule explain {call_id}", {"left": call_id})
            raise
        finally:
            telling.cancel()
            await asyncio.wait({telling})


async def _ended(app: App, run: BatchRun, view: View) -> Result | Pending:
    outcome: Result | Pending = (await run.ended())[0]
    if isinstance(outcome, Pending) and is_in_background(app, outcome):
        words = f"in the background of this process, which stays until it has ended: {cleaned(outcome.message)}"
        view.note(words, {"pending": msgspec.to_builtins(outcome)})
    return await stayed_for(app, outcome)


def is_in_background(app: App, outcome: Result | Pending) -> bool:
    """True for a call that still runs in this very process, though its caller got an answer."""
    return isinstance(outcome, Pending) and outcome.invocation_id in app.services.live.calls


async def stayed_for(app: App, outcome: Result | Pending) -> Result | Pending:
    """What was given, or the end of a call in the background: it runs in this process, which therefore has to stay."""
    if isinstance(outcome, Pending) and is_in_background(app, outcome):
        return await app.calls.waited(outcome, math.inf)
    return outcome


async def _ask_to_stop(surface: SurfaceHandle, call_id: str, view: View) -> None:
    view.note("asked to stop; Ctrl-C again leaves without waiting", {"cancel_requested": {"invocation_id": call_id}})
    cancellation = await surface.cancel(call_id, INTERRUPTED)
    if cancellation is not None:
        words = (
            f"{told(cancellation)}; waiting for it" if cancellation.outcome == "requested" else ""
        )  # else it ends now
        view.note(words, {"cancellation": msgspec.to_builtins(cancellation)})


def told(cancellation: Cancellation) -> str:
    """What became of a request to stop, in words."""
    word = {"canceled": "canceled", "cancel_failed": "not canceled", "requested": "not stopped yet"}
    return f"{word[cancellation.outcome]}: {cleaned(cancellation.message)}"
