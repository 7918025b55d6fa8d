"""Payloads as files: what a kill, a full disk, a vandal and another process can do to them, which is little."""

from __future__ import annotations

import os
import resource
import signal
import stat
import subprocess
import sys
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import pytest

from ferrule.contracts.payloads import PayloadGone, PayloadOwner, uri_of
from ferrule.ledger.payloads import file_writer
from ferrule.ledger.payloads.files import FilePayloads
from ferrule.testing import FakeClock
from tests.spec.scene import played

CALL = "inv_0123456789abcdef01234567"
OWNER = PayloadOwner(CALL, "ada", "default")
DATA = b"some bytes to keep" * 100


def kept(store: FilePayloads, data: bytes = DATA) -> str:
    writer = store.begin(OWNER)
    writer.write(data)
    return writer.close().uri


def files(folder: Path) -> Iterator[Path]:
    return (path for path in folder.rglob("*") if not path.is_dir())


@pytest.fixture
def store(tmp_path: Path) -> FilePayloads:
    return FilePayloads(tmp_path / "payloads", FakeClock().now)


@played
async def test_only_their_owner_can_open_the_files(store: FilePayloads, tmp_path: Path) -> None:
    before = os.umask(0)
    try:
        kept(store)
        store.begin(OWNER).write(b"half")
    finally:
        os.umask(before)
    for path in (tmp_path / "payloads").rglob("*"):
        assert stat.S_IMODE(path.stat().st_mode) == (0o700 if path.is_dir() else 0o600), path
    await store.aclose()


@pytest.mark.parametrize("at", [0, 700, -1, -30, -80])
@played
async def test_any_changed_byte_is_found(store: FilePayloads, tmp_path: Path, at: int) -> None:
    """AT-61: what is given back is what was kept, or nothing."""
    uri = kept(store)
    (file,) = files(tmp_path / "payloads" / "kept")
    data = bytearray(file.read_bytes())
    data[at] ^= 1
    file.write_bytes(data)
    with pytest.raises(PayloadGone) as told:
        await store.read(uri)
    assert told.value.reason == "damaged"
    with pytest.raises(PayloadGone):
        async for _ in store.stream(uri):
            pass
    await store.aclose()


@pytest.mark.parametrize("size", [0, 10, 1800, 1830])
@played
async def test_a_file_that_was_cut_off_is_damaged(store: FilePayloads, tmp_path: Path, size: int) -> None:
    uri = kept(store)
    (file,) = files(tmp_path / "payloads" / "kept")
    os.truncate(file, size)
    with pytest.raises(PayloadGone, match="damaged"):
        await store.describe(uri)
    await store.aclose()


@played
async def test_links_pipes_and_folders_in_the_place_of_a_payload_are_not_followed(
    store: FilePayloads, tmp_path: Path
) -> None:
    uri = kept(store)
    (file,) = files(tmp_path / "payloads" / "kept")
    moved = tmp_path / "moved"
    file.rename(moved)
    file.symlink_to(moved)
    with pytest.raises(PayloadGone, match="damaged"):
        await store.read(uri)
    file.unlink()
    os.mkfifo(file)
    with pytest.raises(PayloadGone, match="damaged"):
        await store.read(uri)
    file.unlink()
    file.mkdir()
    with pytest.raises(PayloadGone, match="damaged"):
        await store.read(uri)
    await store.aclose()


@played
async def test_a_link_in_the_place_of_a_folder_is_not_written_through(store: FilePayloads, tmp_path: Path) -> None:
    elsewhere = tmp_path / "elsewhere"
    elsewhere.mkdir()
    (tmp_path / "payloads").mkdir()
    for name in ("kept", "live"):
        (tmp_path / "payloads" / name).symlink_to(elsewhere)
    with pytest.raises(OSError, match=r"directory|symbolic"):
        kept(store)
    assert not list(elsewhere.iterdir())
    await store.aclose()


