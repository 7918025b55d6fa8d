"""Runs the real command line in a process of its own."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path
from typing import NamedTuple


class Ran(NamedTuple):
    """What a run gave."""

    code: int
    out: str
    err: str


def ferrule(*arguments: str, folder: Path, environment: dict[str, str] | None = None, stdin: str = "") -> Ran:
    """Run `ferrule …` in a folder, without a terminal."""
    clean = {name: value for name, value in os.environ.items() if name not in ("NO_COLOR", "FORCE_COLOR")}
    finished = subprocess.run(
        [sys.executable, "-c", "import sys; from ferrule.cli import main; sys.exit(main())", *arguments],
        cwd=folder,
        env=clean | {"PYTHONUTF8": "1"} | (environment or {}),
        input=stdin.encode(),
        capture_output=True,
        timeout=60,
        check=False,
    )
    return Ran(finished.returncode, finished.stdout.decode(), finished.stderr.decode())
