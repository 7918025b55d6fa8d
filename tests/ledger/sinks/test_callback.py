"""A sink that calls a function: each event once and in order, the same one again after a failure."""

from __future__ import annotations

from pathlib import Path

import pytest

from ferrule.errors import SettingsError
from ferrule.ledger.history.expand import expand_row
from ferrule.ledger.sinks.callback import CallbackSink, make
from ferrule.model.event import Event
from tests.driven import driven
from tests.ledger.history.rows import Ledger, success


def batch(first: int = 1) -> list[Event]:
    ledger = Ledger(first)
    success(ledger)
    return [event for row in ledger.rows for event in expand_row(row, source="shop")]


@driven
async def test_a_function_that_raises_gets_the_same_event_again_and_none_twice() -> None:
    events, got = batch(), list[str]()
    fails = iter([False, False, True])

    def receive(event: Event) -> None:
        if next(fails, False):
            raise OSError("busy")
        got.append(event.event_id)

    sink = CallbackSink(receive)
    with pytest.raises(OSError, match="busy"):
        await sink.write(events)
    assert await sink.cursor() is None and len(got) == 2
    await sink.write(events)
    assert got == [event.event_id for event in events]
    assert await sink.cursor() == events[-1].seq


@driven
async def test_an_async_function_is_waited_for_and_what_is_known_is_passed_over() -> None:
    got: list[int] = []

    async def receive(event: Event) -> None:
        got.append(event.seq)

    sink = CallbackSink(receive, after=1)
    await sink.write(batch(1))
    assert got == []
    await sink.write(batch(2))
    assert set(got) == {2}


def test_a_function_is_named_by_module_and_attribute(tmp_path: Path) -> None:
    assert make({"function": "builtins:print"}, tmp_path).name == "callback:builtins:print"
    for wrong in ("no_such_module:x", "builtins:no_such_name", "sys:path", ""):
        with pytest.raises(SettingsError, match="cannot be loaded"):
            make({"function": wrong}, tmp_path)
    for unfit in ({}, {"function": 7}, {"function": "builtins:print", "level": "full"}):
        with pytest.raises(SettingsError, match="cannot be used as written"):
            make(unfit, tmp_path)
