"""Matches address arguments against patterns: `https://api.example.com/v1/**`, `*.example.com`, `http://*`.

Scheme, host, port and path are compared after parsing, hosts in one spelling (lower case, punycode, plain IP
addresses). Texts that browsers and libraries read differently (backslashes, blanks, user names) fit no allow, and a
deny looks at every reading.
"""

from __future__ import annotations

import ipaddress
import posixpath
import re
import socket
from typing import NamedTuple
from urllib.parse import SplitResult, unquote, urlsplit

from ferrule.runtime.policy.globs import Segments, compile_glob

_DEFAULT_PORTS = {"http": 80, "https": 443, "ws": 80, "wss": 443, "ftp": 21}
_LONGEST = 8192
_ODD = re.compile(r"[\x00-\x20\x7f\\]|[^\x00-\x7f]")
_SCHEME = re.compile(r"([A-Za-z*][A-Za-z0-9+.*-]*)://")
_NUMERIC = re.compile(r"(?:0[xX][0-9a-fA-F]*|\d+)(?:\.(?:0[xX][0-9a-fA-F]*|\d+)){0,3}")
_NAME = re.compile(r"[a-z][a-z0-9_-]*(?:\.[a-z0-9_-]+)*")
_HOST = re.compile(r"[a-z0-9_-]+(?:\.[a-z0-9_-]+)*")


class ParsedUrl(NamedTuple):
    """An address in one spelling."""

    scheme: str
    host: str
    port: int | None
    path: tuple[str, ...]


class UrlReading(NamedTuple):
    """The addresses a text may mean."""

    addresses: tuple[ParsedUrl, ...]
    is_certain: bool


def read_url(text: str) -> UrlReading:
    """Lists every address the text may mean; certain when there is only one and nothing odd about it."""
    if len(text) > _LONGEST:
        return UrlReading((), False)
    found: list[ParsedUrl] = []
    is_certain = not _ODD.search(text) and _SCHEME.match(text) is not None
    texts = [text] if is_certain else [text, *_list_spellings(text)]
    for each in texts:
        parsed = _parse(each)
        is_certain = is_certain and parsed is not None and parsed[1]
        if parsed is not None:
            found.append(parsed[0])
    return UrlReading(tuple(dict.fromkeys(found)), is_certain)


def _list_spellings(text: str) -> list[str]:
    """Lists the texts that lenient parsers would read: blanks dropped, backslashes turned, a scheme put in front."""
    dense = re.sub(r"[\x00-\x20\x7f]", "", text)
    mended = [dense, dense.replace("\\", "/"), unquote(dense)]
    return [each if _SCHEME.match(each) else f"https://{each.lstrip('/')}" for each in mended]


def _parse(text: str) -> tuple[ParsedUrl, bool] | None:
    try:
        parts = urlsplit(text)
        port = parts.port
    except ValueError:
        return None
    host, is_plain = normalize_host(parts.hostname or "")
    if not host:
        return None
    scheme = parts.scheme.lower()
    segments = _split_path(parts)
    # Libraries differ in how they read a user name, an escaped host and an escaped slash.
    is_certain = is_plain and "@" not in parts.netloc and "%" not in parts.netloc and "%2f" not in parts.path.lower()
    return ParsedUrl(scheme, host, port if port is not None else _DEFAULT_PORTS.get(scheme), segments), is_certain


def _split_path(parts: SplitResult) -> tuple[str, ...]:
    normal = posixpath.normpath("/" + unquote(parts.path).lstrip("/"))
    return tuple(part for part in normal.split("/") if part)


