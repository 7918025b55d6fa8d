"""A ledger with rows of every kind."""

from __future__ import annotations

from pathlib import Path

import pytest

from ferrule.app.custody.paths import LedgerPaths
from tests.ledger.audit.build import every_kind, make_paths, write


@pytest.fixture
def paths(tmp_path: Path) -> LedgerPaths:
    """Its files."""
    paths = make_paths(tmp_path / "ledger")
    write(paths, every_kind(4))
    return paths
