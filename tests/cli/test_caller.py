"""What calls from the command line share: seconds that can be waited, deferred tools, and words for a request to stop."""

from __future__ import annotations

import asyncio
import math
from typing import Any

import click
import pytest

import ferrule
from ferrule.app.progress import Cancellation
from ferrule.cli.caller import (
    Interrupts,
    StoppedWatching,
    describe_cancellation,
    is_in_background,
    load_if_deferred,
    parse_seconds,
)
from ferrule.model.result import Result
from ferrule.testing import memory_app
from tests.driven import driven

WAIT = click.Option(["--wait"])
HERE = click.Context(click.Command("call"))


@ferrule.tool(read_only=True)
def rare() -> str:
    """Seldom wanted."""
    return "rare"


@pytest.mark.parametrize("given", [None, 0.0, 1.5])
def test_a_number_of_seconds_is_taken(given: float | None) -> None:
    assert parse_seconds(HERE, WAIT, given) == given


@pytest.mark.parametrize("given", [-1.0, math.inf, math.nan])
def test_what_nobody_can_wait_is_refused(given: float) -> None:
    with pytest.raises(click.UsageError, match="--wait takes a number of seconds"):
        parse_seconds(HERE, WAIT, given)


@pytest.mark.parametrize(
    ("outcome", "words"),
    [("canceled", "canceled: x"), ("cancel_failed", "not canceled: x"), ("requested", "not stopped yet: x")],
)
def test_what_became_of_a_request_to_stop_is_told_in_words(outcome: Any, words: str) -> None:
    assert describe_cancellation(Cancellation(invocation_id="inv_1", outcome=outcome, message="x")) == words


async def _nothing() -> None:
    pass


@driven
async def test_whoever_interrupts_once_asks_to_stop_and_still_gets_the_end() -> None:
    asked = asyncio.Event()

    async def ask() -> None:
        asked.set()

    with Interrupts(ask) as interrupts:
        interrupts._interrupt()
        assert await interrupts.wait(asyncio.create_task(asyncio.sleep(0, "done"))) == "done"
    assert asked.is_set()


@driven
async def test_whoever_interrupts_twice_leaves_and_the_work_is_let_go() -> None:
    work = asyncio.create_task(asyncio.Event().wait())
    with Interrupts(_nothing) as interrupts:
        interrupts._interrupt()
        interrupts._interrupt()
        with pytest.raises(StoppedWatching):
            await interrupts.wait(work)
    assert work.cancelled()


@driven
async def test_a_deferred_tool_that_is_named_is_loaded_and_an_ended_call_is_not_in_the_background() -> None:
    async with memory_app(tools=[rare]) as app:
        surface = app.surface(defer_above=0)
        entry = surface.surface.find("rare")
        assert entry is not None and entry.standing == "deferred"
        load_if_deferred(surface, "rare")
        load_if_deferred(surface, "nothing")
        outcome = await surface.call("rare")
        assert isinstance(outcome, Result) and outcome.status == "succeeded"
        assert not is_in_background(app, outcome)
