"""Bytes that pass through a redactor on their way to the store."""

from __future__ import annotations

from hypothesis import given, settings
from hypothesis import strategies as st

from ferrule.contracts.executor import Output
from ferrule.contracts.payloads import PayloadOwner
from ferrule.ledger.payloads.memory import MemoryPayloads
from ferrule.runtime.pipeline.results.streaming import drain_stream
from ferrule.runtime.redaction.stream import RedactingWriter
from ferrule.testing import FakeClock
from tests.runtime.pipeline.results.result_app import secrets
from tests.runtime.redaction.spelled import CANARIES, ENCODINGS, KNOWN, PROSE
from tests.spec.running_app import run_async


@run_async
async def test_a_stream_of_crumbs_is_looked_through_in_pieces() -> None:
    """However small the chunks are, looking through them costs no more."""
    looked: list[int] = []

    class Counting:
        found: tuple[str, ...] = ()

        def feed(self, chunk: bytes) -> bytes:
            looked.append(len(chunk))
            return chunk

        def finish(self) -> bytes:
            return b""

    payloads = MemoryPayloads(lambda: 0)
    owner = PayloadOwner("inv_1", "ann", "default")
    writer = RedactingWriter(payloads.begin(owner), Counting())
    for _ in range(50_000):
        writer.write(b"x")
    assert writer.size == writer.close().size == 50_000
    kept = await drain_stream(Output(stream=iter([b"x"] * 50_000)), payloads.begin(owner), Counting())
    assert kept.size == 50_000
    assert len(looked) < 20


OWNER = PayloadOwner("inv_0123456789abcdef01234567", "ada", "default")


@run_async
async def test_a_tool_that_writes_itself_writes_without_secrets() -> None:
    """AT-233: through `RedactingWriter`."""
    store = MemoryPayloads(FakeClock().now)
    stream = secrets(KEY="tok_4f9a8b7c6d5e").stream()
    writer = RedactingWriter(store.begin(OWNER), stream)
    for chunk in (b"a tok_4f9a", b"8b7c6d5e b"):
        writer.write(chunk)
    kept = writer.close()
    assert b"tok_" not in await store.read(kept.uri)
    assert stream.found == ("secret:KEY",)


PIECES = st.lists(
    st.text(max_size=12)
    | st.sampled_from([encode(secret) for secret in list(CANARIES.values())[:24] for encode in ENCODINGS.values()])
    | st.sampled_from(["=", "==", "\n", " ", "YWJj", "616263", "a"]),
    max_size=8,
)


@settings(max_examples=300, deadline=None)
@given(PIECES, st.lists(st.integers(0, 4000), max_size=12))
def test_however_a_stream_is_cut_it_says_what_the_whole_says(pieces: list[str], cuts: list[int]) -> None:
    """AT-233: a secret split across chunks is found."""
    data = "".join(pieces).encode("utf-8", "surrogatepass")
    whole = KNOWN.stream()
    expected = whole.feed(data) + whole.finish()
    assert expected.decode("utf-8", "surrogatepass") == KNOWN.text(data.decode("utf-8", "surrogatepass"))[0]
    stream, passed, last = KNOWN.stream(), b"", 0
    for cut in [*sorted(cut for cut in cuts if cut < len(data)), len(data)]:
        passed += stream.feed(data[last:cut])
        last = cut
    assert passed + stream.finish() == expected
    assert set(stream.found) == set(whole.found)


@settings(max_examples=50, deadline=None)
@given(PIECES)
def test_a_stream_byte_by_byte(pieces: list[str]) -> None:
    data = "".join(pieces).encode("utf-8", "surrogatepass")
    stream = KNOWN.stream()
    passed = b"".join(stream.feed(data[at : at + 1]) for at in range(len(data))) + stream.finish()
    assert passed.decode("utf-8", "surrogatepass") == KNOWN.text(data.decode("utf-8", "surrogatepass"))[0]


@given(st.binary(max_size=400), st.integers(0, 400))
def test_bytes_that_are_no_text_go_through_as_they_are(data: bytes, cut: int) -> None:
    stream = KNOWN.stream()
    assert stream.feed(data[:cut]) + stream.feed(data[cut:]) + stream.finish() == data


def test_a_stream_lets_everything_through_that_cannot_be_a_secret() -> None:
    stream = KNOWN.stream()
    passed = b"".join(stream.feed(PROSE.encode()) for _ in range(1000))
    assert len(PROSE) * 1000 - len(passed) < 400
    assert passed + stream.finish() == PROSE.encode() * 1000
    assert stream.found == ()
