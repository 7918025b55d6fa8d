"""Where a ledger to audit will be."""

from __future__ import annotations

from pathlib import Path

import pytest

from ferrule.app.custody.paths import LedgerPaths
from tests.ledger.audit.build import make_paths


@pytest.fixture
def paths(tmp_path: Path) -> LedgerPaths:
    """Where a ledger will be."""
    return make_paths(tmp_path)
