"""Calls from the command line: the options that say who calls, the surface they get, and one call watched to its end.

Used by `call`, `batch` and other commands about calls. Ctrl-C asks calls to stop, then leaves, then ends the process;
SIGTERM gives them a moment. It reports the outcome of a request to stop. It does not know how a call is shown.
"""

from __future__ import annotations

import asyncio
import math
import os
import signal
from collections.abc import AsyncIterator, Callable, Coroutine, Iterator
from contextlib import asynccontextmanager, contextmanager, suppress
from typing import Any, NamedTuple

import click
import msgspec

from ferrule.access.keys import Access
from ferrule.app.app import App
from ferrule.app.batches import BatchRun
from ferrule.app.opening import open_app
from ferrule.app.progress import Cancellation
from ferrule.app.surface import SurfaceHandle
from ferrule.cli.show.watching import View, show_all
from ferrule.definitions.reporters.excerpt import sanitize
from ferrule.model.result import Pending, Result
from ferrule.model.value import JsonObject
from ferrule.runtime.pipeline.live import Cancel
from ferrule.workspace.staleness import is_stale
from ferrule.workspace.workspace import Workspace

LEFT = 130
"""The exit code of whoever left, as shells give it."""


class StoppedWatching(Exception):
    """The person who watched left before the end."""


class Interrupts:
    """Listens for Ctrl-C, in the running loop, while it is entered."""

    def __init__(self, ask_to_stop: Callable[[], Coroutine[Any, Any, None]]) -> None:
        self._ask_to_stop = ask_to_stop
        self._count = 0
        self._asking: asyncio.Task[None] | None = None

    def __enter__(self) -> Interrupts:
        self._loop = asyncio.get_running_loop()
        self._left: asyncio.Future[None] = self._loop.create_future()
        self._loop.add_signal_handler(signal.SIGINT, self._interrupt)
        return self

    def __exit__(self, *_: object) -> None:
        if self._count < 2:  # whoever leaves and asks once more does not want to wait for anything
            self._loop.remove_signal_handler(signal.SIGINT)

    async def wait(self, work: asyncio.Task[Any]) -> Any:
        """Waits for a task and returns its result. Raises StoppedWatching when the person leaves."""
        await asyncio.wait({work, self._left}, return_when=asyncio.FIRST_COMPLETED)
        asking = {self._asking} if self._asking is not None else set()
        if not work.done():
            for task in (work, *asking):
                task.cancel()
            await asyncio.wait({work, *asking})
            raise StoppedWatching
        await asyncio.gather(*asking)
        return work.result()

    def _interrupt(self) -> None:
        self._count += 1
        if self._count == 1:
            self._asking = self._loop.create_task(self._ask_to_stop())
        elif self._count == 2:
            if not self._left.done():
                self._left.set_result(None)
        else:
            # An ordinary exit waits for threads, and a tool that runs in one may never end.
            os._exit(LEFT)


TERMINATED = 143
"""The exit code of whoever was told to end while a tool did not stop, as shells give it."""
_PATIENCE_SECONDS = 2.0


@contextmanager
def stop_on_sigterm(app: App) -> Iterator[None]:
    """Ends the calls of this process on SIGTERM, and cancels the running task if one of them does not stop."""
    loop, task = asyncio.get_running_loop(), asyncio.current_task()
    assert task is not None

    def stop() -> None:
        live = app.services.live
        # First, so that no call begins after the others were asked to stop.
        live.is_closing = True
        for each in list(live.calls.values()):
            each.ask_to_stop(Cancel("runtime_shutdown", "the process was told to end"))
        loop.call_later(_PATIENCE_SECONDS if live.calls else 0, task.cancel)

    with suppress(NotImplementedError, RuntimeError, ValueError):  # not the main thread, or no such signals here
        loop.add_signal_handler(signal.SIGTERM, stop)
    try:
        yield
    finally:
        with suppress(NotImplementedError, RuntimeError, ValueError):
            loop.remove_signal_handler(signal.SIGTERM)


class CliCaller(NamedTuple):
    """The open workspace, and the surface of the caller."""

    app: App
    surface: SurfaceHandle


def parse_seconds(context: click.Context, parameter: click.Parameter, given: float | None) -> float | None:
    """Checks a number of seconds to wait. Raises UsageError."""
    if given is None or 0 <= given < math.inf:
        return given
    raise click.UsageError(f"--{parameter.name} takes a number of seconds from 0 on, not {given:g}")


