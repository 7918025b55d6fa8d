"""Starting the child of `child.py`, alone or under strace."""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
from collections.abc import Sequence
from pathlib import Path

import pytest
from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PrivateKey

from tests import ROOT

MUST_RUN = os.environ.get("FERRULE_REQUIRE_SERVICES") == "1"
WAIT = 60.0


class LedgerFolder:
    """A folder with a ledger and its key."""

    def __init__(self, folder: Path) -> None:
        self.ledger = folder / "ledger.db"
        self.key_file = folder / "key"
        self.key = Ed25519PrivateKey.generate()
        self.key_file.write_bytes(self.key.private_bytes_raw())

    def start(self, work: str, name: str, before: Sequence[str] = ()) -> subprocess.Popen[bytes]:
        """A child at work."""
        command = [
            *before,
            sys.executable,
            "-m",
            "tests.ledger.stores.child",
            work,
            str(self.ledger),
            str(self.key_file),
            name,
        ]
        return subprocess.Popen(command, cwd=ROOT, stdin=subprocess.PIPE, stdout=subprocess.PIPE)

    def run(self, work: str, name: str, before: Sequence[str] = ()) -> list[tuple[str, str]]:
        """What a child told, from start to end. It has to end well."""
        with self.start(work, name, before) as child:
            try:
                told, _ = child.communicate(timeout=WAIT)
            except subprocess.TimeoutExpired:
                child.kill()
                raise
        assert child.returncode == 0
        return split_lines(told)


def split_lines(told: bytes) -> list[tuple[str, str]]:
    """Word and call of each whole line."""
    whole = told[: told.rfind(b"\n") + 1].decode()
    return [(word, call) for word, _, call in (line.partition(" ") for line in whole.splitlines())]


def strace(inject: str) -> list[str]:
    """How to run a command so that system calls fail; skips where processes may not be traced."""
    reason = _why_not_traced()
    if reason and MUST_RUN:
        pytest.fail(reason)
    if reason:
        pytest.skip(reason)
    return [
        "strace",
        "-f",
        "-qq",
        "-o",
        "/dev/null",
        "-e",
        f"trace={inject.partition(':')[0]}",
        "-e",
        f"inject={inject}",
    ]


def _why_not_traced() -> str:
    if shutil.which("strace") is None:
        return "strace is not installed"
    tried = subprocess.run(["strace", "-o", "/dev/null", "true"], capture_output=True, check=False)
    return "" if tried.returncode == 0 else "processes may not be traced here"
