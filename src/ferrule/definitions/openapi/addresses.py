"""Where an operation is reached: one of its servers, variables filled in, relative addresses completed."""

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
"""What stands for an address that the document does not tell; no such host exists."""
_VARIABLE = re.compile(r"\{([^{}]*)\}")
_QUERY = "%:@!$&'()*+,;=/?~"
_ABSOLUTE = re.compile(r"https?://[^\s/?#]", re.IGNORECASE)


class Address(NamedTuple):
    """The address of an operation."""

    url: str
    """Without a slash at its end."""
    is_known: bool = True
    """False when somebody still has to write it."""


class Addresses:
    """The addresses of one document, each worked out once."""

    def __init__(self, document: OpenApi, source: str, chosen: str, variables: Mapping[str, str]) -> None:
        """`source`: where the document comes from; `chosen`: a server by its address, number (from 1) or name."""
        self._document = document
        self._source = source if _ABSOLUTE.match(source) else ""
        self._chosen = chosen.strip()
        self._variables = variables
        self._known: dict[tuple[tuple[str, Path], ...], Address] = {}

    def of(self, servers: tuple[Server, ...]) -> Address:
        """The address to use for an operation with these servers."""
        if _ABSOLUTE.match(self._chosen):
            return Address(_trimmed(self._chosen))
        mark = tuple((server.url, server.path) for server in servers)
        known = self._known.get(mark)
        if known is None:
            known = self._known[mark] = self._worked_out(servers)
        return known

    def _worked_out(self, servers: tuple[Server, ...]) -> Address:
        server = self._server(servers)
        written = self._filled(server) if server is not None else "/"
        path = server.path if server is not None else ()
        url = urljoin(self._source, written) if self._source else written
        if not _ABSOLUTE.match(url):
            base = url if url.startswith("/") else "/" + url
            self._document.tell(
                SERVER,
                path,
                "the document does not say on which host the service is; its tools are drafts",
                hint="choose an address (`--server https://…`), or write `base_url`",
            )
            return Address(_trimmed(NOWHERE + base.partition("://")[0]), is_known=False)
        if len(servers) > 1 and not self._chosen:
            others = ", ".join(each.url[:80] for each in servers if each is not server)
            self._document.tell(
                SERVER, path, f"of several servers the first is taken; not: {others[:300]}", Severity.INFO
            )
        return Address(_trimmed(url))

    def _server(self, servers: tuple[Server, ...]) -> Server | None:
        if not servers:
            return None
        chosen = self._chosen
        if chosen:
            if chosen.isdecimal() and 1 <= int(chosen[:6]) <= len(servers):
                return servers[int(chosen) - 1]
            for server in servers:
                if chosen in (server.name, server.description, server.url):
                    return server
        return next((server for server in servers if _ABSOLUTE.match(server.url)), servers[0])

    def _filled(self, server: Server) -> str:
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
            self._document.tell(
                SERVER, server.path, f"the variable {name[:60]!r} of the server has no default", hint="give it a value"
            )
            return name

        return _VARIABLE.sub(value, server.url.strip())


def _trimmed(url: str) -> str:
    """Without a fragment and without slashes at the end of its path, and in characters that an address may have."""
    parts = urlsplit(url)
    path = quote(parts.path.rstrip("/"), safe="/%:@!$&'()*+,;=~")
    query = f"?{quote(parts.query, safe=_QUERY)}" if parts.query else ""
    return f"{parts.scheme.lower()}://{_host(parts.netloc)}{path}{query}"


def _host(netloc: str) -> str:
    if netloc.isascii():
        return netloc
    host, colon, port = netloc.rpartition(":") if netloc.rpartition(":")[2].isdecimal() else (netloc, "", "")
    try:
        return host.encode("idna").decode() + colon + port
    except UnicodeError:
        return netloc
