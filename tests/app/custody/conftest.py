"""A ledger with rows of every kind."""

from __future__ import annotations

from pathlib import Path

import pytest

from ferrule.app.custody.paths import LedgerPaths
from tests.ledger.audit.build import make_full_story, make_paths, write_story


@pytest.fixture
def paths(tmp_path: Path) -> LedgerPaths:
    """Its files."""
    paths = make_paths(tmp_path / "ledger")
    write_story(paths, make_full_story(4))
    return paths
