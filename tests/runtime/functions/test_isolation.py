"""Functions in processes of their own: which can be found there, and that they end for real with everything they started."""

from __future__ import annotations

import asyncio
import os
import signal
import sys
from pathlib import Path
from typing import Any

import hypothesis
import msgspec
import pytest
from hypothesis import strategies as st

from ferrule.errors import BindingError
from ferrule.model.result import Result
from ferrule.runtime.functions import Binding, tool
from ferrule.runtime.functions.isolation import (
    HEAD_BYTES,
    CallFrame,
    FailureFrame,
    IsolatedFunction,
    OutputParts,
    ReplyFrame,
    encode_frame,
    read_size,
)
from tests import ROOT
from tests.driven import driven
from tests.runtime.functions import apart
from tests.runtime.functions.isolated_app import call_for_value, is_alive, isolated_app


async def _wait_for_pids(mark: Path) -> list[int]:
    while not (mark.exists() and len(mark.read_text(encoding="utf-8").split()) == 2):
        await asyncio.sleep(0.01)
    return [int(pid) for pid in mark.read_text(encoding="utf-8").split()]


@driven
async def test_a_canceled_function_is_killed_with_everything_it_started(tmp_path: Path) -> None:
    async with isolated_app() as app:
        calling = asyncio.ensure_future(app.surface().call("apart.hang", {"mark": str(tmp_path / "mark")}))
        pids = await _wait_for_pids(tmp_path / "mark")
        calling.cancel()
        await asyncio.gather(calling, return_exceptions=True)
        assert not any(map(is_alive, pids))


@driven
async def test_a_function_over_its_time_is_killed(tmp_path: Path) -> None:
    async with isolated_app() as app:
        await call_for_value(app, "whoami")  # so that a process is there, and the time is the function's alone
        result = await app.surface().call("apart.hang", {"mark": str(tmp_path / "mark")}, timeout_seconds=1.5)
        assert isinstance(result, Result) and result.status == "timed_out"
        pids = await _wait_for_pids(tmp_path / "mark")
        while any(map(is_alive, pids)):
            await asyncio.sleep(0.01)


@driven
async def test_settings_can_put_any_function_apart() -> None:
    made = Binding(apart.plain)
    async with isolated_app(made.with_namespace("apart"), isolate=("apart.plain",)) as app:
        name = next(iter(app.surface().surface.entries))
        result = await app.surface().call(name, {"number": 4})
        assert isinstance(result, Result) and isinstance(result.structured_content, dict)
        assert result.structured_content["twice"] == 8
        assert result.structured_content["pid"] != os.getpid()


def test_what_another_process_could_not_find_is_refused_when_the_app_is_opened() -> None:
    @tool(isolation="process")
    def nested() -> str:
        """Nobody finds it."""
        return ""

    for made, words in (
        (nested, "top of a module"),
        (Binding(apart.plain, isolation="process", inline=True), "inline"),
        (Binding(apart.plain, isolation="process", resume=lambda state, answer: None), "waiting"),
    ):
        with pytest.raises(BindingError, match=words):
            asyncio.run(_open_app(made))


def test_a_name_in_isolate_that_nobody_has_is_refused() -> None:
    with pytest.raises(BindingError, match="isolate"):
        asyncio.run(_open_app(apart, isolate=("apart.whoamI",)))


async def _open_app(*tools: Any, **functions: Any) -> None:
    async with isolated_app(*tools, **functions):
        pass


_PARENT = """
import asyncio, sys
from ferrule.testing import memory_app
from tests.runtime.functions import apart

async def main():
    async with memory_app(tools=(apart,), policy='mode = "trusted"') as app:
        await app.surface().call("apart.hang", {"mark": sys.argv[1]})

asyncio.run(main())
"""


@driven
async def test_a_child_ends_with_the_process_it_works_for_however_that_ends(tmp_path: Path) -> None:
    root = ROOT
    env = {**os.environ, "PYTHONPATH": str(root)}
    parent = await asyncio.create_subprocess_exec(
        sys.executable, "-c", _PARENT, str(tmp_path / "mark"), env=env, cwd=root
    )
    child, grandchild = await _wait_for_pids(tmp_path / "mark")
    try:
        parent.kill()
        await parent.wait()
        while is_alive(child):
            await asyncio.sleep(0.01)
    finally:
        os.kill(grandchild, signal.SIGKILL)  # what a function starts and leaves is its own affair then


_TEXTS = st.text(st.characters(codec="utf-8"), max_size=20)


def decode_frame(data: bytes, kind: Any) -> Any:
    """One piece, as the other side reads it."""
    head, body = data[:HEAD_BYTES], data[HEAD_BYTES:]
    assert read_size(head) == len(body)
    return msgspec.json.decode(body, type=kind)


@hypothesis.given(st.lists(_TEXTS, max_size=4))
def test_pieces_that_come_in_one_stream_are_told_apart_by_their_lengths(texts: list[str]) -> None:
    stream, found = b"".join(encode_frame({"given": text}) for text in texts), []
    while stream:
        end = HEAD_BYTES + read_size(stream[:HEAD_BYTES])
        found.append(decode_frame(stream[:end], ReplyFrame).given)
        stream = stream[end:]
    assert found == texts


def test_a_call_arrives_with_the_place_of_its_function() -> None:
    asked = CallFrame(
        IsolatedFunction("shop", "refund", "/code/shop.py"), "shop.refund", {"amount": 5}, {"principal": "ann"}
    )
    assert decode_frame(encode_frame(asked), CallFrame) == asked


@pytest.mark.parametrize("value", [None, False, 0, "", [], {"a": [1]}])
def test_whatever_was_given_is_an_answer_even_if_it_is_nothing(value: Any) -> None:
    assert decode_frame(encode_frame({"given": value}), ReplyFrame).given == value
    assert decode_frame(encode_frame({"progress": {"percent": 5}}), ReplyFrame).given is msgspec.UNSET


def test_an_output_is_sent_without_what_it_does_not_say() -> None:
    parts = OutputParts(is_empty=True, ui_summary="done")
    assert msgspec.json.decode(encode_frame(parts)[HEAD_BYTES:]) == {"is_empty": True, "ui_summary": "done"}
    assert decode_frame(encode_frame({"output": parts}), ReplyFrame).output == parts


def test_a_failure_keeps_everything_that_was_said_about_it() -> None:
    failed = FailureFrame("rate_limited", "not today", "busy", 2.5, "python:Busy", True)
    assert decode_frame(encode_frame({"failed": failed}), ReplyFrame).failed == failed
