"""Webhooks are signed, go only where they may, and say whether trying again helps."""

from __future__ import annotations

import asyncio
import json
import socket
import threading
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from ferrule.contracts.notifier import NoticeUndelivered
from ferrule.contracts.registry import Registry
from ferrule.errors import SettingsError
from ferrule.infra.network.client import Client
from ferrule.infra.network.guard import Forbidden, Guard, is_public, parse_target
from ferrule.infra.network.post import is_authentic, sign
from ferrule.runtime.notifiers.builtin import NOTIFIERS
from ferrule.runtime.notifiers.webhook import WebhookNotifier
from tests.runtime.notifiers.receiver import running_receiver

SECRET = b"a secret of some length"
NOTICE: dict[str, Any] = {"id": "inv_1.5", "invocation_id": "inv_1", "tool_id": "refund"}


def send(url: str, guard: Guard | None = None, **options: Any) -> None:
    async def story() -> None:
        client = Client(guard or Guard(("127.0.0.1",)))
        try:
            await WebhookNotifier(client, url, SECRET, clock=lambda: 1_700_000_000.5, **options).notify(NOTICE)
        finally:
            await client.aclose()

    asyncio.run(story())


def test_a_notice_arrives_once_signed_and_whole() -> None:
    with running_receiver() as receiver:
        send(receiver.url)
    (got,) = receiver.got
    assert got.path == "/hook?team=a"
    assert json.loads(got.body) == NOTICE
    assert got.headers["Ferrule-Delivery"] == "inv_1.5"
    header = got.headers["Ferrule-Signature"]
    assert is_authentic(SECRET, header, got.body, now=1_700_000_010)
    assert not is_authentic(SECRET, header, got.body + b" ", now=1_700_000_010)
    assert not is_authentic(b"another secret", header, got.body, now=1_700_000_010)


@pytest.mark.parametrize(
    ("status", "is_final"),
    [(500, False), (503, False), (429, False), (408, False), (400, True), (404, True), (301, True)],
)
def test_a_refusal_says_whether_trying_again_helps(status: int, is_final: bool) -> None:
    with running_receiver(status) as receiver, pytest.raises(NoticeUndelivered, match=str(status)) as refused:
        send(receiver.url)
    assert refused.value.is_final == is_final
    assert len(receiver.got) == 1, "a redirect is not followed"


def test_a_receiver_that_is_not_there_may_come_back() -> None:
    with socket.create_server(("127.0.0.1", 0)) as taken:
        port = taken.getsockname()[1]
    with pytest.raises(NoticeUndelivered) as refused:
        send(f"http://127.0.0.1:{port}/")
    assert not refused.value.is_final


def test_a_receiver_that_dawdles_is_cut_off() -> None:
    """It keeps sending a byte before each of its pauses is over, so no single wait is ever too long."""
    done = threading.Event()
    with socket.create_server(("127.0.0.1", 0)) as server:

        def dawdle() -> None:
            peer, _ = server.accept()
            with peer:
                while not done.wait(0.05):
                    try:
                        peer.sendall(b"x")
                    except OSError:
                        return

        thread = threading.Thread(target=dawdle)
        thread.start()
        with pytest.raises(NoticeUndelivered):
            send(f"http://127.0.0.1:{server.getsockname()[1]}/", timeout_seconds=0.4)
        done.set()
        thread.join(10)


def test_tls_is_spoken_with_the_name_that_was_asked_for() -> None:
    """A receiver without a certificate for its name gets nothing."""
    with running_receiver() as receiver, pytest.raises(NoticeUndelivered):
        send(receiver.url.replace("http://", "https://"))
    assert receiver.got == []


@pytest.mark.parametrize("address", ["127.0.0.1", "10.1.2.3", "169.254.169.254", "::1", "fd00::1", "0.0.0.0"])
def test_nothing_goes_to_private_addresses_unless_the_host_is_listed(address: str) -> None:
    """Also when only one of several addresses is private: the next look-up could give that one."""
    both = Guard((), lambda host, port: ["93.184.216.34", address])
    target = parse_target("https://hooks.example.com/x", both)
    with pytest.raises(Forbidden, match=r"\[network\] allow"):
        both.addresses(target)
    assert Guard(("HOOKS.example.com.",), lambda host, port: [address]).addresses(target) == [address]


def test_an_unlisted_private_address_is_refused_for_good_and_nothing_is_sent() -> None:
    with running_receiver() as receiver, pytest.raises(NoticeUndelivered, match="not a public address") as refused:
        url = f"https://hooks.example.com:{receiver.server_port}/"
        send(url, Guard(resolver=lambda host, port: ["127.0.0.1"]))
    assert refused.value.is_final
    assert receiver.got == []


@pytest.mark.parametrize(
    "address",
    [
        "::ffff:127.0.0.1",
        "64:ff9b::7f00:1",
        "2002:7f00:1::",
        "100.64.0.1",
        "224.0.0.1",
        "ff02::1",
        "fe80::1%eth0",
        "192.0.2.1",
    ],
)
def test_special_addresses_are_not_public_however_they_are_wrapped(address: str) -> None:
    assert not is_public(address)


def test_public_addresses_are_public() -> None:
    assert is_public("93.184.216.34")
    assert is_public("2606:2800:220:1:248:1893:25c8:1946")
    assert is_public("::ffff:93.184.216.34")


@pytest.mark.parametrize(
    "url",
    ["", "ftp://example.com/", "http://example.com/", "https:///x", "https://u:p@example.com/", "https://example.com:x/",
     "https://exa mple.com/", "https://example.com/\r\nX: y", "https://ex\u0430mple.com/", "example.com"],
)  # fmt: skip
def test_addresses_that_make_no_sense_are_a_settings_error(url: str) -> None:
    with pytest.raises(SettingsError, match="webhook"):
        WebhookNotifier(Client(Guard()), url, SECRET)


def test_a_short_secret_is_refused_and_not_shown() -> None:
    with pytest.raises(SettingsError) as refused:
        WebhookNotifier(Client(Guard()), "https://example.com/", b"short")
    assert "short" not in str(refused.value)


@given(st.binary(min_size=1), st.binary(), st.integers(0, 2**33), st.integers(-400, 400))
def test_a_signature_holds_for_its_body_and_five_minutes(secret: bytes, body: bytes, at: int, later: int) -> None:
    header = sign(secret, at, body)
    assert is_authentic(secret, header, body, now=at + later) == (abs(later) <= 300)
    assert not is_authentic(secret, header, body + b"x", now=at)
    assert not is_authentic(secret, header.replace(f"t={at}", f"t={at + 1}"), body, now=at)


@given(st.text(max_size=80))
def test_no_odd_header_is_authentic_or_an_error(header: str) -> None:
    assert not is_authentic(b"secret", header, b"body", now=0)


def test_every_notifier_is_on_the_shelf() -> None:
    shelf: Registry[type[WebhookNotifier]] = Registry("notifier", NOTIFIERS)
    assert [part.name for part in shelf] == ["webhook"]
