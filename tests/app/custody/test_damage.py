"""Upkeep of a damaged file: told in words, never a traceback, and nothing is made worse."""

from __future__ import annotations

import random
import sqlite3
from contextlib import closing
from pathlib import Path

import pytest

from ferrule.app.custody.copies import back_up, restore
from ferrule.app.custody.erase import erase_call, erase_principal
from ferrule.app.custody.exports import export_calls, export_rows
from ferrule.app.custody.paths import LedgerPaths
from ferrule.app.custody.prune import prune
from ferrule.errors import FerruleError
from tests.ledger.audit.build import MINUTE, START

JOBS = ("erase_call", "erase_principal", "export_rows", "export_calls", "prune", "back_up", "restore")


def do(job: str, paths: LedgerPaths, out: Path) -> None:
    match job:
        case "erase_call":
            erase_call(paths, "inv_000002", reason="x", by="ada")
        case "erase_principal":
            erase_principal(paths, "bob", before=None, reason="x", by="ada")
        case "export_rows":
            export_rows(paths, out, has_payloads=True)
        case "export_calls":
            export_calls(paths, out)
        case "prune":
            prune(paths, before=START + 20 * MINUTE, by="ada")
        case "back_up":
            back_up(paths, out)
        case _:
            restore(paths, paths.ledger.with_name("saved.db"), may_lose=True)


@pytest.mark.parametrize("job", JOBS)
def test_a_damaged_file_is_told_in_words(job: str, paths: LedgerPaths, tmp_path: Path) -> None:
    with closing(sqlite3.connect(paths.ledger)) as db:
        db.execute("PRAGMA journal_mode = DELETE")
    back_up(paths, paths.ledger.with_name("saved.db"))
    whole, rng = paths.ledger.read_bytes(), random.Random(11)
    told = 0
    for number in range(25):
        data = bytearray(whole)
        start, length = rng.randrange(len(data)), rng.choice([8, 200, 8192])
        data[start : start + length] = rng.randbytes(min(length, len(data) - start))
        for file in paths.ledger.parent.glob("ledger.db*"):
            file.unlink()
        paths.ledger.write_bytes(data)
        try:
            do(job, paths, tmp_path / f"out-{number}")
        except FerruleError as error:
            told += 1
            assert str(error)
    assert told or job in ("restore", "back_up")
