"""Azurite, Microsoft's own storage emulator, fetched once through npm into the cache of the user who runs the tests."""

from __future__ import annotations

import os
import shutil
import socket
import subprocess
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from tests.services import missing

VERSION = "3.35.0"
ACCOUNT = "devstoreaccount1"
KEY = "Eby8vdM02xNOcqFlqUwJPLlmEtlCDXJ1OUzFT50uSRZ6IFsuFq2UVErCz4I6tq/K1SZFPTOtr/KBHBeksoGMGw=="
"""Published by Microsoft: the same for every emulator."""


def _installed() -> Path:
    base = Path(os.environ.get("XDG_CACHE_HOME") or Path.home() / ".cache") / "ferrule-tests" / f"azurite-{VERSION}"
    program = base / "node_modules" / "azurite" / "dist" / "src" / "queue" / "main.js"
    if program.exists():
        return program
    npm = shutil.which("npm")
    if npm is None or shutil.which("node") is None:
        missing("azurite", "npm is not installed")
    base.mkdir(parents=True, exist_ok=True)
    done = subprocess.run(
        [npm, "install", "--no-audit", "--no-fund", "--omit=dev", f"azurite@{VERSION}"],
        cwd=base, capture_output=True, timeout=240, check=False,
    )  # fmt: skip
    if done.returncode != 0 or not program.exists():
        missing("azurite", "npm could not install it")
    return program


@contextmanager
def azurite(folder: Path) -> Iterator[str]:
    """The address of its account's queues."""
    program = _installed()
    with socket.socket() as found:
        found.bind(("127.0.0.1", 0))
        port = found.getsockname()[1]
    command = [
        "node",
        str(program),
        "--silent",
        "--skipApiVersionCheck",
        "-l",
        str(folder),
        "--queueHost",
        "127.0.0.1",
        "--queuePort",
        str(port),
    ]
    process = subprocess.Popen(command, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
    try:
        _answers(port)
        yield f"http://127.0.0.1:{port}/{ACCOUNT}"
    finally:
        process.terminate()
        process.wait(10)


def _answers(port: int) -> None:
    until = time.monotonic() + 30
    while time.monotonic() < until:
        try:
            socket.create_connection(("127.0.0.1", port), timeout=1).close()
            return
        except OSError:
            time.sleep(0.05)
    missing("azurite", "it does not start")
