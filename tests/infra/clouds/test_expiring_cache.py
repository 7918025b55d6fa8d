"""Values that cost a question: asked for once, kept for a time, never taken away from those who wait (AML-72)."""

from __future__ import annotations

import asyncio
import gc

import pytest

from ferrule.infra.clouds.expiring_cache import ExpiringCache, Fresh
from tests.infra.clouds.fixtures import in_event_loop


class Question:
    """Asked when somebody asks; answers when it is let."""

    def __init__(self, *answers: str | Exception, seconds: float = 10.0) -> None:
        self.answers = list(answers)
        self.seconds = seconds
        self.asked = 0
        self.canceled = 0
        self.may_answer = asyncio.Event()
        self.may_answer.set()

    async def __call__(self) -> Fresh[str]:
        self.asked += 1
        try:
            await self.may_answer.wait()
        except asyncio.CancelledError:
            self.canceled += 1
            raise
        answer = self.answers.pop(0)
        if isinstance(answer, Exception):
            raise answer
        return Fresh(answer, self.seconds)


@in_event_loop
async def test_many_who_want_the_same_ask_once() -> None:
    kept, question = ExpiringCache[str](lambda: 0.0), Question("a")
    assert await asyncio.gather(*(kept.get("k", question) for _ in range(50))) == ["a"] * 50
    assert await kept.get("k", question) == "a"
    assert question.asked == 1


@in_event_loop
async def test_what_has_run_out_is_asked_for_again() -> None:
    clock = [0.0]
    kept, question = ExpiringCache[str](lambda: clock[0]), Question("a", "b")
    assert await kept.get("k", question) == "a"
    clock[0] = 9.99
    assert await kept.get("k", question) == "a"
    clock[0] = 10.0
    assert await kept.get("k", question) == "b"


@in_event_loop
async def test_what_may_not_be_kept_is_not() -> None:
    kept, question = ExpiringCache[str](lambda: 0.0), Question("a", "b", seconds=0.0)
    assert [await kept.get("k", question), await kept.get("k", question)] == ["a", "b"]


@in_event_loop
async def test_a_failure_goes_to_all_who_wait_and_is_not_kept() -> None:
    kept, question = ExpiringCache[str](lambda: 0.0), Question(ValueError("no"), "b")
    found = await asyncio.gather(*(kept.get("k", question) for _ in range(3)), return_exceptions=True)
    assert [type(one) for one in found] == [ValueError] * 3
    assert await kept.get("k", question) == "b"


@in_event_loop
async def test_one_who_stops_waiting_takes_nothing_from_the_others() -> None:
    kept, question = ExpiringCache[str](lambda: 0.0), Question("a")
    question.may_answer.clear()
    first = asyncio.create_task(kept.get("k", question))
    second = asyncio.create_task(kept.get("k", question))
    while not question.asked:
        await asyncio.sleep(0)
    first.cancel()
    with pytest.raises(asyncio.CancelledError):
        await first
    question.may_answer.set()
    assert await second == "a"
    assert (question.asked, question.canceled) == (1, 0)


@in_event_loop
async def test_when_nobody_waits_any_more_the_question_is_dropped() -> None:
    before = asyncio.all_tasks()
    kept, question = ExpiringCache[str](lambda: 0.0), Question("a")
    question.may_answer.clear()
    only = asyncio.create_task(kept.get("k", question))
    while not question.asked:
        await asyncio.sleep(0)
    only.cancel()
    with pytest.raises(asyncio.CancelledError):
        await only
    while not question.canceled:
        await asyncio.sleep(0)
    question.may_answer.set()
    assert await kept.get("k", question) == "a"
    assert question.asked == 2
    assert asyncio.all_tasks() == before


@in_event_loop
async def test_what_was_forgotten_on_its_way_is_not_kept() -> None:
    kept, question = ExpiringCache[str](lambda: 0.0), Question("old", "new")
    question.may_answer.clear()
    waiting = asyncio.create_task(kept.get("k", question))
    while not question.asked:
        await asyncio.sleep(0)
    kept.forget(lambda key: key == "k")
    question.may_answer.set()
    assert await waiting == "old"
    assert await kept.get("k", question) == "new"


@in_event_loop
async def test_only_so_many_are_kept_and_what_has_run_out_goes_first() -> None:
    clock = [0.0]
    kept = ExpiringCache[str](lambda: clock[0], most=3)
    for key in range(5):
        await kept.get(key, Question(str(key)))
    again = Question("again")
    assert [await kept.get(key, again) for key in (2, 3, 4)] == ["2", "3", "4"]
    assert not again.asked
    clock[0] = 100.0
    await kept.get(9, Question("9"))
    assert len(kept._values) == 1  # secrets of runs that are over do not stay in memory


def test_another_event_loop_does_not_wait_for_the_first_ones_question() -> None:
    kept = ExpiringCache[str](lambda: 0.0)

    async def leave_one_open() -> None:
        question = Question("never")
        question.may_answer.clear()
        waiting = asyncio.create_task(kept.get("k", question))
        while not question.asked:
            await asyncio.sleep(0)
        waiting.cancel()

    asyncio.run(leave_one_open())

    async def ask() -> str:
        return await asyncio.wait_for(kept.get("k", Question("b")), 5)

    assert asyncio.run(ask()) == "b"
    assert asyncio.run(ask()) == "b"


def test_a_failure_that_nobody_waited_for_is_not_told_at_the_end(caplog: pytest.LogCaptureFixture) -> None:
    async def leave() -> None:
        kept, question = ExpiringCache[str](), Question(ValueError("canary-secret"))
        waiting = asyncio.create_task(kept.get("k", question))
        await asyncio.sleep(0)
        waiting.cancel()
        await asyncio.sleep(0)

    asyncio.run(leave())
    gc.collect()
    assert "canary-secret" not in caplog.text


@in_event_loop
async def test_a_finished_question_does_not_print_its_answer() -> None:
    """asyncio prints tasks, and their results, when it is slow or in doubt."""
    kept, seen = ExpiringCache[str](lambda: 0.0), []

    async def ask() -> Fresh[str]:
        seen.append(asyncio.current_task())
        return Fresh("canary-secret", 1.0)

    assert await kept.get("k", ask) == "canary-secret"
    assert "finished" in repr(seen) and "canary-secret" not in repr(seen)
