"""Changes a ledger behind everybody's back."""

from __future__ import annotations

import sqlite3
from contextlib import closing
from pathlib import Path


def tampered(folder: Path, seq: int) -> None:
    """Change one row of the ledger, behind everybody's back."""
    with closing(sqlite3.connect(folder / ".ferrule/ledger.db")) as ledger:
        ledger.execute("UPDATE journal SET outcome = 'failed' WHERE seq = ?", (seq,))
        ledger.commit()
