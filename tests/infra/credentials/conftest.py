"""The provider that most tests share."""

from __future__ import annotations

from collections.abc import Iterator

import pytest

from tests.infra.credentials.provider import Provider, running


@pytest.fixture(scope="session")
def provider() -> Iterator[Provider]:
    """A real OpenID provider."""
    with running() as started:
        yield started
