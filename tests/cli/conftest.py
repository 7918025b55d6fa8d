"""Workspaces to run commands on: one as `ferrule init` writes it, the same with a mistake in it; and a ledger in memory."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest

from ferrule.cli.init import write_workspace
from tests.cli.ledger_runs import Run, runner_over
from tests.cli.longer import end_what_is_left, write_longer
from tests.ledger.history.rows import Ledger


@pytest.fixture
def workspace(tmp_path: Path) -> Path:
    """A fresh workspace without mistakes."""
    root = tmp_path / "tools-of-ours"
    write_workspace(root)
    return root


@pytest.fixture
def broken(workspace: Path) -> Path:
    """The same with one error and one warning in it."""
    tool = workspace / "tools" / "send-reply.tool.md"
    text = tool.read_text().replace("status: active", "status: retired").replace("use_when:", "use_wen:")
    tool.write_text(text)
    return workspace


@pytest.fixture
def longer(tmp_path: Path) -> Iterator[Path]:
    """A workspace whose tools take their time."""
    yield write_longer(tmp_path / "slow-tools")
    end_what_is_left()


@pytest.fixture
def ledger() -> Ledger:
    """Rows of calls, to be written by the test."""
    return Ledger()


@pytest.fixture
def run(ledger: Ledger, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Run:
    """Runs `log` and `explain` on the rows written to `ledger` so far."""
    return runner_over(ledger, tmp_path, monkeypatch)
