"""A witness behind a web address: told again when it fails, reached as anything else is."""

from __future__ import annotations

import json
import threading
from collections.abc import Iterator
from http.server import BaseHTTPRequestHandler, HTTPServer
from typing import Any

import pytest

from ferrule.errors import SettingsError
from ferrule.infra.network.client import Client
from ferrule.infra.network.guard import Guard
from ferrule.ledger.chain import format_head
from ferrule.ledger.stores.web_witness import WebhookWitness
from ferrule.ledger.stores.witness import Head, WitnessThread
from tests.infra.clouds.far import Reply, far
from tests.ledger.stores.test_witness import KEY, check_last


def local() -> Client:
    return Client(Guard(("127.0.0.1",)))


@pytest.fixture
def server() -> Iterator[tuple[str, list[dict[str, Any]]]]:
    """An address that keeps what is posted; it fails the first time."""
    heads: list[dict[str, Any]] = []
    answers = iter([500])

    class Keeper(BaseHTTPRequestHandler):
        def do_POST(self) -> None:
            body = self.rfile.read(int(self.headers["Content-Length"]))
            code = next(answers, 204)
            if code == 204:
                heads.append(json.loads(body))
            self.send_response(code)
            self.end_headers()

        def log_message(self, format: str, *args: Any) -> None:  # noqa: A002  the name is given by the base class
            pass

    with HTTPServer(("127.0.0.1", 0), Keeper) as listening:
        threading.Thread(target=listening.serve_forever, daemon=True).start()
        yield f"http://127.0.0.1:{listening.server_port}/heads", heads
        listening.shutdown()


def test_a_web_witness_is_told_again_when_it_fails(server: tuple[str, list[dict[str, Any]]]) -> None:
    url, heads = server
    problems: list[str] = []
    thread = WitnessThread(WebhookWitness(local, url), problems.append, every_seconds=0.01)
    signature = KEY.sign(format_head("ldg_1", 3, bytes(32), 5))
    thread.offer(Head("ldg_1", 3, bytes(32), 5, signature))
    for _ in range(500):
        if heads:
            break
        threading.Event().wait(0.01)
    thread.close()
    check_last(heads, 3)
    assert "500" in problems[0]


def test_a_witness_that_is_no_web_address_is_refused() -> None:
    for url in ("file:///etc/passwd", "http://witness.example/heads"):
        with pytest.raises(SettingsError, match="http"):
            WebhookWitness(local, url)


def test_heads_go_to_judged_addresses_only_and_no_redirect_is_followed() -> None:
    head = ("ldg_1", 3, bytes(32), 5, bytes(64))
    inside = WebhookWitness(lambda: Client(Guard(resolver=lambda host, port: ["10.0.0.1"])), "https://witness.example/")
    with pytest.raises(OSError, match="not a public address"):
        inside.write(*head)
    with far(lambda asked: Reply(307, headers={"Location": "/elsewhere"})) as there:
        with pytest.raises(OSError, match="answered 307"):
            WebhookWitness(local, there.url).write(*head)
        assert len(there.asked) == 1
    with pytest.raises(OSError, match="nothing listens"):
        WebhookWitness(local, there.url).write(*head)
