"""Finds the proxy for a target, from the settings or the usual variables of the environment.

`HTTPS_PROXY` and `HTTP_PROXY` name a proxy for https and http targets, `NO_PROXY` the hosts that are reached without
one; names in small letters win, as everywhere. Which targets may go to a proxy at all is the client's decision. Logins
are secrets: they appear in no message and no `repr`.
"""

from __future__ import annotations

import ipaddress
import re
from base64 import b64encode
from collections.abc import Callable, Mapping, Sequence
from typing import NamedTuple
from urllib.parse import unquote

from ferrule.errors import SettingsError
from ferrule.infra.network.request import ProxyRefused
from ferrule.infra.network.urls import BadUrl, Target, parse_host, parse_url

LOGIN_WANTED = 407
NONE = "none"
"""In place of an address: no proxy, whatever the environment says."""
_INSIDE = re.compile(r"(?:.*\.)?(?:localhost|local|internal|home\.arpa)|[^.]+")
_ENTRY = re.compile(r"(?:\*?\.)?(.+?)(?::([0-9]{1,5}))?")
_SEPARATORS = re.compile(r"[,\s]+")


class Proxy(NamedTuple):
    """One proxy."""

    target: Target
    """Its address; `https` when it wants TLS itself."""
    authorization: str = ""
    """The login it gets; empty when it needs none."""

    @property
    def header(self) -> bytes:
        """The header line with the login; empty when it needs none."""
        return f"Proxy-Authorization: {self.authorization}\r\n".encode() if self.authorization else b""

    def __repr__(self) -> str:
        return f"Proxy({self.target.host!r}, {self.target.port})"


class _Direct(NamedTuple):
    """One entry of the hosts that are reached without a proxy."""

    name: str = ""
    """The host, and everything below it."""
    port: int | None = None
    network: ipaddress.IPv4Network | ipaddress.IPv6Network | None = None

    def matches(self, target: Target) -> bool:
        if self.network is not None:
            return target.is_literal and ipaddress.ip_address(target.host) in self.network
        if self.port is not None and self.port != target.port:
            return False
        return self.name == "*" or target.host == self.name or target.host.endswith(f".{self.name}")


class Proxies(NamedTuple):
    """The proxies, and the targets that go without."""

    http: Proxy | None = None
    https: Proxy | None = None
    direct: tuple[_Direct, ...] = ()

    def find(self, target: Target) -> Proxy | None:
        """Returns the proxy for a target; None when it is reached directly."""
        proxy = self.https if target.is_secure else self.http
        return None if proxy is None or any(entry.matches(target) for entry in self.direct) else proxy


def is_inside(target: Target) -> bool:
    """True for a name of this machine or its network, whatever a name server says."""
    return not target.is_literal and _INSIDE.fullmatch(target.host) is not None


def login_error(proxy: Proxy) -> ProxyRefused:
    """Returns the error of a proxy that requires a login."""
    which = "another login" if proxy.authorization else "a login"
    return ProxyRefused(
        f"the proxy {proxy.target.host} wants {which}; check proxy_login_env of [network], or the variable that names the proxy"
    )


def read_proxies(
    written: str,
    login_env: str,
    direct: Sequence[str],
    env: Mapping[str, str],
    learn: Callable[[str, str], None] = lambda name, value: None,
) -> Proxies:
    """Returns the proxies of settings and environment. Raises SettingsError. `written`: `[network] proxy`; `login_env`
    names the variable with its login. `learn` teaches the redactor a secret."""
    if written == NONE:
        return Proxies()
    if login_env and not written:
        raise SettingsError("[network] proxy_login_env is for the proxy that [network] proxy names; say that too")
    http: Proxy | None
    https: Proxy | None
    if written:
        http = https = _read_setting(written, login_env, env, learn)
    else:
        http = _from_environment(env, "http_proxy", learn)
        https = _from_environment(env, "https_proxy", learn)
    if http is None and https is None:
        return Proxies()
    variable, said = _variable(env, "no_proxy")
    entries = [_read_direct(text, "[network] no_proxy") for text in direct]
    entries += [_read_direct(text, variable) for text in _SEPARATORS.split(said) if text]
    return Proxies(http, https, tuple(entries))


def _read_setting(written: str, login_env: str, env: Mapping[str, str], learn: Callable[[str, str], None]) -> Proxy:
    check_proxy(written)
    login = env.get(login_env, "") if login_env else ""
    if login_env and not login:
        raise SettingsError(f"[network] proxy: set the login (user:password) in the environment variable {login_env}")
    return _make_proxy(written, login, "[network] proxy", learn)


def check_proxy(written: str, direct: Sequence[str] = ()) -> None:
    """Raises SettingsError for an invalid proxy, or invalid hosts that are reached without it."""
    if "@" in written:
        raise SettingsError(
            "[network] proxy has a login in it, and ferrule.toml is no place for secrets; leave it out, and name the variable"
            " that holds user:password in proxy_login_env"
        )
    if written and written != NONE:
        _read_address(written, "[network] proxy")
    for text in direct:
        _read_direct(text, "[network] no_proxy")


def _from_environment(env: Mapping[str, str], name: str, learn: Callable[[str, str], None]) -> Proxy | None:
    variable, value = _variable(env, name)
    if not value:
        return None
    scheme, _, rest = value.rpartition("://")
    login, _, place = rest.rpartition("@")
    # The variable holds an address, so the login in it is percent-encoded.
    return _make_proxy(f"{scheme or 'http'}://{place}", unquote(login), variable, learn)


def _variable(env: Mapping[str, str], name: str) -> tuple[str, str]:
    variable = name if env.get(name) else name.upper()
    return variable, env.get(variable, "").strip()


def _make_proxy(address: str, login: str, where: str, learn: Callable[[str, str], None]) -> Proxy:
    target = _read_address(address, where)
    if not login:
        return Proxy(target)
    if not (login.isprintable() and ":" in login):
        raise SettingsError(f"the login of {where} must be user:password, in characters that can be seen")
    shown = b64encode(login.encode()).decode()
    for secret in (login, login.partition(":")[2], shown):
        learn("proxy login", secret)
    return Proxy(target, f"Basic {shown}")


def _read_address(address: str, where: str) -> Target:
    try:
        target = parse_url(address if "://" in address else f"http://{address}")
        if target.path != "/":
            raise BadUrl("it has a path")
        return target
    except BadUrl as error:
        # The address is not repeated: it may hold a login.
        raise SettingsError(
            f"{where} is no address of a proxy: {error}; write http://host:port, or https://host:port for one that speaks TLS"
        ) from None


def _read_direct(text: str, where: str) -> _Direct:
    if text == "*":
        return _Direct("*")
    try:
        return _Direct(network=ipaddress.ip_network(text.strip("[]"), strict=False))
    except ValueError:
        pass
    match = _ENTRY.fullmatch(text)
    try:
        name = parse_host(match[1]) if match is not None else ""
    except BadUrl:
        name = ""
    if match is None or not name:
        raise SettingsError(f"{where} has {text!r}, which is no host, host:port, .domain, address or network")
    return _Direct(name, int(match[2]) if match[2] else None)
