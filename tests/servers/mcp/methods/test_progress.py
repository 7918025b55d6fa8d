"""Progress and log messages of a call: they grow, they come in bounds, and the last one is always sent."""

from __future__ import annotations

import json
from types import SimpleNamespace
from typing import Any

import pytest

from ferrule.model.progress import Progress
from ferrule.servers.mcp.methods.progress import LEVELS, Teller, level_named
from ferrule.servers.mcp.wire.messages import INVALID_PARAMS, RpcError
from tests.driven import driven


class Back:
    """The way back to a client, as far as it was told something."""

    def __init__(self) -> None:
        self.told: list[Any] = []

    async def tell(self, text: bytes | str) -> None:
        self.told.append(json.loads(text)["params"])


def teller(token: str | None = "t", level: str | None = None) -> tuple[Teller, list[Any]]:
    back = Back()
    exchange: Any = SimpleNamespace(progress_token=token, log_level=level, back=back)
    return Teller(exchange), back.told


def said(**facts: Any) -> Progress:
    return Progress(**{"invocation_id": "inv_1", "sequence": 1, "status": "running", "timestamp": 0, **facts})


def log(level: str, data: Any = "x") -> Progress:
    return said(extra={"log": {"level": level, "data": data}})


@driven
async def test_progress_grows_even_when_only_the_words_change() -> None:
    tell, told = teller()
    for facts in ({"percent": 50.0}, {"percent": 50.0, "message": "still"}, {"percent": 40.0}, {"message": "words"}):
        await tell.say(said(**facts))
    numbers = [one["progress"] for one in told]
    assert numbers == sorted(set(numbers)) and numbers[0] == 50
    assert {one["total"] for one in told} == {100} and told[1]["message"] == "still"


@driven
async def test_steps_and_bytes_count_too_and_words_alone_are_counted_from_one() -> None:
    tell, told = teller()
    await tell.say(said(message="a"))
    await tell.say(said(message="b"))
    assert [one["progress"] for one in told] == [1, 2]
    tell, told = teller()
    await tell.say(said(current_step="3", total_steps=9))
    assert (told[0]["progress"], told[0]["total"]) == (3, 9)
    tell, told = teller()
    await tell.say(said(bytes_read=77))
    assert told[0]["progress"] == 77 and "total" not in told[0]


@driven
async def test_what_comes_too_fast_is_held_back_and_the_last_of_it_comes_before_the_result() -> None:
    tell, told = teller()
    for number in range(1, 101):
        await tell.say(said(percent=float(number)))
    assert len(told) < 30
    await tell.finish()
    assert told[-1]["progress"] == 100


@driven
async def test_nobody_is_told_progress_who_did_not_ask_for_it_nor_the_end_which_is_the_result() -> None:
    tell, told = teller(token=None)
    await tell.say(said(percent=1.0))
    other, heard = teller()
    await other.say(said(status="completed", percent=100.0))
    await tell.finish()
    assert told == heard == []


@driven
async def test_log_messages_below_the_level_are_left_out_and_a_level_nobody_knows_is_plain_information() -> None:
    tell, told = teller(level="info")
    for level in ("debug", "nonsense", "error"):
        await tell.say(log(level))
    assert [one["level"] for one in told] == ["info", "error"]
    silent, heard = teller(level=None)
    await silent.say(log("emergency"))
    assert heard == []


@driven
async def test_log_messages_that_come_too_fast_are_counted_and_that_is_told() -> None:
    tell, told = teller(level="debug")
    for _ in range(300):
        await tell.say(log("info"))
    await tell.finish()
    assert len(told) < 200
    assert told[-1]["level"] == "warning" and f"{300 - len(told) + 1} log messages were left out" in told[-1]["data"]


@pytest.mark.parametrize("level", ["loud", "", None, 3, ["info"]])
def test_a_level_that_is_none_is_refused_with_those_there_are(level: Any) -> None:
    assert level_named("notice") == "notice"
    with pytest.raises(RpcError) as refused:
        level_named(level)
    assert refused.value.code == INVALID_PARAMS and ", ".join(LEVELS) in refused.value.message
