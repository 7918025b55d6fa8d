"""A store of payloads in a folder."""

from __future__ import annotations

from pathlib import Path

import pytest

from ferrule.ledger.payloads.files import FilePayloads
from ferrule.testing import FakeClock


@pytest.fixture
def store(tmp_path: Path) -> FilePayloads:
    return FilePayloads(tmp_path / "payloads", FakeClock().now)
