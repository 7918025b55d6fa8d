"""Somebody elsewhere who remembers signed heads of the ledger, so that a rolled-back file is found out."""

from __future__ import annotations

from typing import Protocol


class Witness(Protocol):
    """One place that keeps heads. Called from a thread of its own, never while a call waits."""

    def write(self, ledger: str, seq: int, row: bytes, at: int, signature: bytes) -> None:
        """Keep one head: the ledger's id, its last row's number, hash and time, the signature. May raise; it is retried."""
