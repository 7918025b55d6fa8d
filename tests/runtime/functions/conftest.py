"""Shared by the tests of what is injected: an environment and a record of events that no other test has touched."""

from __future__ import annotations

from collections.abc import Iterator

import pytest

from tests.runtime.functions.shop_services import events


@pytest.fixture
def clean_services(monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    """Sets the variables that the clerk's config names, and forgets what was made before and after."""
    events.clear()
    monkeypatch.setenv("DB_PASSWORD", "s3cret-of-the-db")
    monkeypatch.delenv("PAYMENT_KEY", raising=False)
    monkeypatch.delenv("REGION", raising=False)
    yield
    events.clear()
