"""Payloads as files: what a kill, a full disk, a vandal and another process can do to them, which is little."""

from __future__ import annotations

import os
import stat
from pathlib import Path

import pytest

from ferrule.contracts.payloads import PayloadGone
from ferrule.ledger.payloads.files import FilePayloads
from tests.ledger.payloads.stored import CALL, OWNER, list_files, store_payload
from tests.spec.running_app import run_async


@run_async
async def test_only_their_owner_can_open_the_files(store: FilePayloads, tmp_path: Path) -> None:
    before = os.umask(0)
    try:
        store_payload(store)
        store.begin(OWNER).write(b"half")
    finally:
        os.umask(before)
    for path in (tmp_path / "payloads").rglob("*"):
        assert stat.S_IMODE(path.stat().st_mode) == (0o700 if path.is_dir() else 0o600), path
    await store.aclose()


@pytest.mark.parametrize("at", [0, 700, -1, -30, -80])
@run_async
async def test_any_changed_byte_is_found(store: FilePayloads, tmp_path: Path, at: int) -> None:
    """AT-61: what is given back is what was kept, or nothing."""
    uri = store_payload(store)
    (file,) = list_files(tmp_path / "payloads" / "kept")
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
@run_async
async def test_a_file_that_was_cut_off_is_damaged(store: FilePayloads, tmp_path: Path, size: int) -> None:
    uri = store_payload(store)
    (file,) = list_files(tmp_path / "payloads" / "kept")
    os.truncate(file, size)
    with pytest.raises(PayloadGone, match="damaged"):
        await store.describe(uri)
    await store.aclose()


@run_async
async def test_links_pipes_and_folders_in_the_place_of_a_payload_are_not_followed(
    store: FilePayloads, tmp_path: Path
) -> None:
    uri = store_payload(store)
    (file,) = list_files(tmp_path / "payloads" / "kept")
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


@run_async
async def test_another_payload_under_its_address_is_refused(store: FilePayloads, tmp_path: Path) -> None:
    first, second = store_payload(store, b"first"), store_payload(store, b"second")
    folder = tmp_path / "payloads" / "kept"
    (folder / f"{CALL}.1").rename(folder / f"{CALL}.0")
    with pytest.raises(PayloadGone, match="damaged"):
        await store.read(first)
    with pytest.raises(PayloadGone, match="no payload"):
        await store.read(second)
    await store.aclose()