@played
async def test_another_payload_under_its_address_is_refused(store: FilePayloads, tmp_path: Path) -> None:
    first, second = kept(store, b"first"), kept(store, b"second")
    folder = tmp_path / "payloads" / "kept"
    (folder / f"{CALL}.1").rename(folder / f"{CALL}.0")
    with pytest.raises(PayloadGone, match="damaged"):
        await store.read(first)
    with pytest.raises(PayloadGone, match="no payload"):
        await store.read(second)
    await store.aclose()


@played
async def test_a_folder_that_is_deleted_while_it_is_used_is_made_again(store: FilePayloads, tmp_path: Path) -> None:
    """AT-275: losing all payloads keeps nobody from going on."""
    uri = kept(store)
    for path in sorted((tmp_path / "payloads").rglob("*"), reverse=True):
        path.rmdir() if path.is_dir() else path.unlink()
    with pytest.raises(PayloadGone, match="no payload"):
        await store.read(uri)
    assert await store.read(kept(store, b"again")) == b"again"
    await store.aclose()


@played
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
    assert not list(files(tmp_path / "payloads"))
    with pytest.raises(PayloadGone, match="no payload"):
        await store.read(uri_of(CALL, 0))
    await store.aclose()


KILLED = """
import sys, time
from ferrule.contracts.payloads import PayloadOwner
from ferrule.ledger.payloads.files import FilePayloads
store = FilePayloads(sys.argv[1], lambda: 1)
owner = PayloadOwner("inv_killed", "ada", "default")
whole = store.begin(owner); whole.write(b"whole"); whole.close()
session = store.begin(owner, scope="session"); session.write(b"session"); session.close()
half = store.begin(owner); half.write(b"half" * 100_000)
print("ready", flush=True)
time.sleep(60)
"""


@played
async def test_a_killed_process_leaves_only_what_was_whole(store: FilePayloads, tmp_path: Path) -> None:
    """Nothing half-written can be read, and the next to come removes the remains; the living keep theirs."""
    folder = tmp_path / "payloads"
    other = subprocess.Popen([sys.executable, "-c", KILLED, str(folder)], stdout=subprocess.PIPE)
    try:
        assert other.stdout is not None
        assert other.stdout.readline() == b"ready\n"
        await store.sweep(1)
        assert await store.read("ferrule-payload:inv_killed/1") == b"session"  # it lives
    finally:
        other.kill()
        other.communicate()
    assert await store.read("ferrule-payload:inv_killed/0") == b"whole"
    with pytest.raises(PayloadGone):
        await store.read("ferrule-payload:inv_killed/2")
    mine = store.begin(OWNER)
    mine.write(b"mine")
    assert await store.sweep(1) == 0
    assert {path.name for path in files(folder)} - {"inv_killed.0"} == {
        path.name for path in files(folder) if path.suffix == ".part"
    }
    with pytest.raises(PayloadGone, match="no payload"):
        await store.read("ferrule-payload:inv_killed/1")
    assert await store.read(mine.close().uri) == b"mine"
    await store.aclose()
    assert {path.name for path in files(folder)} == {"inv_killed.0", f"{CALL}.0"}


@played
async def test_a_writer_that_is_forgotten_leaves_nothing(store: FilePayloads, tmp_path: Path) -> None:
    writer = store.begin(OWNER)
    writer.write(b"half")
    del writer
    assert not list(files(tmp_path / "payloads"))
    await store.aclose()


@played
async def test_many_threads_write_payloads_of_one_call(store: FilePayloads) -> None:

    with ThreadPoolExecutor(8) as pool:
        uris = list(pool.map(lambda number: kept(store, b"%d" % number), range(40)))
    assert len(set(uris)) == 40
    assert {await store.read(uri) for uri in uris} == {b"%d" % number for number in range(40)}
    await store.aclose()


@played
async def test_one_call_cannot_fill_the_folder_with_names(store: FilePayloads) -> None:
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(file_writer, "_MOST", 5)
        with pytest.raises(OSError, match="at most 5"):
            for _ in range(6):
                kept(store, b"")
    await store.aclose()
