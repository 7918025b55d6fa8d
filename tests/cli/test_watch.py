"""`ferrule check --watch`: looks again after each change, whatever the change was."""

from __future__ import annotations

import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from threading import Timer

import pytest


@pytest.fixture
def watched(workspace: Path) -> Iterator[subprocess.Popen[str]]:
    """A watch over one file of a workspace."""
    script = "import sys; from ferrule.cli import main; sys.exit(main())"
    process = subprocess.Popen(
        [sys.executable, "-c", script, "check", "--watch", "tools/send-reply.tool.md"],
        cwd=workspace,
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        text=True,
    )
    limit = Timer(60, process.kill)
    limit.start()
    yield process
    limit.cancel()
    process.kill()
    process.communicate()


def until(process: subprocess.Popen[str], text: str) -> None:
    """Read what it says up to a text, and on to where it waits again."""
    assert process.stdout is not None
    said = []
    for line in process.stdout:
        said.append(line)
        if line.startswith("watching") and any(text in earlier for earlier in said):
            return
    raise AssertionError(f"never said {text!r}: {''.join(said)}")


def test_a_watch_sees_new_settings_and_outlives_what_cannot_run(
    workspace: Path, watched: subprocess.Popen[str]
) -> None:
    until(watched, "no problems")
    settings, tool = workspace / "ferrule.toml", workspace / "tools" / "send-reply.tool.md"
    kept = tool.read_text()
    tool.unlink()
    until(watched, "there is no file or folder")
    tool.write_text(kept.replace("status: active", "status: retired"))
    until(watched, "AML-11")
    settings.write_text("[check\n")
    until(watched, "ferrule.toml")
    settings.write_text('[check]\nignore = ["AML-11"]\n')
    until(watched, "no problems")
