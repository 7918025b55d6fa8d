"""`fetch` reaches allowed hosts only, in time, up to its limit, wherever redirects and name servers would like to lead it."""

from __future__ import annotations

import asyncio
import gzip
import os
import socket
import threading
import time
from pathlib import Path
from typing import Any

import pytest

from ferrule.contracts.executor import Context
from ferrule.infra.network.client import Client
from ferrule.infra.network.guard import Guard
from ferrule.runtime.builtins.executor import BuiltinExecutor
from tests.runtime.builtins.builtin_tools import expect_refusal, tool
from tests.runtime.builtins.fetching import LOCAL, fetch
from tests.runtime.builtins.web import FakeWeb, ReceivedRequest, answer, redirect, running_web


def test_a_page_comes_with_the_fields_of_the_standard(tmp_path: Path) -> None:
    """ADL-28"""
    with running_web(index=answer("Grüße".encode(), Content_Type="text/plain; charset=utf-8", X_One="1")) as site:
        result = fetch(tmp_path, site.url("/?q=1#part"), headers={"Accept-Language": "de"})
    assert result.pop("duration_ms") >= 0
    assert result == {
        "url": site.url("/?q=1"), "method": "GET", "status_code": 200, "body": "Grüße", "bytes_read": 7, "truncated": False,
        "headers": {"Content-Length": "7", "Content-Type": "text/plain; charset=utf-8", "X-One": "1"},
    }  # fmt: skip
    (asked,) = site.asked
    assert asked.path == "/?q=1" and asked.headers["accept-language"] == "de"
    assert asked.headers["host"] == f"127.0.0.1:{site.port}" and asked.headers["accept-encoding"] == "identity"


@pytest.mark.parametrize("status", [204, 304, 404, 500])
def test_every_status_is_a_result(tmp_path: Path, status: int) -> None:
    with running_web(index=answer(b"" if status in (204, 304) else b"said", status=status)) as site:
        result = fetch(tmp_path, site.url())
    assert result["status_code"] == status and result["body"] == ("" if status in (204, 304) else "said")


def test_head_brings_no_body(tmp_path: Path) -> None:
    """ADL-28"""
    with running_web(index=answer(b"", length=5000, Content_Encoding="gzip")) as site:
        result = fetch(tmp_path, site.url(), method="HEAD")
    assert (result["method"], result["body"], result["bytes_read"], site.asked[0].method) == ("HEAD", "", 0, "HEAD")


@pytest.mark.parametrize("how", ["length", "chunked", "closed"])
def test_a_large_body_is_cut_while_it_is_read(tmp_path: Path, how: str) -> None:
    """ADL-28: never more than `max_bytes`, and the sender is not listened to any longer."""
    sent = [0]

    def endless(peer: socket.socket, asked: ReceivedRequest) -> None:
        head = {"length": "Content-Length: 99999999999", "chunked": "Transfer-Encoding: chunked", "closed": "X: y"}[how]
        peer.sendall(f"HTTP/1.1 200 OK\r\n{head}\r\n\r\n".encode())
        piece = "é".encode() * 20_000
        while sent[0] < 1_000_000_000:
            peer.sendall(b"%x\r\n%b\r\n" % (len(piece), piece) if how == "chunked" else piece)
            sent[0] += len(piece)

    with running_web(index=endless) as site:
        result = fetch(tmp_path, site.url(), {"max_bytes": 100_001})
    assert result["truncated"] and result["bytes_read"] == 100_001
    assert result["body"] == "é" * 50_000, "the half letter at the end is left out"
    assert sent[0] < 50_000_000


def test_a_body_of_exactly_the_limit_is_whole(tmp_path: Path) -> None:
    with running_web(index=answer(b"x" * 1000)) as site:
        result = fetch(tmp_path, site.url(), {"max_bytes": 1000})
    assert (result["truncated"], result["bytes_read"]) == (False, 1000)


