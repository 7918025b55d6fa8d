"""Folders of payloads: links are not followed, what is deleted is made again, and the dead leave no remains."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest

from ferrule.contracts.payloads import PayloadGone
from ferrule.ledger.payloads.files import FilePayloads
from tests.ledger.payloads.stored import CALL, OWNER, list_files, store_payload
from tests.spec.running_app import run_async


@run_async
async def test_a_link_in_the_place_of_a_folder_is_not_written_through(store: FilePayloads, tmp_path: Path) -> None:
    elsewhere = tmp_path / "elsewhere"
    elsewhere.mkdir()
    (tmp_path / "payloads").mkdir()
    for name in ("kept", "live"):
        (tmp_path / "payloads" / name).symlink_to(elsewhere)
    with pytest.raises(OSError, match=r"directory|symbolic"):
        store_payload(store)
    assert not list(elsewhere.iterdir())
    await store.aclose()


@run_async
async def test_a_folder_that_is_deleted_while_it_is_used_is_made_again(store: FilePayloads, tmp_path: Path) -> None:
    """AT-275: losing all payloads keeps nobody from going on."""
    uri = store_payload(store)
    for path in sorted((tmp_path / "payloads").rglob("*"), reverse=True):
        path.rmdir() if path.is_dir() else path.unlink()
    with pytest.raises(PayloadGone, match="no payload"):
        await store.read(uri)
    assert await store.read(store_payload(store, b"again")) == b"again"
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


@run_async
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
    assert {path.name for path in list_files(folder)} - {"inv_killed.0"} == {
        path.name for path in list_files(folder) if path.suffix == ".part"
    }
    with pytest.raises(PayloadGone, match="no payload"):
        await store.read("ferrule-payload:inv_killed/1")
    assert await store.read(mine.close().uri) == b"mine"
    await store.aclose()
    assert {path.name for path in list_files(folder)} == {"inv_killed.0", f"{CALL}.0"}
