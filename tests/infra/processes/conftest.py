"""A workspace whose secrets no program may see."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.infra.processes.recording import sandboxed
from tests.infra.processes.secret_workspace import SECRET


@pytest.fixture
def workspace(tmp_path: Path) -> Path:
    """A workspace with keys, settings and a neighbour that must not be seen."""
    sandboxed()
    root = tmp_path / "ws"
    (root / ".ferrule/keys").mkdir(parents=True)
    (root / ".ferrule/keys/workspace.key").write_text(SECRET)
    (root / "ferrule.toml").write_text(f"# {SECRET}\n")
    (root / "sub").mkdir()
    (root / "note.txt").write_text("a note\n")
    (tmp_path / "outside.txt").write_text(SECRET)
    (root / "link").symlink_to(tmp_path / "outside.txt")
    (root / "up").symlink_to(tmp_path)
    return root