def test_a_compressed_answer_is_opened_up_to_the_limit(tmp_path: Path) -> None:
    """A few kilobytes that would become a gigabyte."""
    bomb = gzip.compress(b"x" * 10_000_000)
    for coding in ("gzip", "gzip, identity"):
        with running_web(index=answer(bomb, Content_Encoding=coding)) as site:
            result = fetch(tmp_path, site.url(), {"max_bytes": 1000})
        assert result["truncated"] and result["body"] == "x" * 1000
        assert not {"Content-Encoding", "Content-Length"} & result["headers"].keys(), "they tell about what was sent"
    for coding in ("deflate", "br", "gzip, gzip"):
        with (
            running_web(index=answer(bomb, Content_Encoding=coding)) as site,
            expect_refusal("dependency_unavailable", "broken_answer"),
        ):
            fetch(tmp_path, site.url())


@pytest.mark.parametrize(
    "data",
    [answer(b"short", length=50), b"HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n5\r\nab", b"", b"\r\n\r\n",
     b"SSH-2.0-x\r\n\r\n",
     b"HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n-5\r\nabcde\r\n0\r\n\r\n", b"HTTP/1.1 2x0 OK\r\n\r\n",
     b"HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n3\r\nabcde\r\n0\r\n\r\n", b"HTTP/2 200\r\n\r\n",
     b"HTTP/1.1 200 OK\r\nContent-Length: -1\r\n\r\nx", b"HTTP/1.1 200 OK\r\nContent-Length: 1\r\nContent-Length: 2\r\n\r\nxy",
     b"HTTP/1.1 200 OK\r\nTransfer-Encoding: gzip\r\n\r\nx", b"HTTP/1.1 200 OK\r\nX: " + b"x" * 100_000 + b"\r\n\r\n",
     b"HTTP/1.1 200 OK\r\n" + b"A: b\r\n" * 500 + b"\r\n", b"HTTP/1.1 100 Continue\r\n\r\n" * 50],
)  # fmt: skip
def test_a_broken_answer_is_an_error(tmp_path: Path, data: bytes) -> None:
    with running_web(index=data) as site, expect_refusal("dependency_unavailable", "broken_answer"):
        fetch(tmp_path, site.url())


def test_interim_answers_are_passed_over(tmp_path: Path) -> None:
    with running_web(
        index=b"HTTP/1.1 100 Continue\r\n\r\nHTTP/1.1 103 Early\r\nLink: x\r\n\r\n" + answer(b"real")
    ) as site:
        assert fetch(tmp_path, site.url())["body"] == "real"


def test_nobody_there_and_no_such_name_can_be_tried_later(tmp_path: Path) -> None:
    with socket.create_server(("127.0.0.1", 0)) as taken:
        port = taken.getsockname()[1]
    with expect_refusal("dependency_unavailable"):
        fetch(tmp_path, f"http://127.0.0.1:{port}/")

    def nothing(host: str, port: int) -> list[str]:
        raise socket.gaierror(socket.EAI_NONAME, "Name or service not known")

    with expect_refusal("dependency_unavailable", match="nowhere.test"):
        fetch(tmp_path, "http://nowhere.test/", resolver=nothing)


# Time


@pytest.mark.parametrize("what", ["head", "body", "silence"])
def test_a_server_that_drips_is_cut_off(tmp_path: Path, what: str) -> None:
    """ADL-28: the limit is for the whole, so no byte now and then prolongs it."""

    def drip(peer: socket.socket, asked: ReceivedRequest) -> None:
        start = {
            "head": b"HTTP/1.1 200 OK\r\nX: ",
            "body": b"HTTP/1.1 200 OK\r\nContent-Length: 9999\r\n\r\n",
            "silence": b"",
        }
        peer.sendall(start[what])
        while not site.done.wait(0.05):
            if what != "silence":
                peer.sendall(b"x")

    started = time.monotonic()
    with running_web(index=drip) as site, expect_refusal("timeout", match="within 1 s"):
        fetch(tmp_path, site.url(), {"timeout_seconds": 1})
    assert time.monotonic() - started < 5


