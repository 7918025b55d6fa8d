"""What every payload store promises: whole or not at all, unchanged, for its time, and nothing by an odd address."""

from __future__ import annotations

import hashlib
from collections.abc import Callable
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from ferrule.contracts.payloads import PayloadGone, PayloadOwner, PayloadStore, address_of, payload_block, uri_of
from ferrule.ledger.payloads.files import FilePayloads
from ferrule.ledger.payloads.memory import MemoryPayloads
from ferrule.testing import FakeClock
from tests.spec.running_app import run_async

CALL = "inv_0123456789abcdef01234567"
OWNER = PayloadOwner(CALL, "ada", "default", "shop.search")
HOUR = 3_600_000_000

Make = Callable[[], PayloadStore]


class Bench:
    """One kind of store, and the clock it goes by."""

    def __init__(self, kind: str, folder: Path) -> None:
        self.clock = FakeClock()
        self.kind = kind
        self.folder = folder

    def open(self) -> PayloadStore:
        if self.kind == "files":
            return FilePayloads(self.folder / "payloads", self.clock.now)
        return MemoryPayloads(self.clock.now)


@pytest.fixture(params=("files", "memory"))
def bench(request: pytest.FixtureRequest, tmp_path: Path) -> Bench:
    return Bench(request.param, tmp_path)


def put(store: PayloadStore, data: bytes, **said: object) -> str:
    writer = store.begin(OWNER, **said)  # type: ignore[arg-type]  # whatever `begin` takes
    for start in range(0, len(data), 100_000):
        writer.write(data[start : start + 100_000])
    assert writer.size == len(data)
    return writer.close().uri


async def gone(store: PayloadStore, uri: str) -> str:
    reasons = set()
    for look in (store.describe(uri), store.read(uri), store.read(uri, 0, 1)):
        with pytest.raises(PayloadGone) as told:
            await look
        reasons.add(told.value.reason)
    with pytest.raises(PayloadGone) as told:
        async for _ in store.stream(uri):
            pass
    (reason,) = reasons | {told.value.reason}
    return reason


@run_async
async def test_what_is_kept_is_given_back_unchanged(bench: Bench) -> None:
    """AT-61, AT-225, AT-228: the very bytes, their digest and size."""
    store = bench.open()
    for data in (b"", b"x", bytes(range(256)) * 4000):
        kept = await store.describe(put(store, data, media_type="text/csv", name="a/../b.csv", expires_at=None))
        assert kept.digest == f"sha256:{hashlib.sha256(data).hexdigest()}"
        assert (kept.size, kept.media_type, kept.name, kept.owner) == (len(data), "text/csv", "b.csv", OWNER)
        assert 0 < bench.clock.now() - kept.created_at < 1000
        assert await store.read(kept.uri) == data
        assert await store.read(kept.uri, 3, 5) == data[3:8]
        assert await store.read(kept.uri, len(data) + 1, 5) == b""
        assert b"".join([chunk async for chunk in store.stream(kept.uri)]) == data
    with pytest.raises(ValueError, match="from 0 on"):
        await store.read(kept.uri, -1)
    await store.aclose()


@run_async
async def test_each_payload_of_a_call_has_its_own_address(bench: Bench) -> None:
    store = bench.open()
    uris = [put(store, bytes([number])) for number in range(5)]
    assert uris == [uri_of(CALL, number) for number in range(5)]
    assert [await store.read(uri) for uri in uris] == [bytes([number]) for number in range(5)]
    await store.aclose()


@run_async
async def test_nothing_is_visible_before_it_is_closed_and_nothing_is_left_of_what_is_not(bench: Bench) -> None:
    store = bench.open()
    writer = store.begin(OWNER)
    writer.write(b"half")
    assert await gone(store, uri_of(CALL, 0)) == "unknown"
    writer.discard()
    writer.discard()
    assert await gone(store, uri_of(CALL, 0)) == "unknown"
    for late in (lambda: writer.write(b"more"), writer.close):
        with pytest.raises(OSError, match="given up"):
            late()
    whole = store.begin(OWNER)
    whole.write(b"whole")
    kept = whole.close()
    whole.discard()
    assert await store.read(kept.uri) == b"whole"
    await store.aclose()


