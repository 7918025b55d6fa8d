"""The provider that most tests share."""

from __future__ import annotations

from collections.abc import Iterator

import pytest

from tests.infra.credentials.provider import Provider, running_provider


@pytest.fixture(scope="session")
def provider() -> Iterator[Provider]:
    """A real OpenID provider."""
    with running_provider() as started:
        yield started