def test_an_abort_stops_it_at_once_and_closes_the_connection(tmp_path: Path) -> None:
    hung_up = threading.Event()

    def wait(peer: socket.socket, asked: ReceivedRequest) -> None:
        peer.settimeout(10)
        if peer.recv(1) == b"":
            hung_up.set()

    async def story(site: FakeWeb, how: str) -> None:
        client = Client(Guard(LOCAL))
        executor = BuiltinExecutor(tmp_path, {}, lambda: client)
        prepared: Any = executor.prepare(tool("fetch"))
        context = Context("inv_1", "ann", None, "default")
        running = asyncio.ensure_future(prepared({"url": site.url()}, context))
        while not site.asked:
            await asyncio.sleep(0.005)
        if how == "cancel":
            running.cancel()
            with pytest.raises(asyncio.CancelledError):
                await running
        else:
            context.abort(how)
            with expect_refusal("canceled" if how == "user_interruption" else "timeout"):
                await running
        await executor.aclose()
        await client.aclose()

    for how in ("user_interruption", "timeout", "cancel"):
        hung_up.clear()
        with running_web(index=wait) as site:
            asyncio.run(story(site, how))
            assert hung_up.wait(5)


def test_progress_tells_the_bytes(tmp_path: Path) -> None:
    told: list[dict[str, Any]] = []

    class Ear:
        def progress(self, facts: dict[str, Any]) -> None:
            told.append(facts)

        def __getattr__(self, name: str) -> Any:
            return lambda *args: None

    context = Context("inv_1", "ann", None, "default", wire=Ear())
    with running_web(index=answer(b"x" * 1_000_000)) as site:
        fetch(tmp_path, site.url(), context=context)
    counts = [facts["bytes_read"] for facts in told]
    assert len(counts) >= 2 and counts == sorted(counts) and counts[-1] <= 1_000_000


# Where it may go


@pytest.mark.parametrize(
    "url",
    ["http://127.0.0.1:{port}/", "http://127.1:{port}/", "http://0x7f000001:{port}/", "http://017700000001:{port}/",
     "http://2130706433:{port}/", "http://[::ffff:127.0.0.1]:{port}/", "http://0:{port}/", "http://[::1]:{port}/",
     "http://localhost:{port}/", "http://c.test:{port}/", "http://169.254.169.254/latest/meta-data/"],
)  # fmt: skip
def test_private_hosts_are_refused_unless_they_are_listed(tmp_path: Path, url: str) -> None:
    """DESIGN promise 9; allowed_domains does not open them."""
    with running_web(index=answer(b"secret")) as site:
        for config in ({}, {"allowed_domains": ["c.test", "localhost", "127.0.0.1", "169.254.169.254", "::1", "0.0.0.0",
                                                "::ffff:127.0.0.1"]}):  # fmt: skip
            with expect_refusal("sandbox_violation", "address_forbidden", r"\[network\] allow"):
                fetch(tmp_path, url.format(port=site.port), config, allow=("a.test", f"127.0.0.1:{site.port + 1}"))
    assert site.asked == []


def test_a_name_is_resolved_once_and_that_very_address_is_dialled(tmp_path: Path) -> None:
    """DESIGN promise 9: a name server that answers differently the second time (rebinding) is not asked a second time."""
    answers = iter([["203.0.113.5"], ["127.0.0.1"]])
    asked: list[str] = []

    def rebinding(host: str, port: int) -> list[str]:
        asked.append(host)
        return next(answers)

    with running_web(index=answer(b"secret")) as site:
        with expect_refusal("sandbox_violation", "address_forbidden"):
            fetch(tmp_path, site.url(host="evil.test"), resolver=rebinding)
        assert asked == ["evil.test"] and site.asked == []

        asked.clear()
        answers = iter([["127.0.0.1"], ["203.0.113.5"]])
        assert fetch(tmp_path, site.url(host="a.test"), resolver=rebinding)["body"] == "secret"
        assert asked == ["a.test"] and site.asked[0].headers["host"] == f"a.test:{site.port}"


