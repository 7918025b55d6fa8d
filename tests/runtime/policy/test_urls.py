"""Addresses: one spelling for a host, no trust in odd ones."""

from __future__ import annotations

import re

import pytest
from hypothesis import given
from hypothesis import strategies as st

from ferrule.runtime.policy.urls import UrlMatcher


def allows(pattern: str, value: object) -> bool:
    return UrlMatcher((pattern,), is_strict=True).fits(value)


def denies(pattern: str, value: object) -> bool:
    return UrlMatcher((pattern,), is_strict=False).fits(value)


@pytest.mark.parametrize(
    ("pattern", "value"),
    [
        ("https://api.example.com/v1/**", "https://api.example.com/v1/users/7?q=1#x"),
        ("https://api.example.com/v1/**", "HTTPS://API.EXAMPLE.COM:443/v1/users"),
        ("https://api.example.com/v1/*", "https://api.example.com/v0/../v1/users"),
        ("*.example.com", "http://a.b.example.com/x"),
        ("api.example.com", "https://api.example.com./x"),
        ("https://api.example.com:8443/**", "https://api.example.com:8443/"),
        ("api.example.com:*", "http://api.example.com:9000/x"),
        ("http://[::1]/**", "http://[0:0:0:0:0:0:0:1]/x"),
        ("*", "https://anything.test"),
    ],
)
def test_allow_and_deny_fit_the_parsed_address(pattern: str, value: str) -> None:
    assert allows(pattern, value)
    assert denies(pattern, value)


@pytest.mark.parametrize(
    "value",
    [
        "https://good.example@evil.test/", "https://evil.test/good.example", "https://good.example.evil.test/",
        "https://evil.test\\@good.example/", "https://good.example\t.evil.test/", "http://good.example/", "good.example",
        "//good.example/", "https://good.example:444/", "https://user:pass@good.example/", "https://good%2eexample/",
        "javascript:alert(1)", "https://", "", "https://good.example:x/", "https://go\u200bod.example/", None, 3,
    ],
)  # fmt: skip
def test_an_allow_fits_its_own_host_alone(value: object) -> None:
    assert not allows("https://good.example", value)


def test_an_allowed_path_is_not_left_by_dots_or_escapes() -> None:
    for path in ("/v1/../admin", "/v1/%2e%2e/admin", "/v1/..%2fadmin", "/v1", "/V1/x", "/v1/x/../../admin"):
        assert not allows("https://a.test/v1/**", f"https://a.test{path}")


@pytest.mark.parametrize(
    "value",
    [
        "http://127.0.0.1/", "http://127.1/", "http://0x7f.0.0.1/", "http://2130706433/", "http://0177.0.0.1/",
        "http://127.0.0.1:80/", "http://user@127.0.0.1/", "http:\\\\127.0.0.1\\x", "http://127.0.0.1./", "127.0.0.1",
        "http://127.0.0.1\n/", "//127.0.0.1/x", "http://%31%32%37.0.0.1/",
    ],
)  # fmt: skip
def test_a_deny_fits_every_spelling_of_a_host(value: str) -> None:
    assert denies("127.0.0.1:*", value)


def test_a_deny_fits_names_in_any_alphabet() -> None:
    assert denies("bücher.example", "https://xn--bcher-kva.example/")
    assert denies("xn--bcher-kva.example", "https://BÜCHER.example/")
    assert denies("evil.test", "https://evil\u3002test:8443/")
    assert not denies("evil.test", "https://good.test/evil.test")


letters = st.text(st.sampled_from("/\\@:.%2e?#good.example evil\t"), max_size=20)


@given(letters)
def test_no_text_around_a_host_makes_it_another(text: str) -> None:
    assert not allows("https://good.example", f"https://evil.test{text}")
    address = f"https://{text}"
    if allows("https://good.example", address):
        assert re.match(r"https://good\.example\.?([/?#].*)?$", address.lower().replace(":443", ""))