_OPTIONS = (
    click.option("--agent", help="Call as this agent of the catalog; by default all tools are available."),
    click.option("--principal", help="On whose behalf; by default the holder of the agents' token."),
    click.option("--run", "run_id", help="The run this call belongs to; limits count per run."),
    click.option("--wait", type=float, metavar="SECONDS", callback=parse_seconds,
                 help="Wait so long for an approval, an answer or the reply of a queue."),
    click.option("--non-interactive", is_flag=True,
                 help="Deny calls that would wait for a person."),
    click.option("--build", "is_built", is_flag=True,
                 help="Build the catalog first, from the current definitions."),
    click.option("--workspace", "path", default=".", type=click.Path(), help="Use the workspace around this path."),
)  # fmt: skip


def caller_options(command: Callable[..., Any]) -> Callable[..., Any]:
    """Adds the options for the caller, and for how long to wait for an approval."""
    for option in reversed(_OPTIONS):
        command = option(command)
    return command


@asynccontextmanager
async def open_caller(path: str, options: JsonObject) -> AsyncIterator[CliCaller]:
    """Opens the workspace around a path, with a surface for the caller of the options. Raises FerruleError."""
    workspace = Workspace.open(path)
    workspace.demand_policy_engine()
    if not options["is_built"] and is_stale(workspace):
        click.echo(
            "note: definitions changed since the catalog was built; --build calls them as they are now", err=True
        )
    async with open_app(path, tends=False, build="always" if options["is_built"] else "missing") as app:
        caller = Access(app.root).local_agent()
        surface = app.surface(
            agent=options["agent"],
            principal=options["principal"] or caller.principal,
            channel=caller.channel,
            run_id=options["run_id"],
            is_interactive=not options["non_interactive"],
        )
        if options["wait"]:
            app.listen()
        with stop_on_sigterm(app):
            yield CliCaller(app, surface)


def load_if_deferred(surface: SurfaceHandle, tool: str) -> None:
    """Loads a deferred tool: a person who types its name has found it already."""
    entry = surface.surface.find(tool)
    if entry is not None and entry.standing == "deferred":
        surface.select([tool])


INTERRUPTED = "interrupted with Ctrl-C"
"""The reason on record."""


async def call_and_watch(
    app: App, surface: SurfaceHandle, tool: str, arguments: JsonObject | bytes, view: View, **options: Any
) -> Result | Pending:
    """Makes a call and watches it. Raises StoppedWatching when the person leaves before its end."""
    run = await surface.begin(tool, arguments, **options)
    call_id = run.invocation_ids[0]
    with view:
        view.begin(call_id, f"{call_id}; from elsewhere: ferrule follow {call_id}, ferrule cancel {call_id}")
        telling = asyncio.create_task(show_all(app.follow(call_id), view))
        try:
            with Interrupts(lambda: _ask_to_stop(surface, call_id, view)) as interrupts:
                outcome: Result | Pending = await interrupts.wait(asyncio.create_task(_wait_for_end(app, run, view)))
            # Only a call that has ended has a last progress to wait for.
            if isinstance(outcome, Result):
                await telling
            return outcome
        except StoppedWatching:
            view.note(f"left without waiting; its tool may have acted: ferrule explain {call_id}", {"left": call_id})
            raise
        finally:
            telling.cancel()
            await asyncio.wait({telling})


async def _wait_for_end(app: App, run: BatchRun, view: View) -> Result | Pending:
    outcome: Result | Pending = (await run.wait())[0]
    if isinstance(outcome, Pending) and is_in_background(app, outcome):
        words = f"in the background of this process, which stays until it has ended: {sanitize(outcome.message)}"
        view.note(words, {"pending": msgspec.to_builtins(outcome)})
    return await wait_for_background(app, outcome)


def is_in_background(app: App, outcome: Result | Pending) -> bool:
    """True for a call that still runs in this process, though its caller got an answer."""
    return isinstance(outcome, Pending) and outcome.invocation_id in app.services.live.calls


async def wait_for_background(app: App, outcome: Result | Pending) -> Result | Pending:
    """Returns an answer; for a call in the background waits for its end first, because it runs in this process."""
    if isinstance(outcome, Pending) and is_in_background(app, outcome):
        return await app.calls.wait_for_result(outcome, math.inf)
    return outcome


async def _ask_to_stop(surface: SurfaceHandle, call_id: str, view: View) -> None:
    view.note("asked to stop; Ctrl-C again leaves without waiting", {"cancel_requested": {"invocation_id": call_id}})
    cancellation = await surface.cancel(call_id, INTERRUPTED)
    if cancellation is not None:
        words = (
            f"{describe_cancellation(cancellation)}; waiting for it" if cancellation.outcome == "requested" else ""
        )  # else it ends now
        view.note(words, {"cancellation": msgspec.to_builtins(cancellation)})


def describe_cancellation(cancellation: Cancellation) -> str:
    """Describes the outcome of a request to stop."""
    word = {"canceled": "canceled", "cancel_failed": "not canceled", "requested": "not stopped yet"}
    return f"{word[cancellation.outcome]}: {sanitize(cancellation.message)}"