def test_a_public_first_answer_does_not_hide_a_private_second(tmp_path: Path) -> None:
    with running_web(index=answer(b"secret")) as site, expect_refusal("sandbox_violation", "address_forbidden"):
        fetch(tmp_path, site.url(host="c.test"), resolver=lambda host, port: ["93.184.216.34", "127.0.0.1"])
    assert site.asked == []


@pytest.mark.parametrize("status", [301, 302, 303, 307, 308])
def test_redirects_on_the_host_are_followed(tmp_path: Path, status: int) -> None:
    with running_web(index=redirect("/one?a=b", status), one=redirect("two", status), two=answer(b"there")) as site:
        result = fetch(tmp_path, site.url(), headers={"Authorization": "Bearer abcdef"})
    assert result["body"] == "there" and result["url"] == site.url("/two")
    assert [asked.headers.get("authorization") for asked in site.asked] == ["Bearer abcdef"] * 3


def test_a_redirect_to_a_named_host_loses_the_callers_headers(tmp_path: Path) -> None:
    """ADL-28: the host is checked again on every redirect."""
    with running_web(landing=answer(b"there")) as second:
        with running_web(index=redirect(second.url("/landing", "b.test"))) as first:
            headers = {"Authorization": "Bearer abcdef", "Cookie": "a=b", "X-Anything": "x"}
            result = fetch(tmp_path, first.url(host="a.test"), headers=headers)
        assert result["body"] == "there" and result["url"] == second.url("/landing", "b.test")
        (asked,) = second.asked
        assert not {"authorization", "cookie", "x-anything"} & set(asked.headers)


@pytest.mark.parametrize(
    "location",
    ["http://c.test:{port}/secret", "//c.test:{port}/secret", "http://127.0.0.2:{port}/secret", "http://0x7f000002:{port}/secret",
     "http://[::1]:{port}/secret", "http://169.254.169.254/", "http://a.test:1/secret",
     "http://user@a.test:{port}/secret", "file:///etc/passwd", "gopher://a.test:{port}/x", "http://a.test:{port}\\@c.test/secret",
     "/\\c.test/secret", "http://c.test:{port}/\tsecret", "http://[::1/secret", "http://\u00e4.test/"],
)  # fmt: skip
@pytest.mark.parametrize("domains", [[], ["a.test"]])
def test_redirects_elsewhere_are_refused(tmp_path: Path, location: str, domains: list[str]) -> None:
    """ADL-28, DESIGN promise 9: to unnamed hosts, other ports, private addresses and unreadable ones."""
    with running_web(secret=answer(b"secret")) as site:
        site.pages["/"] = redirect(location.format(port=site.port))
        with expect_refusal("sandbox_violation"):
            fetch(tmp_path, site.url(host="a.test"), {"allowed_domains": domains}, allow=(f"a.test:{site.port}",))
        assert [asked.path for asked in site.asked] == ["/"]


def test_a_refused_redirect_says_where_it_leads_and_what_to_do(tmp_path: Path) -> None:
    said = r"fetch http://www\.example\.com/x itself"
    with (
        running_web(index=redirect("http://www.example.com/x")) as site,
        expect_refusal("sandbox_violation", "redirect_refused", said),
    ):
        fetch(tmp_path, site.url())


def test_a_redirect_to_a_listed_name_that_leads_to_a_private_address_is_judged_again(tmp_path: Path) -> None:
    """In allowed_domains, and therefore followed; not in [network] allow, and therefore not dialled."""
    with running_web(secret=answer(b"secret")) as site:
        site.pages["/"] = redirect(site.url("/secret", "c.test"))
        with expect_refusal("sandbox_violation", "address_forbidden"):
            fetch(tmp_path, site.url(host="a.test"), {"allowed_domains": ["a.test", "c.test"]}, allow=("a.test",))
        assert [asked.path for asked in site.asked] == ["/"]


