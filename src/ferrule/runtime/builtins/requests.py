"""Requests of `fetch`: parsed and checked without touching the network. `fetch.py` sends them."""

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import NamedTuple
from urllib.parse import urljoin

from ferrule.contracts.executor import ExecutionFailed
from ferrule.infra.network.urls import BadUrl, Target, parse_host, parse_url
from ferrule.model.value import JsonObject
from ferrule.runtime.builtins.confine import refuse_nonsense
from ferrule.runtime.builtins.failures import bad_arguments, quote_text, violation

_TOKEN = re.compile(r"[A-Za-z0-9!#$%&'*+.^_`|~-]+")
_VALUE = re.compile(r"[\x20-\x7e\x80-\xff\t]*")
_MOST_HEADERS = 64
_LONGEST_HEADERS = 16 * 1024
_OURS = frozenset({"host", "content-length", "connection", "transfer-encoding", "te", "trailer", "upgrade", "keep-alive",
                   "expect", "accept-encoding", "content-encoding", "http2-settings"})  # fmt: skip
"""Headers about the connection, which only the HTTP client sets."""
_LEAST_SECRET = 4
"""Redacting shorter values would hide ordinary words."""
_SECRETS = re.compile(r"auth|cookie|token|secret|password|api-?key|credential|session|signature", re.IGNORECASE)


class FetchRequest(NamedTuple):
    """One request of `fetch`."""

    method: str
    target: Target
    headers: dict[str, str]
    save_path: str | None = None


def request_of(arguments: JsonObject) -> FetchRequest:
    """Reads a request. Raises ExecutionFailed for an invalid address, header or path."""
    method, save_path = arguments.get("method", "GET"), arguments.get("save_path")
    if save_path is not None:
        _refuse_save_path(save_path, method)
    try:
        target = parse_url(arguments["url"])
    except BadUrl as error:
        raise bad_arguments(
            f"the address {quote_text(arguments['url'])} cannot be fetched: {error}", "bad_url"
        ) from None
    return FetchRequest(method, target, check_headers(arguments.get("headers", {})), save_path)


def _refuse_save_path(path: str, method: str) -> None:
    if method == "HEAD":
        raise bad_arguments("HEAD brings no body to save; leave save_path out, or use GET", "nothing_to_save")
    refuse_nonsense(path)
    if path.startswith("/") or ".." in path.split("/"):
        raise violation(
            f"save_path {quote_text(path)} must be relative to the download folder, without '..'", "path_outside_roots"
        )


def check_headers(headers: Mapping[str, str]) -> dict[str, str]:
    """Checks a caller's headers; returns them without surrounding blanks. Raises ExecutionFailed."""
    seen: set[str] = set()
    if (
        len(headers) > _MOST_HEADERS
        or sum(len(name) + len(value) for name, value in headers.items()) > _LONGEST_HEADERS
    ):
        raise bad_arguments("there are too many headers; leave some out", "bad_header")
    for name, value in headers.items():
        if not _TOKEN.fullmatch(name) or not _VALUE.fullmatch(value):
            raise bad_arguments(f"the header {quote_text(name)} has characters that no header may have", "bad_header")
        lower = name.lower()
        if lower in _OURS or lower.startswith("proxy-"):
            raise bad_arguments(f"the header {quote_text(name)} cannot be set; leave it out", "bad_header")
        if lower in seen:
            raise bad_arguments(f"the header {quote_text(name)} is there twice; leave one out", "bad_header")
        seen.add(lower)
    return {name: value.strip(" \t") for name, value in headers.items()}


def secrets_in(headers: Mapping[str, str]) -> list[str]:
    """Returns the values of headers that carry credentials, with and without the scheme before them."""
    values = [value for name, value in headers.items() if _SECRETS.search(name)]
    values += [value.partition(" ")[2] for value in values]
    return [value for value in values if len(value) >= _LEAST_SECRET]


def follow_redirect(request: FetchRequest, location: str) -> FetchRequest:
    """Returns the request that a redirect leads to. Raises ExecutionFailed for one that cannot be followed.

    The caller's headers are kept only on the same host and port, or with the step from http to https.
    """
    before = request.target
    try:
        if not location.isascii() or not location.isprintable() or " " in location:
            raise BadUrl("it has characters that no address may have")
        target = parse_url(urljoin(before.url, location))
    except ValueError as error:
        raise violation(
            f"{before.host} redirects to an address that cannot be read: {error}", "redirect_refused"
        ) from None
    if before.is_secure and not target.is_secure:
        raise violation(f"{before.host} redirects from https to http, which is not followed", "redirect_refused")
    headers = request.headers if is_same_place(before, target) else {}
    return FetchRequest(request.method, target, headers, request.save_path)


def is_same_place(before: Target, after: Target) -> bool:
    """Returns True when a redirect stays on the host: same port, or the usual step from http to https."""
    if before.host != after.host:
        return False
    return (before.scheme, before.port) == (after.scheme, after.port) or (
        (before.scheme, before.port) == ("http", 80) and (after.scheme, after.port) == ("https", 443)
    )


class Domains:
    """`allowed_domains`: hosts, and with a leading dot a host with all its subdomains. An empty list means any host."""

    def __init__(self, stated: tuple[str, ...]) -> None:
        """Raises ExecutionFailed (`setup_required`) for an entry that is not a host."""
        self._hosts: set[str] = set()
        self._suffixes: list[str] = []
        for text in stated:
            try:
                host = _normalize_host(text.strip().removeprefix("."))
            except BadUrl:
                raise ExecutionFailed(
                    "setup_required",
                    f"{quote_text(text)} in spec.config.tools.fetch.allowed_domains is no host; write example.com,"
                    " or .example.com"
                    " with everything below it. The tool stays off until that is mended",
                ) from None
            self._hosts.add(host)
            if text.strip().startswith("."):
                self._suffixes.append(f".{host}")
        self.listed_hosts = ", ".join(stated)
        self.are_stated = bool(stated)

    def allows(self, target: Target) -> bool:
        """Returns True when the host is listed, or the list is empty."""
        return not self.are_stated or self.lists(target)

    def lists(self, target: Target) -> bool:
        """Returns True when the host is listed."""
        return target.host in self._hosts or target.host.endswith(tuple(self._suffixes))


def _normalize_host(text: str) -> str:
    return parse_url(f"http://[{text.strip('[]')}]").host if ":" in text else parse_host(text)
