"""Progress and log messages of a call: they grow, they come in bounds, and the last one is always sent."""

from __future__ import annotations

import asyncio
import json
from types import SimpleNamespace
from typing import Any

import pytest

from ferrule.model.progress import Progress
from ferrule.servers.mcp.methods.progress import LEVELS, ProgressSender, read_level
from ferrule.servers.mcp.wire.messages import INVALID_PARAMS, RpcError
from tests.driven import driven


class Back:
    """The way back to a client, as far as it was told something."""

    def __init__(self) -> None:
        self.told: list[Any] = []

    async def tell(self, text: bytes | str) -> None:
        self.told.append(json.loads(text)["params"])


def teller(token: str | None = "t", level: str | None = None) -> tuple[ProgressSender, list[Any]]:
    back = Back()
    exchange: Any = SimpleNamespace(meta=SimpleNamespace(progress_token=token), log_level=level, back=back)
    tell = ProgressSender(exchange)
    tell.begin()
    return tell, back.told


def make_progress(**facts: Any) -> Progress:
    return Progress(**{"invocation_id": "inv_1", "sequence": 1, "status": "running", "timestamp": 0, **facts})


def log(level: str, data: Any = "x") -> Progress:
    return make_progress(extra={"log": {"level": level, "data": data}})


@driven
async def test_progress_grows_even_when_only_the_words_change() -> None:
    tell, told = teller()
    for facts in ({"percent": 50.0}, {"percent": 50.0, "message": "still"}, {"percent": 40.0}, {"message": "words"}):
        tell.hear(make_progress(**facts))
    await asyncio.sleep(0)
    numbers = [one["progress"] for one in told]
    assert numbers == sorted(set(numbers)) and numbers[0] == 50
    assert {one["total"] for one in told} == {100} and told[1]["message"] == "still"


@driven
async def test_steps_and_bytes_count_too_and_words_alone_are_counted_from_one() -> None:
    tell, told = teller()
    tell.hear(make_progress(message="a"))
    tell.hear(make_progress(message="b"))
    await asyncio.sleep(0)
    assert [one["progress"] for one in told] == [1, 2]
    tell, told = teller()
    tell.hear(make_progress(current_step="3", total_steps=9))
    await asyncio.sleep(0)
    assert (told[0]["progress"], told[0]["total"]) == (3, 9)
    tell, told = teller()
    tell.hear(make_progress(bytes_read=77))
    await asyncio.sleep(0)
    assert told[0]["progress"] == 77 and "total" not in told[0]


@driven
async def test_what_comes_too_fast_is_held_back_and_the_last_of_it_comes_before_the_result() -> None:
    tell, told = teller()
    for number in range(1, 101):
        tell.hear(make_progress(percent=float(number)))
    await asyncio.sleep(0)
    assert 10 < len(told) < 30
    await tell.finish()
    assert told[-1]["progress"] == 100


@driven
async def test_nobody_is_told_progress_who_did_not_ask_for_it_nor_the_end_which_is_the_result() -> None:
    tell, told = teller(token=None)
    tell.hear(make_progress(percent=1.0))
    other, heard = teller()
    other.hear(make_progress(status="completed", percent=100.0))
    await tell.finish()
    await other.finish()
    assert told == heard == []


@driven
async def test_log_messages_below_the_level_are_left_out_and_a_level_nobody_knows_is_plain_information() -> None:
    tell, told = teller(level="info")
    for level in ("debug", "nonsense", "error"):
        tell.hear(log(level))
    await tell.finish()
    assert [one["level"] for one in told] == ["info", "error"]
    silent, heard = teller(level=None)
    silent.hear(log("emergency"))
    await silent.finish()
    assert heard == []


@driven
async def test_log_messages_that_come_too_fast_are_counted_and_that_is_told() -> None:
    tell, told = teller(level="debug")
    for _ in range(300):
        tell.hear(log("info"))
    await tell.finish()
    assert len(told) < 200
    assert told[-1]["level"] == "warning" and f"{300 - len(told) + 1} log messages were left out" in told[-1]["data"]


@driven
async def test_nothing_is_sent_before_the_way_back_is_known() -> None:
    back = Back()
    exchange: Any = SimpleNamespace(meta=SimpleNamespace(progress_token="t"), log_level=None, back=Back())
    tell = ProgressSender(exchange)
    tell.hear(make_progress(percent=1.0))
    await asyncio.sleep(0)
    exchange.back = back
    tell.begin()
    await tell.finish()
    assert [one["progress"] for one in back.told] == [1]


@driven
async def test_a_client_that_does_not_read_makes_no_long_queue() -> None:
    tell, told = teller(level="debug")
    stopped = asyncio.Event()
    tell._exchange.back.tell = lambda text: stopped.wait()  # type: ignore[method-assign,assignment,return-value]
    tell._logs._burst = tell._logs._left = 10_000.0
    for _ in range(2_000):
        tell.hear(log("info"))
    await asyncio.sleep(0)
    assert len(tell._unsent) <= 200 and told == []
    tell.close()


@driven
async def test_a_way_back_that_fails_is_told_at_the_end_of_the_call() -> None:
    tell, _ = teller()

    async def fail(text: bytes) -> None:
        raise ConnectionError("gone")

    tell._exchange.back.tell = fail  # type: ignore[method-assign]
    tell.hear(make_progress(percent=1.0))
    await asyncio.sleep(0)
    with pytest.raises(ConnectionError):
        await tell.finish()
    tell.close()


@pytest.mark.parametrize("level", ["loud", "", None, 3, ["info"]])
def test_a_level_that_is_none_is_refused_with_those_there_are(level: Any) -> None:
    assert read_level("notice") == "notice"
    with pytest.raises(RpcError) as refused:
        read_level(level)
    assert refused.value.code == INVALID_PARAMS and ", ".join(LEVELS) in refused.value.message
