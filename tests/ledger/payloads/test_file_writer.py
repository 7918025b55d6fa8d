"""Writing a payload: a full disk, a forgotten writer and many threads leave whole payloads or nothing."""

from __future__ import annotations

import resource
import signal
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import pytest

from ferrule.contracts.payloads import PayloadGone, uri_of
from ferrule.ledger.payloads import file_writer
from ferrule.ledger.payloads.files import FilePayloads
from tests.ledger.payloads.stored import CALL, OWNER, list_files, store_payload
from tests.spec.running_app import run_async


@run_async
async def test_a_full_disk_leaves_nothing(store: FilePayloads, tmp_path: Path) -> None:
    """AT-226: an error, and no remains."""
    soft, hard = resource.getrlimit(resource.RLIMIT_FSIZE)
    before = signal.signal(signal.SIGXFSZ, signal.SIG_IGN)
    writers = [store.begin(OWNER), store.begin(OWNER)]
    resource.setrlimit(resource.RLIMIT_FSIZE, (64 * 1024, hard))
    try:
        with pytest.raises(OSError, match="large"):
            for _ in range(100):
                writers[0].write(b"x" * 1000)
        writers[1].write(b"x" * 64 * 1024)  # exactly full: what it says of itself has no room
        with pytest.raises(OSError, match="large"):
            writers[1].close()
    finally:
        resource.setrlimit(resource.RLIMIT_FSIZE, (soft, hard))
        signal.signal(signal.SIGXFSZ, before)
    assert not list(list_files(tmp_path / "payloads"))
    with pytest.raises(PayloadGone, match="no payload"):
        await store.read(uri_of(CALL, 0))
    await store.aclose()


@run_async
async def test_a_writer_that_is_forgotten_leaves_nothing(store: FilePayloads, tmp_path: Path) -> None:
    writer = store.begin(OWNER)
    writer.write(b"half")
    del writer
    assert not list(list_files(tmp_path / "payloads"))
    await store.aclose()


@run_async
async def test_many_threads_write_payloads_of_one_call(store: FilePayloads) -> None:

    with ThreadPoolExecutor(8) as pool:
        uris = list(pool.map(lambda number: store_payload(store, b"%d" % number), range(40)))
    assert len(set(uris)) == 40
    assert {await store.read(uri) for uri in uris} == {b"%d" % number for number in range(40)}
    await store.aclose()


@run_async
async def test_one_call_cannot_fill_the_folder_with_names(store: FilePayloads) -> None:
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(file_writer, "_MOST", 5)
        with pytest.raises(OSError, match="at most 5"):
            for _ in range(6):
                store_payload(store, b"")
    await store.aclose()