def normalize_host(text: str) -> tuple[str, bool]:
    """Returns a host in one spelling, and whether it was written in an ordinary way. Empty when it is none."""
    host = unquote(text).lower().rstrip(".")
    if len(host) > 255:  # no name is that long, and encoding it takes quadratic time
        return host, False
    if _NAME.fullmatch(host):  # no address of numbers begins with a letter, unless it has colons
        return host, True
    try:
        return str(ipaddress.ip_address(host.strip("[]"))), "%" not in text
    except ValueError:
        pass
    if _NUMERIC.fullmatch(host):  # 127.1, 0x7f.0.0.1, 2130706433: what the C library takes for an address
        try:
            return socket.inet_ntoa(socket.inet_aton(host)), False
        except OSError:
            return host, False
    is_plain = _HOST.fullmatch(host) is not None
    if not is_plain:
        try:
            host = host.encode("idna").decode()
        except UnicodeError:
            return host, False
    return host, is_plain


class UrlPattern:
    """One pattern of a rule; what it leaves out may be anything."""

    __slots__ = ("_has_path", "_host", "_path", "_port", "_scheme", "text")

    def __init__(self, pattern: str, *, is_strict: bool) -> None:
        self.text = pattern
        scheme, rest = _cut_scheme(pattern)
        place, slash, path = rest.partition("/")
        host, port = _cut_port(place, "" if is_strict else "*")
        self._scheme = compile_glob(scheme.lower())
        self._host = _normalize_host_pattern(host)
        self._port = port
        self._has_path = bool(slash) and path != ""
        self._path = Segments(_split_segments(path), needs_more=is_strict and path != "**")

    def fits(self, address: ParsedUrl) -> bool:
        """Returns True when every part that the pattern names fits."""
        if not (self._scheme(address.scheme) and compile_glob(self._host)(address.host) and self._fits_port(address)):
            return False
        return not self._has_path or self._path.fits(address.path)

    def _fits_port(self, address: ParsedUrl) -> bool:
        if self._port == "":
            return address.port == _DEFAULT_PORTS.get(address.scheme)
        return self._port in ("*", str(address.port))

    def names(self, text: str) -> bool:
        """Returns True when the pattern's host stands somewhere in a text that cannot be parsed."""
        return len(text) > _LONGEST or self._host.strip("*.") in unquote(text).lower()


def split_url_pattern(pattern: str) -> tuple[str, list[str]]:
    """Returns the host of a pattern, as addresses are compared with it, and the segments of its path."""
    place, _, path = _cut_scheme(pattern)[1].partition("/")
    return _normalize_host_pattern(_cut_port(place, "")[0]), _split_segments(path)


def _split_segments(path: str) -> list[str]:
    return [part for part in path.split("/") if part]


def _cut_scheme(pattern: str) -> tuple[str, str]:
    found = _SCHEME.match(pattern)
    return (found[1], pattern[found.end() :]) if found else ("*", pattern)


def _cut_port(place: str, unstated: str) -> tuple[str, str]:
    """Cuts a host and port. Without a port, an allow means the scheme's own, a deny or ask means all."""
    host, colon, port = place.rpartition(":")
    # A colon within brackets belongs to an IPv6 address.
    return (host, port) if colon and "]" not in port else (place, unstated)


def _normalize_host_pattern(host: str) -> str:
    if re.search(r"[*?]", host):
        return host.lower().rstrip(".")
    return normalize_host(host)[0] or host.lower()


class UrlMatcher:
    """The address part of one rule."""

    __slots__ = ("_is_strict", "_patterns")

    def __init__(self, patterns: tuple[str, ...], *, is_strict: bool) -> None:
        self._is_strict = is_strict
        self._patterns = tuple(UrlPattern(pattern, is_strict=is_strict) for pattern in patterns)

    def fits(self, value: object) -> bool:
        """Returns True when the address fits: for certain for an allow, in any reading for a deny or ask."""
        if not isinstance(value, str):
            return not self._is_strict
        reading = read_url(value)
        if self._is_strict:
            return reading.is_certain and all(map(self._fits_one, reading.addresses))
        if any(map(self._fits_one, reading.addresses)):
            return True
        return not reading.is_certain and any(pattern.names(value) for pattern in self._patterns)

    def _fits_one(self, address: ParsedUrl) -> bool:
        return any(pattern.fits(address) for pattern in self._patterns)
