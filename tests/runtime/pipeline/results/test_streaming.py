"""Output that comes in chunks: into the store without holding it, and nothing left of what breaks off."""

from __future__ import annotations

import asyncio
import hashlib
import subprocess
import sys
import threading
from collections.abc import AsyncIterator, Iterator
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from ferrule.contracts.executor import ExecutionFailed, Output
from ferrule.contracts.payloads import PayloadGone, PayloadOwner
from ferrule.ledger.payloads.files import FilePayloads
from ferrule.ledger.payloads.memory import MemoryPayloads
from ferrule.runtime.pipeline.call import NO_OPTIONS, Call
from ferrule.runtime.pipeline.call_parts import CallInputs
from ferrule.runtime.pipeline.phases.map_result import map_result
from ferrule.runtime.pipeline.phases.persist_result import persist_result
from ferrule.runtime.pipeline.results.streaming import OutputTooLarge, TextPreview, drain_stream, store_stream
from ferrule.testing import FakeClock
from tests.runtime.pipeline.results.result_app import ResultScene, result_scene, secrets
from tests.spec.running_app import make_tool, run_async

OWNER = PayloadOwner("inv_0123456789abcdef01234567", "ada", "default")


class Source:
    """Chunks of either kind, that know whether they were let go of."""

    def __init__(self, *chunks: Any, fails: BaseException | None = None) -> None:
        self.chunks = chunks
        self.fails = fails
        self.is_closed = threading.Event()

    def plain(self) -> Iterator[Any]:
        try:
            yield from self.chunks
            if self.fails is not None:
                raise self.fails
        finally:
            self.is_closed.set()

    async def waiting(self) -> AsyncIterator[Any]:
        try:
            for chunk in self.chunks:
                await asyncio.sleep(0)
                yield chunk
            if self.fails is not None:
                raise self.fails
        finally:
            self.is_closed.set()

    def of(self, kind: str) -> Any:
        return self.plain() if kind == "plain" else self.waiting()


KINDS = pytest.mark.parametrize("kind", ["plain", "waiting"])


@KINDS
@run_async
async def test_what_comes_in_chunks_is_kept_whole(kind: str) -> None:
    """AT-228: bytes, texts and views; any number of them."""
    store = MemoryPayloads(FakeClock().now)
    counts: list[int] = []
    source = Source(b"ab", "ü", bytearray(b"cd"), memoryview(b"ef"), b"", b"x" * 3_000_000)
    kept = await drain_stream(Output(stream=source.of(kind)), store.begin(OWNER), None, counts.append)
    data = b"ab\xc3\xbccdef" + b"x" * 3_000_000
    assert await store.read(kept.uri) == data
    assert counts[-1] == len(data)
    assert source.is_closed.wait(1)


@KINDS
@pytest.mark.parametrize(
    "error", [ValueError("v"), ConnectionResetError("peer"), ExecutionFailed("rate_limited", "slow")]
)
@run_async
async def test_what_breaks_off_leaves_nothing(kind: str, error: Exception) -> None:
    """AT-230: the stream's own error is told, not taken for one of the disk."""
    store = MemoryPayloads(FakeClock().now)
    source = Source(b"half", fails=error)
    with pytest.raises(type(error)):
        await drain_stream(Output(stream=source.of(kind)), store.begin(OWNER), None)
    with pytest.raises(PayloadGone):
        await store.describe("ferrule-payload:inv_0123456789abcdef01234567/0")
    assert source.is_closed.wait(1)


@KINDS
@run_async
async def test_no_more_is_taken_than_may_be_stored(kind: str) -> None:
    store = MemoryPayloads(FakeClock().now)
    source = Source(*[b"x" * 1000] * 5)
    with pytest.raises(OutputTooLarge):
        await drain_stream(Output(stream=source.of(kind)), store.begin(OWNER), None, most=4_999)
    assert source.is_closed.wait(1)
    assert await drain_stream(Output(stream=Source(b"x" * 5000).of(kind)), store.begin(OWNER), None, most=5_000)


