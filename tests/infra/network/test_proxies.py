"""Which proxy is for which target: settings, the variables of the environment, and the hosts that need none."""

from __future__ import annotations

import pytest

from ferrule.errors import SettingsError
from ferrule.infra.network.proxies import Proxies, check_proxy, is_inside, read_proxies
from ferrule.infra.network.urls import parse_url

ONE = "http://proxy.corp:3128"


def find_proxy(proxies: Proxies, url: str) -> str | None:
    proxy = proxies.find(parse_url(url))
    return None if proxy is None else proxy.target.place


def test_the_environment_names_one_for_each_scheme_and_small_letters_win() -> None:
    proxies = read_proxies("", "", (), {"HTTPS_PROXY": "http://a.corp:1", "HTTP_PROXY": "b.corp:2"})
    assert (find_proxy(proxies, "https://x.com/"), find_proxy(proxies, "http://x.com/")) == ("a.corp:1", "b.corp:2")
    proxies = read_proxies("", "", (), {"HTTPS_PROXY": "http://a.corp:1", "https_proxy": "https://c.corp"})
    assert (find_proxy(proxies, "https://x.com/"), find_proxy(proxies, "http://x.com/")) == ("c.corp:443", None)
    assert read_proxies("", "", (), {"HTTPS_PROXY": " ", "NO_PROXY": "<odd>"}) == Proxies()


def test_settings_win_and_may_say_none() -> None:
    env = {"HTTPS_PROXY": "http://a.corp:1", "LOGIN": "me:pass word"}
    proxies = read_proxies(ONE, "LOGIN", (), env)
    assert find_proxy(proxies, "https://x.com/") == find_proxy(proxies, "http://x.com/") == "proxy.corp:3128"
    assert read_proxies("none", "", (), env) == Proxies()


@pytest.mark.parametrize(
    ("direct", "url", "is_direct"),
    [("example.com", "https://example.com/", True), ("example.com", "https://a.b.Example.com/", True),
     ("example.com", "https://notexample.com/", False), (".example.com", "https://a.example.com/", True),
     ("*.example.com", "https://a.example.com/", True), ("example.com:8443", "https://example.com/", False),
     ("example.com:8443", "https://example.com:8443/", True), ("10.0.0.0/8", "http://10.1.2.3/", True),
     ("10.0.0.0/8", "http://0x0a010203/", True), ("10.0.0.0/8", "http://11.1.2.3/", False),
     ("10.0.0.0/8", "http://ten.example.com/", False), ("2001:db8::/32", "http://[2001:db8::1]/", True),
     ("[2001:db8::1]", "http://[2001:db8::1]/", True), ("192.168.1.1:80", "http://192.168.1.1/", True),
     ("*", "https://anything.org/", True), ("a.org, example.com", "https://example.com/", True)],
)  # fmt: skip
def test_hosts_that_need_none(direct: str, url: str, is_direct: bool) -> None:
    by_environment = read_proxies(ONE, "", (), {"NO_PROXY": direct})
    by_settings = read_proxies(ONE, "", [entry.strip() for entry in direct.split(",")], {})
    assert (by_environment.find(parse_url(url)) is None) is (by_settings.find(parse_url(url)) is None) is is_direct


@pytest.mark.parametrize(
    ("written", "direct", "env", "says"),
    [("socks5://p:1", (), {}, r"\[network\] proxy is no address"), ("http://p:1/x", (), {}, "it has a path"),
     ("http://me:s3cret-canary@p:1", (), {}, "proxy_login_env"), ("http://p:0", (), {}, "port"),
     ("", (), {"HTTPS_PROXY": "http://me:s3cret-canary@p:x"}, "HTTPS_PROXY is no address"),
     ("", (), {"https_proxy": "http://s3cret-canary@p:1"}, "login of https_proxy must be user:password"),
     (ONE, ("a b",), {}, "no_proxy has 'a b'"), (ONE, ("http://x",), {}, "no_proxy"), (ONE, (), {"NO_PROXY": "a/b"}, "NO_PROXY")],
)  # fmt: skip
def test_what_cannot_be_meant_is_said_without_its_secrets(
    written: str, direct: tuple[str, ...], env: dict[str, str], says: str
) -> None:
    with pytest.raises(SettingsError, match=says) as refused:
        read_proxies(written, "", direct, env)
    assert "canary" not in str(refused.value)


def test_a_login_has_to_be_there_and_belongs_to_a_proxy_of_the_settings() -> None:
    with pytest.raises(SettingsError, match=r"set the login .* in the environment variable LOGIN"):
        read_proxies(ONE, "LOGIN", (), {})
    with pytest.raises(SettingsError, match="say that too"):
        read_proxies("", "LOGIN", (), {"LOGIN": "a:b"})


def test_logins_are_learned_by_the_redactor_and_shown_nowhere() -> None:
    learned: list[str] = []
    env = {"HTTPS_PROXY": "http://me:p%40ss%3Aword@proxy.corp:3128"}
    proxies = read_proxies("", "", (), env, lambda name, value: learned.append(value))
    assert proxies.https is not None and proxies.https.authorization == "Basic bWU6cEBzczp3b3Jk"
    assert {"me:p@ss:word", "p@ss:word", "bWU6cEBzczp3b3Jk"} == set(learned)
    assert "bWU6" not in repr(proxies) and "p@ss" not in repr(proxies)


def test_a_check_needs_no_environment() -> None:
    check_proxy("https://proxy.corp", ("10.0.0.0/8",))
    check_proxy("none")
    with pytest.raises(SettingsError):
        check_proxy(ONE, ("a b",))


@pytest.mark.parametrize(
    ("url", "expected"),
    [("http://localhost/", True), ("http://a.localhost./", True), ("http://printer/", True), ("http://nas.local/", True),
     ("http://metadata.google.internal/", True), ("http://router.home.arpa/", True), ("http://example.com/", False),
     ("http://local.example.com/", False), ("http://93.184.216.34/", False), ("http://[2606:2800::1]/", False)],
)  # fmt: skip
def test_some_names_mean_the_inside_whoever_is_asked(url: str, expected: bool) -> None:
    assert is_inside(parse_url(url)) is expected
