"""Workspaces to run commands on: one as `ferrule init` writes it, and the same with a mistake in it."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest

from ferrule.cli.init import write_workspace
from tests.cli.longer import end_what_is_left, write_longer


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