@KINDS
@run_async
async def test_a_canceled_stream_is_let_go_of(kind: str, tmp_path: Path) -> None:
    """Nothing stays on disk, and whoever gave the stream is told."""
    store = FilePayloads(tmp_path, FakeClock().now)
    started, going_on, closed = threading.Event(), threading.Event(), threading.Event()

    def plain() -> Iterator[bytes]:
        try:
            while True:
                started.set()
                going_on.wait(5)
                yield b"x" * 100_000
        finally:
            closed.set()

    async def waiting() -> AsyncIterator[bytes]:
        try:
            while True:
                started.set()
                await asyncio.sleep(0.001)
                yield b"x" * 100_000
        finally:
            closed.set()

    stream: Any = plain() if kind == "plain" else waiting()
    task = asyncio.create_task(drain_stream(Output(stream=stream), store.begin(OWNER), None))
    await asyncio.to_thread(started.wait, 5)
    task.cancel()
    with pytest.raises(asyncio.CancelledError):
        await asyncio.wait_for(task, 2)
    going_on.set()
    assert await asyncio.to_thread(closed.wait, 5)
    await store.aclose()
    assert not [path for path in tmp_path.rglob("*") if path.is_file()]


@given(st.text(max_size=200), st.integers(0, 60), st.integers(1, 7))
def test_a_preview_never_cuts_a_character(text: str, chars: int, size: int) -> None:
    data = text.encode()
    beginning = TextPreview(chars)
    for start in range(0, len(data), size):
        beginning.take(data[start : start + size])
    assert text.startswith(beginning.text)
    assert len(beginning.text) == min(chars, len(text))


# In a call


async def ended(on: ResultScene, output: Output) -> Any:
    """A call whose tool gave a stream, from there to the end."""
    call = Call("inv_0123456789abcdef01234567", "search", on.surface.session, CallInputs(b'{"city":"Bern"}'), 0, 0, lambda: 1,
                NO_OPTIONS, "planned", [0], [])  # fmt: skip
    call.prepared = on.surface.session.find("search")
    call.ending.has_run = True
    services = on.app.services
    call.ending.output = await store_stream(call, services, output)
    map_result(call, services)
    waiting = persist_result(call, services)
    if waiting is not None:
        await waiting
    return call


@run_async
async def test_a_stream_of_text_is_shown_in_part_and_one_of_bytes_by_reference() -> None:
    """AT-225, AT-224: status, preview, records; no output schema stands against it."""
    data = b"line\n" * 100_000
    tool = make_tool(output_schema={"type": "object"})
    async with result_scene(None, tool) as on:
        call = await ended(on, Output(stream=iter([data]), media_type="text/plain; charset=utf-8", file_name="out.txt"))
        result = call.ending.result
        assert (result.status, (await on.stored(result))[1]) == ("succeeded", data)
        assert result.text.startswith("line\n" * 400)
        (record,) = call.notes["persistence"]
        assert (record["strategy"], record["original_size_bytes"]) == ("preview_and_persist", 500_000)
        assert record["persisted_ref"]["name"] == "out.txt"
        assert "stored" not in call.notes
        call = await ended(on, Output(stream=iter([b"\x00\x01"]), file_name="a.bin"))
        assert call.notes["persistence"][0]["strategy"] == "ref_only"
        assert "2 bytes" in call.ending.result.text


@KINDS
@run_async
async def test_a_call_whose_tool_gives_a_stream(kind: str) -> None:
    """AT-225: from the tool to the surface that reads it back."""
    chunks = [b"abc" * 30_000] * 4
    async with result_scene(lambda arguments: Output(stream=Source(*chunks).of(kind), media_type="text/plain")) as on:
        result = await on.call()
        assert result.status == "succeeded"
        assert result.text.startswith("abcabc")
        uri = result.content[0]["uri"]
        assert await on.payloads.read(uri) == b"".join(chunks)
        assert await on.app.result(result.invocation_id) == result
        broken = Source(b"half", fails=ValueError("v"))
        on.executor._default = lambda arguments: Output(stream=broken.of(kind))
        result = await on.call()
        assert result.error is not None
        assert result.error.error_code == "output_lost"


@run_async
async def test_private_streams_are_protected_and_not_shown() -> None:
    """AT-234: no preview."""
    async with result_scene(None) as on:
        call = await ended(on, Output(stream=iter([b"marker"]), media_type="text/plain", is_private=True))
        assert "marker" not in str(call.ending.result)
        assert call.notes["persistence"][0]["persisted_ref"]["access"] == "protected"


@KINDS
@run_async
async def test_a_lost_stream_is_an_error_and_not_an_empty_result(kind: str) -> None:
    """AT-230: `output_lost`, not the empty marker."""
    async with result_scene(None) as on:
        with pytest.raises(ExecutionFailed) as told:
            await ended(on, Output(stream=Source(b"half", fails=OSError("gone")).of(kind)))
        assert (told.value.error_class, told.value.code) == ("execution_failed", "output_lost")
        with pytest.raises(ExecutionFailed) as told:
            await ended(on, Output(stream=iter([{"no": "bytes"}])))  # type: ignore[arg-type]  # wrong on purpose
        assert told.value.code == "result_mapping_failed"


