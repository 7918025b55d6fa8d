"""Replies out of a response queue: each finds its call once, and what nobody can use is set aside."""

from __future__ import annotations

import asyncio
import base64
import json
from collections.abc import AsyncGenerator, Awaitable, Callable
from pathlib import Path

import pytest

from ferrule.contracts.receiver import Fate, Reply
from ferrule.model.result import Pending
from ferrule.runtime.executors.queue.channel import ReceivedMessage
from ferrule.runtime.executors.queue.receiver import QueueReceiver, SetAside
from tests.runtime.executors.queue.sqs_queues import Queues
from tests.runtime.executors.queue.tools import (
    calling,
    ended,
    eventually,
    parked,
)
from tests.spec.running_app import run_async


@run_async
async def test_duplicate_replies_change_nothing(queues: Queues) -> None:
    async with calling(queues.ask(), env=queues.env) as app:
        waiting, other = await parked(app, "ask"), await parked(app, "ask")
        for text in ("first", "second", "third"):
            queues.answer({"text": text}, waiting.invocation_id)
        assert (await ended(app, waiting.invocation_id)).status == "succeeded"
        await eventually(lambda: queues.left() == 0)
        rows = await app.store.rows_of(waiting.invocation_id)
        assert sum(row.kind == "answered" for row in rows) == 1
        assert isinstance(await app.result(other.invocation_id), Pending)


@run_async
async def test_poison_is_set_aside_with_its_reason_and_others_get_through(queues: Queues, tmp_path: Path) -> None:
    aside = tmp_path / "aside"
    async with calling(queues.ask(), env=queues.env, aside=aside) as app:
        waiting = await parked(app, "ask")
        queues.answer("not json at all {", waiting.invocation_id)
        queues.answer({"text": "who is this for?"})
        queues.answer({"text": "the real one"}, waiting.invocation_id)
        assert (await ended(app, waiting.invocation_id)).structured_content == {"text": "the real one"}
        await eventually(lambda: queues.left() == 0)
    kept = {json.loads(file.read_text())["reason"]: json.loads(file.read_text()) for file in aside.glob("*.json")}
    assert len(kept) == 2
    unread = next(record for reason, record in kept.items() if "no JSON" in reason)
    assert base64.b64decode(unread["body_base64"]) == b"not json at all {"
    assert unread["channel"] == f"queue:{queues.replies}"
    assert any("names no call" in reason for reason in kept)
    assert {file.stat().st_mode & 0o777 for file in aside.glob("*.json")} == {0o600}


class Arrivals:
    """A queue that hands out what a test wrote down, and remembers what became of it."""

    def __init__(self, *messages: tuple[bytes, dict[str, str]], deliveries: int = 1) -> None:
        self.messages = messages
        self.deliveries = deliveries
        self.fates: list[str] = []
        self.is_closed = False

    async def arrivals(self) -> AsyncGenerator[ReceivedMessage, None]:
        for body, attributes in self.messages:
            yield ReceivedMessage(
                body=body, attributes=attributes, deliveries=self.deliveries, facts={"id": "1"},
                acknowledge=self._noting("done"), release=self._noting("left"),
            )  # fmt: skip

    def _noting(self, fate: str) -> Callable[[], Awaitable[None]]:
        async def note() -> None:
            self.fates.append(fate)

        return note

    async def aclose(self) -> None:
        self.is_closed = True


def received(folder: Path, source: Arrivals, *, takes_bytes: bool = False, fate: Fate | None = None) -> list[Reply]:
    """The replies that come out, each settled with a fate."""

    async def story() -> list[Reply]:
        aside = SetAside(folder, lambda: 5.0, most=2, clean=lambda data: data.replace(b"hush", b"****"))
        found = []
        async for reply in QueueReceiver("queue:r", source, aside, takes_bytes=lambda: takes_bytes).replies():
            found.append(reply)
            if fate is not None:
                await reply.settle(fate)
        return found

    return asyncio.run(story())


def reasons(folder: Path) -> list[str]:
    return [json.loads(file.read_text())["reason"] for file in folder.glob("*.json")]


@pytest.mark.parametrize("name", ["correlation_id", "CorrelationId", "correlation-id", "ferrule_invocation_id"])
def test_the_call_is_named_beside_the_body_or_in_it(tmp_path: Path, name: str) -> None:
    source = Arrivals((b'{"a":1}', {name: "inv_1"}), (b'{"correlation_id":"inv_2","a":1}', {}))
    found = received(tmp_path, source)
    assert [reply.invocation_id for reply in found] == ["inv_1", "inv_2"]
    assert found[0].value["body"] == {"a": 1} and found[0].value["native"] == {"id": "1"}


def test_an_attribute_tells_that_the_body_is_an_error(tmp_path: Path) -> None:
    (found,) = received(tmp_path, Arrivals((b"{}", {"correlation_id": "inv_1", "Status": "FAILED"})))
    assert found.value["is_error"] is True


def test_bytes_are_passed_on_where_somebody_reads_them(tmp_path: Path) -> None:
    message = (b"\x00\xff", {"correlation_id": "inv_1"})
    (found,) = received(tmp_path, Arrivals(message), takes_bytes=True)
    assert found.value["base64"] == "AP8="
    assert received(tmp_path, Arrivals(message)) == [] and reasons(tmp_path) == ["its body is no JSON"]


@pytest.mark.parametrize("name", ["", "x" * 201, "inv\n1"])
def test_a_message_that_names_no_call_of_ours_is_poison(tmp_path: Path, name: str) -> None:
    source = Arrivals((b"{}", {"correlation_id": name}))
    assert received(tmp_path, source) == []
    assert (source.fates, len(reasons(tmp_path))) == (["done"], 1)


@pytest.mark.parametrize(
    ("fate", "deliveries", "becomes", "kept"),
    [
        ("taken", 1, "done", 0),
        ("duplicate", 9, "done", 0),
        ("unknown", 4, "left", 0),
        ("unknown", 5, "done", 1),
        ("refused", 4, "left", 0),
        ("refused", 5, "done", 1),
    ],
)
def test_a_reply_that_nobody_waits_for_is_left_for_others_a_few_times(
    tmp_path: Path, fate: Fate, deliveries: int, becomes: str, kept: int
) -> None:
    source = Arrivals((b"{}", {"correlation_id": "inv_1"}), deliveries=deliveries)
    received(tmp_path, source, fate=fate)
    assert (source.fates, len(reasons(tmp_path))) == ([becomes], kept)


def test_what_is_set_aside_holds_no_secret_and_the_oldest_makes_way(tmp_path: Path) -> None:
    received(tmp_path, Arrivals(*((f"hush {number}".encode(), {}) for number in range(5))))
    files = list(tmp_path.iterdir())
    assert len(files) == 2
    assert all(base64.b64decode(json.loads(file.read_text())["body_base64"]).startswith(b"****") for file in files)


def test_a_message_that_is_handed_out_again_is_kept_once(tmp_path: Path) -> None:
    for _ in range(2):
        received(tmp_path, Arrivals((b"poison", {})))
    assert len(reasons(tmp_path)) == 1
