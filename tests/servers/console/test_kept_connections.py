"""Signing in over a kept connection, as a proxy uses one for many people: each request counts by its own credential."""

from __future__ import annotations

from pathlib import Path
from urllib.parse import urlsplit

from tests.servers.local_server import running_process
from tests.servers.plain_client import PlainClient


def _sign_in(client: PlainClient, token: str) -> int:
    """Sends the form of the sign-in page; the heads of tokens of one length are the same, byte for byte."""
    body = f"token={token}".encode()
    client.send(
        b"POST /console/login HTTP/1.1\r\nHost: 127.0.0.1\r\nContent-Type: application/x-www-form-urlencoded\r\n"
        b"Content-Length: %d\r\n\r\n%b" % (len(body), body)
    )
    return client.answer().status


def test_a_token_counts_for_its_own_request_only(tmp_path: Path) -> None:
    (tmp_path / "ferrule.toml").write_text("")
    with running_process(tmp_path) as server:
        right = server.token(tmp_path, "owner.token")
        wrong = right[:-1] + ("a" if right[-1] != "a" else "b")
        port = urlsplit(server.url).port
        assert port is not None
        with PlainClient(port) as client:
            assert [_sign_in(client, token) for token in (right, wrong, right, wrong)] == [303, 401, 303, 401]
