"""Fixtures that tests of clouds, secrets and credentials share."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Coroutine, Iterator
from functools import wraps
from typing import Any, ParamSpec

import pytest

from ferrule.infra.network.client import Client
from ferrule.infra.network.guard import Guard
from tests.infra.clouds.amazon import Amazon, amazon
from tests.infra.clouds.google import Google, google
from tests.infra.clouds.microsoft import Azure, microsoft

P = ParamSpec("P")
_open: list[Client] = []


@pytest.fixture
def aws() -> Iterator[Amazon]:
    with amazon() as made:
        yield made


@pytest.fixture
def gcp() -> Iterator[Google]:
    with google() as made:
        yield made


@pytest.fixture
def azure() -> Iterator[Azure]:
    with microsoft() as made:
        yield made


def local_client(*allowed: str) -> Client:
    """A client that may reach this machine, or what is said; closed when the test is over."""
    _open.append(Client(Guard(allowed or ("127.0.0.1",))))
    return _open[-1]


def in_event_loop(test: Callable[P, Coroutine[Any, Any, None]]) -> Callable[P, None]:
    """An async test as a plain one, with an end; its clients are closed."""

    @wraps(test)
    def run(*args: P.args, **kwargs: P.kwargs) -> None:
        async def bounded() -> None:
            try:
                await asyncio.wait_for(test(*args, **kwargs), 20)
            finally:
                while _open:
                    await _open.pop().aclose()

        asyncio.run(bounded())

    return run


class Learned(dict[str, str]):
    """What the redactor was told: names by value."""

    def __call__(self, name: str, value: str) -> None:
        self[value] = name