def test_redirects_end(tmp_path: Path) -> None:
    with running_web(index=redirect("/")) as site, expect_refusal("execution_failed", "too_many_redirects"):
        fetch(tmp_path, site.url())
    assert len(site.asked) == 6


def test_a_redirect_without_an_address_is_a_result(tmp_path: Path) -> None:
    with running_web(index=answer(b"where?", status=302)) as site:
        assert fetch(tmp_path, site.url())["status_code"] == 302


def test_the_usual_download_folder_is_the_systems(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """ADL-28"""
    monkeypatch.setattr("tempfile.tempdir", str(tmp_path / "tmp"))
    with running_web(index=answer(b"x")) as site:
        result = fetch(tmp_path / "ws", site.url(), {"allow_downloads": True}, save_path="x")
    assert result["saved_to"] == str(tmp_path / "tmp" / "x")


@pytest.mark.parametrize(
    ("path", "kind"),
    [("../x", "sandbox_violation"), ("a/../../x", "sandbox_violation"), ("a/../x", "sandbox_violation"),
     ("/etc/x", "sandbox_violation"),
     ("..", "sandbox_violation"), ("link/x", "sandbox_violation"), ("file-link", "sandbox_violation"), ("", "invalid_arguments"),
     ("a\0b", "invalid_arguments"), (".", "invalid_arguments"), ("a/", "invalid_arguments"), ("x" * 300, "invalid_arguments")],
)  # fmt: skip
def test_a_save_path_stays_in_the_download_folder(tmp_path: Path, path: str, kind: Any) -> None:
    """ADL-28: traversal, also through links."""
    (tmp_path / "ws/down").mkdir(parents=True)
    (tmp_path / "out").mkdir()
    (tmp_path / "out/secret").write_text("old")
    (tmp_path / "ws/down/link").symlink_to("../../out")
    (tmp_path / "ws/down/file-link").symlink_to("../../out/secret")
    with running_web(index=answer(b"new")) as site, expect_refusal(kind):
        fetch(tmp_path / "ws", site.url(), {"allow_downloads": True, "download_dir": "down"}, save_path=path)
    assert os.listdir(tmp_path / "out") == ["secret"] and (tmp_path / "out/secret").read_text() == "old"
    assert sorted(os.listdir(tmp_path / "ws/down")) == ["file-link", "link"]


def test_downloads_must_be_enabled_and_need_a_body(tmp_path: Path) -> None:
    """ADL-28"""
    with running_web(index=answer(b"x")) as site:
        with expect_refusal("capability_gap", "feature_disabled", "allow_downloads: true"):
            fetch(tmp_path, site.url(), save_path="x")
        with expect_refusal("invalid_arguments", match="HEAD"):
            fetch(tmp_path, site.url(), {"allow_downloads": True}, save_path="x", method="HEAD")
        with expect_refusal("sandbox_violation", "path_protected"):
            config = {"allow_downloads": True, "download_dir": "."}
            fetch(tmp_path, site.url(), config, save_path="ferrule.toml")


def test_credentials_in_headers_are_hidden(tmp_path: Path) -> None:
    """DESIGN promise 8: also when the server sends them back."""
    hidden: list[str] = []

    class Ear:
        def secret(self, value: str) -> None:
            hidden.append(value)

        def __getattr__(self, name: str) -> Any:
            return lambda *args: None

    headers = {"Authorization": "Bearer abcdef", "X-Api-Key": "key-1", "Cookie": "sid=42", "Accept": "text/html"}
    with running_web(index=answer(b"x")) as site:
        fetch(tmp_path, site.url(), context=Context("inv_1", "ann", None, "default", wire=Ear()), headers=headers)
    assert set(hidden) == {"Bearer abcdef", "abcdef", "key-1", "sid=42"}
