"""Witnesses keep signed heads elsewhere; their failures never reach a call."""

from __future__ import annotations

import asyncio
import json
import threading
from pathlib import Path
from typing import Any

from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PrivateKey

from ferrule.contracts.store import Witness
from ferrule.ledger.chain import format_head
from ferrule.ledger.stores.sqlite.store import SqliteStore
from ferrule.ledger.stores.witness import FileWitness, Head, WitnessThread
from tests.ledger.stores.entries import make_entry

KEY = Ed25519PrivateKey.generate()


def write_rows(path: Path, witness: Witness, rows: int) -> SqliteStore:
    store = SqliteStore(path, KEY, witness=witness)

    async def main() -> None:
        await store.open()
        for number in range(rows):
            await store.commit(make_entry(f"c{number}"))
        await store.aclose()

    asyncio.run(asyncio.wait_for(main(), 20))
    return store


def check_last(heads: list[dict[str, Any]], seq: int) -> None:
    last = heads[-1]
    assert last["seq"] == seq
    text = format_head(last["ledger"], last["seq"], bytes.fromhex(last["hash"]), last["at"])
    KEY.public_key().verify(bytes.fromhex(last["signature"]), text)


def test_a_file_witness_knows_the_last_head_when_the_ledger_is_closed(tmp_path: Path) -> None:
    witness = tmp_path / "elsewhere.jsonl"
    for _ in range(2):
        write_rows(tmp_path / "ledger.db", FileWitness(witness), 5)
    heads = [json.loads(line) for line in witness.read_text().splitlines()]
    check_last(heads, 11)
    assert 2 <= len(heads) <= 10


def test_half_a_line_left_by_a_crash_does_not_spoil_the_next(tmp_path: Path) -> None:
    path = tmp_path / "elsewhere.jsonl"
    path.write_bytes(b'{"ledger": "ld')
    FileWitness(path).write("ldg_1", 7, bytes(32), 9, bytes(64))
    assert json.loads(path.read_text().splitlines()[1])["seq"] == 7


def test_a_witness_that_fails_is_reported_and_harms_nobody(tmp_path: Path) -> None:
    store = write_rows(tmp_path / "ledger.db", FileWitness(tmp_path / "missing" / "file"), 3)
    assert any("the witness did not get row 4" in problem for problem in store.problems)


def test_a_head_is_told_after_enough_rows_and_not_for_each() -> None:
    told: list[int] = []
    enough = threading.Event()

    class Listening:
        def write(self, ledger: str, seq: int, row: bytes, at: int, signature: bytes) -> None:
            told.append(seq)
            if seq >= 1000:
                enough.set()

    thread = WitnessThread(Listening(), print, every_rows=1000, every_seconds=60)
    for seq in range(1, 1501):
        thread.offer(Head("ldg_1", seq, b"", 0, b""))
    assert enough.wait(10)
    thread.close()
    assert told[-1] == 1500
    assert len(told) <= 3
