"""A payload to keep, its owner, and the files of a store."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

from ferrule.contracts.payloads import PayloadOwner
from ferrule.ledger.payloads.files import FilePayloads

CALL = "inv_0123456789abcdef01234567"
OWNER = PayloadOwner(CALL, "ada", "default")
DATA = b"some bytes to keep" * 100


def store_payload(store: FilePayloads, data: bytes = DATA) -> str:
    """Keep bytes; gives their address."""
    writer = store.begin(OWNER)
    writer.write(data)
    return writer.close().uri


def list_files(folder: Path) -> Iterator[Path]:
    """Every file below a folder."""
    return (path for path in folder.rglob("*") if not path.is_dir())
