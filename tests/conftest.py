"""What every test starts from: a cache of its own, so nothing is remembered from elsewhere."""

from __future__ import annotations

from pathlib import Path

import pytest


@pytest.fixture(autouse=True)
def own_cache(tmp_path_factory: pytest.TempPathFactory, monkeypatch: pytest.MonkeyPatch) -> Path:
    """Caches go to a folder of this test's own."""
    folder = tmp_path_factory.mktemp("cache")
    monkeypatch.setenv("FERRULE_CACHE_DIR", str(folder))
    return folder