@run_async
async def test_expired_bytes_are_refused_at_once_and_swept_later(bench: Bench) -> None:
    """AT-236: a structured "expired"."""
    store = bench.open()
    over = put(store, b"over", expires_at=bench.clock.now() + HOUR)
    lasting, later = put(store, b"lasts"), put(store, b"later", expires_at=bench.clock.now() + 3 * HOUR)
    bench.clock.advance(3600)
    assert await gone(store, over) == "expired"
    assert await store.sweep(bench.clock.now()) == 1
    assert await store.sweep(bench.clock.now()) == 0
    assert await gone(store, over) == "unknown"
    assert (await store.read(lasting), await store.read(later)) == (b"lasts", b"later")
    await store.aclose()


@run_async
async def test_session_payloads_end_with_the_store(bench: Bench) -> None:
    """AT-236: a reference says how long it is meant to last."""
    store = bench.open()
    durable, session = put(store, b"durable"), put(store, b"session", scope="session")
    assert durable != session
    assert payload_block(await store.describe(session))["scope"] == "session"
    assert await store.read(session) == b"session"
    await store.aclose()
    again = bench.open() if bench.kind == "files" else store
    assert await again.read(durable) == b"durable"
    assert await gone(again, session) == "unknown"
    await again.aclose()


@run_async
async def test_removed_is_gone(bench: Bench) -> None:
    store = bench.open()
    uri = put(store, b"data")
    assert await store.remove(uri)
    assert not await store.remove(uri)
    assert await gone(store, uri) == "unknown"
    await store.aclose()


@run_async
async def test_everything_of_an_erased_call_is_destroyed(bench: Bench) -> None:
    """AT-275: and nothing of another one."""
    store = bench.open()
    mine = [put(store, b"a"), put(store, b"b"), put(store, b"c", scope="session")]
    await store.remove(mine[0])
    writer = store.begin(PayloadOwner("inv_other", "ada", "default"))
    writer.write(b"other")
    other = writer.close().uri
    assert await store.forget([CALL, "inv_none", "../x"]) == 2
    assert await store.forget([CALL]) == 0
    assert [await gone(store, uri) for uri in mine] == ["unknown"] * 3
    assert await store.read(other) == b"other"
    await store.aclose()


ODD = [
    "", "ferrule-payload:", f"ferrule-payload:{CALL}", f"ferrule-payload:{CALL}/", f"ferrule-payload:{CALL}/00",
    f"ferrule-payload:{CALL}/0/", f"ferrule-payload:{CALL}/-1", f"ferrule-payload:{CALL}/0\n", f"FERRULE-payload:{CALL}/0",
    f"ferrule-payload:../kept/{CALL}/0", f"ferrule-payload:inv_../{CALL}/0", f"ferrule-payload:{CALL}%2f../0",
    f"ferrule-payload://{CALL}/0", f"file:///{CALL}.0", f"{CALL}/0", "ferrule-payload:inv_/0", f"ferrule-payload:{CALL}/٠",
    "ferrule-payload:inv_" + "a" * 5000 + "/0",
]  # fmt: skip


@pytest.mark.parametrize("uri", ODD)
@run_async
async def test_only_an_address_is_an_address(bench: Bench, uri: str) -> None:
    store = bench.open()
    put(store, b"data")
    assert address_of(uri) is None
    assert await gone(store, uri) == "unknown"
    assert not await store.remove(uri)
    await store.aclose()


@given(st.text(max_size=40))
def test_no_text_reaches_anything_but_a_payload(text: str) -> None:
    found = address_of(f"ferrule-payload:{text}")
    assert found is None or (uri_of(*found) == f"ferrule-payload:{text}" and "/" not in found.invocation_id)


@pytest.mark.parametrize("invocation_id", ["", "inv_", "../../etc", "inv_a/b", "res_1", "inv_\x00"])
@run_async
async def test_a_payload_belongs_to_an_invocation(bench: Bench, invocation_id: str) -> None:
    store = bench.open()
    with pytest.raises(ValueError, match="no invocation id"):
        store.begin(PayloadOwner(invocation_id, "ada", "default"))
    await store.aclose()


@run_async
async def test_labels_of_hostile_tools_are_tidied(bench: Bench) -> None:
    store = bench.open()
    uri = put(store, b"x", media_type="text/plain\r\nSet-Cookie: a", name="../../\x1b[31metc/pass\x00wd")
    kept = await store.describe(uri)
    assert (kept.media_type, kept.name) == ("application/octet-stream", "passwd")
    await store.aclose()
