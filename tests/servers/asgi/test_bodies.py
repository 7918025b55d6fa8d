"""Bodies of requests: at once where they have come, and the same bytes however often they are read."""

from __future__ import annotations

from collections.abc import Iterable, MutableMapping
from inspect import isawaitable
from typing import Any

import pytest

from ferrule.infra.tasks import resolve
from ferrule.servers.asgi import ClientGone, HttpRequest, TooLarge
from tests.driven import driven


def request(parts: Iterable[MutableMapping[str, Any]], length: int | None = None) -> HttpRequest:
    coming = iter(parts)

    async def receive() -> MutableMapping[str, Any]:
        return next(coming)

    headers = [] if length is None else [(b"content-length", str(length).encode())]
    return HttpRequest({"method": "POST", "path": "/", "headers": headers}, receive)


def part(body: bytes, *, is_last: bool = False) -> dict[str, Any]:
    return {"type": "http.request", "body": body, "more_body": not is_last}


@driven
async def test_a_body_is_there_at_once_when_it_was_read_before() -> None:
    one = request([part(b"ab"), part(b"cd", is_last=True)])
    first = one.read(10)
    assert isawaitable(first)
    assert await first == b"abcd"
    assert one.read(4) == b"abcd"


@driven
async def test_a_body_that_is_too_large_stays_too_large() -> None:
    one = request([part(b"abcd", is_last=True)])
    with pytest.raises(TooLarge):
        await resolve(one.read(3))
    two = request([part(b"abcd", is_last=True)])
    assert await resolve(two.read(4)) == b"abcd"
    with pytest.raises(TooLarge):
        two.read(3)


@driven
async def test_a_body_that_says_it_is_too_large_is_not_waited_for() -> None:
    for length in (11, 10**30):
        with pytest.raises(TooLarge):
            await resolve(request([part(b"a")], length).read(10))


@driven
async def test_a_client_that_goes_while_it_sends_has_no_body() -> None:
    with pytest.raises(ClientGone):
        await resolve(request([part(b"ab"), {"type": "http.disconnect"}]).read(10))