@run_async
async def test_at_226_streams_that_cannot_be_stored() -> None:
    """AT-226: shown where that is possible, else too large; a full store leaves nothing."""
    async with result_scene(None, payloads=None) as on:
        assert (await ended(on, Output(stream=iter([b"short"]), media_type="text/plain"))).ending.result.text == "short"
        for stream in ([b"x" * 300_000], [b"\x00"]):
            with pytest.raises(ExecutionFailed) as told:
                await ended(on, Output(stream=iter(stream), media_type="application/zip"))
            assert told.value.error_class == "result_too_large"
    async with result_scene(None, payloads=MemoryPayloads(FakeClock().now, room=10)) as on:
        with pytest.raises(ExecutionFailed) as told:
            await ended(on, Output(stream=iter([b"x" * 11])))
        assert told.value.error_class == "result_too_large"
        assert "no room" in told.value.message
    async with result_scene(None, settings={"max_stored_bytes": 10}) as on:
        with pytest.raises(ExecutionFailed) as told:
            await ended(on, Output(stream=iter([b"x" * 11])))
        assert told.value.error_class == "result_too_large"


@run_async
async def test_at_231_a_stream_of_a_tool_that_opts_out_is_cut_off() -> None:
    """AT-231: shown up to its limit, with a note."""
    tool = make_tool(output_contract={"persistence_policy": "never_persist", "max_inline_chars": 10})
    async with result_scene(None, tool) as on:
        result = (await ended(on, Output(stream=iter([b"x" * 100]), media_type="text/plain"))).ending.result
        assert result.text.startswith("x" * 10 + "\n")
        assert "missing" in result.text
        assert result.native_output_ref is None


@settings(max_examples=30, deadline=None)
@given(st.binary(max_size=60), st.integers(1, 20))
def test_a_secret_split_between_chunks_is_taken_out(around: bytes, size: int) -> None:
    """AT-233: in the stored bytes too."""
    secret = b"tok_4f9a8b7c6d5e"
    data = around + secret + around

    @run_async
    async def main() -> None:
        async with result_scene(None, redactor=secrets(KEY=secret.decode())) as on:
            chunks = [data[start : start + size] for start in range(0, len(data), size)]
            call = await ended(on, Output(stream=iter(chunks), media_type="text/plain"))
            kept, stored = await on.stored(call.ending.result)
            assert secret not in stored
            assert kept.digest == f"sha256:{hashlib.sha256(stored).hexdigest()}"
            assert secret.decode() not in str(call.ending.result)
            assert call.ending.result.redaction_state == "partial"
            assert call.notes["redactions"] == ["secret:KEY"]

    main()


LARGE = """
import asyncio, resource, sys
from pathlib import Path
from ferrule.contracts.executor import Output
from ferrule.contracts.payloads import PayloadOwner
from ferrule.ledger.payloads.files import FilePayloads
from ferrule.runtime.pipeline.results.streaming import drain_stream

CHUNK = b"x" * 65_536
def chunks():
    for _ in range(int(sys.argv[2])):
        yield CHUNK
async def later():
    for chunk in chunks():
        yield chunk
async def main():
    store = FilePayloads(sys.argv[1], lambda: 1)
    for stream in (chunks(), later()):
        writer = store.begin(PayloadOwner("inv_large", "ada", "default"))
        kept = await drain_stream(Output(stream=stream), writer, None)
        read = 0
        async for chunk in store.stream(kept.uri):
            read += len(chunk)
        assert read == kept.size == 65_536 * int(sys.argv[2])
        await store.remove(kept.uri)
before = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
asyncio.run(main())
print(resource.getrusage(resource.RUSAGE_SELF).ru_maxrss - before)
"""


def test_a_large_stream_is_never_held_in_memory(tmp_path: Path) -> None:
    """AT-217: 200 MB in and out, of either kind, with less than 50 MB more memory."""
    ran = subprocess.run(
        [sys.executable, "-c", LARGE, str(tmp_path), "3200"], capture_output=True, text=True, timeout=120, check=False
    )
    assert ran.returncode == 0, ran.stderr
    assert int(ran.stdout) < 50_000  # kilobytes
