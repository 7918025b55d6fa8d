"""Requests are written down in one way: what could be read in two ways is not sent."""

from __future__ import annotations

import pytest

from ferrule.infra.network.request import BadRequest
from tests.infra.network.servers import ok, open_client, run, running_site


@pytest.mark.parametrize(
    ("method", "headers", "path"),
    [("GET", [("A\n", "b")], "/"), ("GET", [("", "b")], "/"), ("GET", [("A", "b\nC: d")], "/"), ("GET", [("A", "b\rc")], "/"),
     ("GET", [("A", "b\0c")], "/"), ("GET", [("A", "日本")], "/"), ("GET", [("A:", "b")], "/"), ("G T", [], "/"), ("", [], "/"),
     ("GET / HTTP/1.1\r\nX: y\r\n\r\nGET", [], "/"), ("GET", [], "/a b"), ("GET", [], "/a\r\nX: y"), ("GET", [], "/é"),
     ("GET", [], ""), ("POST", [("Content-Length", "7")], "/"), ("POST", [("Transfer-Encoding", "chunked")], "/"),
     ("POST", [("Host", "other.test")], "/"), ("GET", [("Connection", "upgrade")], "/"), ("GET", [("Upgrade", "h2c")], "/"),
     ("POST", [("Expect", "100-continue")], "/"), ("GET", [("TE", "trailers")], "/")],
)  # fmt: skip
def test_what_could_be_read_in_two_ways_is_not_sent(method: str, headers: list[tuple[str, str]], path: str) -> None:
    async def story() -> None:
        async with running_site(ok()) as there, open_client() as http:
            with pytest.raises(BadRequest):
                await http.send(method, there.target()._replace(path=path), headers, b"body")
            assert there.connections == 0 and http.count_requests(there.target()) == 0

    run(story())


def test_headers_that_say_what_is_said_anyway_are_sent_once() -> None:
    async def story() -> None:
        async with running_site(ok()) as there, open_client() as http:
            own = [("Host", f"127.0.0.1:{there.port}"), ("content-length", "4"), ("Connection", "keep-alive")]
            await http.fetch("POST", there.url(), [*own, ("Accept-Encoding", "identity"), ("X", "")], b"body")
            names = [name for name, _ in there.asked[0].headers]
            assert sorted(names) == ["accept-encoding", "content-length", "host", "x"]
            assert there.asked[0].body == b"body" and there.asked[0].header("accept-encoding") == "identity"
            await http.fetch("GET", there.url(), [("Range", "bytes=0-4")])
            assert there.asked[1].header("accept-encoding") == "identity"

    run(story())
