"""What a call of `fetch` may ask for: headers, domains and redirects, judged before anything is sent."""

from __future__ import annotations

from pathlib import Path

import pytest

from ferrule.runtime.builtins.requests import follow_redirect, request_of
from tests.runtime.builtins.builtin_tools import expect_refusal
from tests.runtime.builtins.fetching import fetch
from tests.runtime.builtins.web import answer, running_web


@pytest.mark.parametrize(
    ("domains", "host", "is_allowed"),
    [(["a.test"], "a.test", True), (["A.Test"], "a.TEST", True), (["a.test"], "x.a.test", False), ([".a.test"], "a.test", True),
     ([".a.test"], "x.y.a.test", True), ([".a.test"], "xa.test", False), (["a.test."], "a.test.", True),
     (["b.test"], "a.test", False),
     (["test"], "a.test", False), ([".test"], "a.test", True), (["127.0.0.1"], "127.0.0.1", True),
     (["a.test"], "127.0.0.1", False)],
)  # fmt: skip
def test_allowed_domains(tmp_path: Path, domains: list[str], host: str, is_allowed: bool) -> None:
    """ADL-28: case does not count; a leading dot means the host and everything below it."""
    allow = ("127.0.0.1", "a.test", "x.a.test", "x.y.a.test", "xa.test")
    with running_web(index=answer(b"page")) as site:
        if is_allowed:
            assert fetch(tmp_path, site.url(host=host), {"allowed_domains": domains}, allow=allow)["body"] == "page"
        else:
            with expect_refusal("sandbox_violation", "domain_not_allowed", domains[0]):
                fetch(tmp_path, site.url(host=host), {"allowed_domains": domains}, allow=allow)
            assert site.asked == []


@pytest.mark.parametrize("entry", ["*.a.test", "http://a.test", "a.test:80", "a/b", "..a.test"])
def test_a_domain_that_is_none_turns_the_tool_off(tmp_path: Path, entry: str) -> None:
    with expect_refusal("setup_required", match="allowed_domains"):
        fetch(tmp_path, "http://a.test/", {"allowed_domains": ["a.test", entry]})


@pytest.mark.parametrize(
    "headers",
    [{"X": "a\r\nHost: b"}, {"X": "a\nb"}, {"X": "a\0b"}, {"X\r\nY": "a"}, {"X:": "a"}, {"": "a"}, {"X Y": "a"}, {"Host": "b"},
     {"HOST": "b"}, {"Content-Length": "5"}, {"Connection": "keep-alive"}, {"Transfer-Encoding": "chunked"},
     {"Proxy-Authorization": "x"},
     {"Accept-Encoding": "gzip"}, {"TE": "x"}, {"Upgrade": "h2c"}, {"X": "é€"}, {"A": "1", "a": "2"}, {"X": "x" * 20_000},
     {f"X-{number}": "x" for number in range(100)}, {"Ünï": "x"}],
)  # fmt: skip
def test_headers_that_could_change_the_request_are_refused(tmp_path: Path, headers: dict[str, str]) -> None:
    with running_web(index=answer(b"page")) as site, expect_refusal("invalid_arguments", "bad_header"):
        fetch(tmp_path, site.url(), headers=headers)
    assert site.asked == []


@pytest.mark.parametrize(
    ("url", "location", "keeps"),
    [("http://a.test/x", "https://a.test/y", True), ("https://a.test/x", "/y", True),
     ("https://a.test/x", "https://A.test:443/", True),
     ("http://a.test/x", "https://a.test:8443/y", False), ("http://a.test:8080/", "https://a.test/", False),
     ("https://a.test/", "https://b.test/", False), ("https://a.test/", "//b.test/", False),
     ("http://a.test/", "http://a.test:81/", False)],
)  # fmt: skip
def test_headers_stay_on_the_host(url: str, location: str, keeps: bool) -> None:
    request = request_of({"url": url, "headers": {"Authorization": "Bearer abcdef"}})
    assert bool(follow_redirect(request, location).headers) == keeps


@pytest.mark.parametrize("location", ["http://a.test/", "http://a.test:443/", "http://b.test/"])
def test_no_redirect_leads_from_https_to_http(location: str) -> None:
    with expect_refusal("sandbox_violation", "redirect_refused", "https to http"):
        follow_redirect(request_of({"url": "https://a.test/"}), location)
