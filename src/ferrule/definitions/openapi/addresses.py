"""Finds the address of an operation: chooses one of its servers, fills in variables and completes relative addresses."""

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import Any, NamedTuple
from urllib.parse import quote, urljoin, urlsplit

from ferrule.definitions.openapi.read import OpenApi
from ferrule.definitions.openapi.shape import SERVER, Server
from ferrule.model.diagnostic import Severity
from ferrule.model.value import Path

NOWHERE = "https://server.invalid"
"""The placeholder for an address that the document does not give; no such host exists."""
_VARIABLE = re.compile(r"\{([^{}]*)\}")
_QUERY = "%:@!$&'()*+,;=/?~"
_ABSOLUTE = re.compile(r"https?://[^\s/?#]", re.IGNORECASE)


class ServiceAddress(NamedTuple):
    """The address of an operation."""

    url: str
    """Without a slash at its end."""
    is_known: bool = True
    """False when the user still has to set it."""


class Addresses:
    """The addresses of one document, each resolved once."""

    def __init__(self, document: OpenApi, source: str, chosen: str, variables: Mapping[str, str]) -> None:
        """`source`: where the document comes from; `chosen`: a server by its address, number (from 1) or name."""
        self._document = document
        self._source = source if _ABSOLUTE.match(source) else ""
        self._chosen = chosen.strip()
        self._variables = variables
        self._known: dict[tuple[tuple[str, Path], ...], ServiceAddress] = {}

    def resolve(self, servers: tuple[Server, ...]) -> ServiceAddress:
        """Returns the address to use for an operation with these servers."""
        if _ABSOLUTE.match(self._chosen):
            return ServiceAddress(_normalize_url(self._chosen))
        mark = tuple((server.url, server.path) for server in servers)
        known = self._known.get(mark)
        if known is None:
            known = self._known[mark] = self._resolve_servers(servers)
        return known

    def _resolve_servers(self, servers: tuple[Server, ...]) -> ServiceAddress:
        server = self._choose_server(servers)
        written = self._fill_variables(server) if server is not None else "/"
        path = server.path if server is not None else ()
        url = urljoin(self._source, written) if self._source else written
        if not _ABSOLUTE.match(url):
            base = url if url.startswith("/") else "/" + url
            self._document.report(
                SERVER,
                path,
                "the document does not name the service's host; its tools are drafts",
                hint="choose an address (`--server https://…`), or write `base_url`",
            )
            return ServiceAddress(_normalize_url(NOWHERE + base.partition("://")[0]), is_known=False)
        if len(servers) > 1 and not self._chosen:
            others = ", ".join(each.url[:80] for each in servers if each is not server)
            self._document.report(
                SERVER, path, f"the first of several servers is used; not: {others[:300]}", Severity.INFO
            )
        return ServiceAddress(_normalize_url(url))

    def _choose_server(self, servers: tuple[Server, ...]) -> Server | None:
        if not servers:
            return None
        chosen = self._chosen
        if chosen:
            # The length is checked first, because int() raises for more than 4,300 digits.
            number = int(chosen) if chosen.isdecimal() and len(chosen) < 7 else 0
            if 1 <= number <= len(servers):
                return servers[number - 1]
            for server in servers:
                if chosen in (server.name, server.description, server.url):
                    return server
        return next((server for server in servers if _ABSOLUTE.match(server.url)), servers[0])

    def _fill_variables(self, server: Server) -> str:
        def value(match: re.Match[str]) -> str:
            name = match[1]
            if name in self._variables:
                return self._variables[name]
            said: Any = server.variables.get(name)
            said = said if isinstance(said, dict) else {}
            words = said.get("enum")
            default = said.get("default", words[0] if isinstance(words, list) and words else None)
            if isinstance(default, str | int | float) and not isinstance(default, bool):
                return str(default)
            self._document.report(
                SERVER, server.path, f"the variable {name[:60]!r} of the server has no default", hint="give it a value"
            )
            return name

        return _VARIABLE.sub(value, server.url.strip())


def _normalize_url(url: str) -> str:
    """Normalizes an address: no fragment, no slash at the end of its path, other characters escaped."""
    parts = urlsplit(url)
    path = quote(parts.path.rstrip("/"), safe="/%:@!$&'()*+,;=~")
    query = f"?{quote(parts.query, safe=_QUERY)}" if parts.query else ""
    return f"{parts.scheme.lower()}://{_encode_host(parts.netloc)}{path}{query}"


def _encode_host(netloc: str) -> str:
    if netloc.isascii():
        return netloc
    host, colon, port = netloc.rpartition(":") if netloc.rpartition(":")[2].isdecimal() else (netloc, "", "")
    try:
        return host.encode("idna").decode() + colon + port
    except UnicodeError:
        return netloc
