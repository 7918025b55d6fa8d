"""Checks of Host, Origin and CORS: which names reach this server, and which web pages may call it.

An attacker's name that resolves to this machine (DNS rebinding) is not among ours, and a foreign page may not call;
both are refused before anything else. Programs send no Origin and are not affected (MCP-44, MCP-45, MCP-47).
"""

from __future__ import annotations

from ferrule.infra.network.urls import BadUrl, Target, parse_host, parse_url
from ferrule.model.serving import ServeSettings
from ferrule.servers.asgi import Header, HttpAnswer, HttpRequest
from ferrule.servers.auth.callers import Refused

LOOPBACK = ("localhost", "127.0.0.1", "::1")
EVERYWHERE = ("", "0.0.0.0", "::")
"""Listen addresses that mean every address of the machine."""
_REMEMBERED = 256
_NONE: tuple[Header, ...] = ()
_METHODS = b"GET, HEAD, POST, PUT, PATCH, DELETE, OPTIONS"
_EXPOSED = (
    b"Mcp-Session-Id, WWW-Authenticate, Retry-After, ETag, Link, Location, Preference-Applied, Idempotency-Replayed,"
    b" X-Request-Id"
)
_TAKEN = frozenset(
    [
        "accept",
        "accept-language",
        "authorization",
        "cache-control",
        "content-language",
        "content-type",
        "idempotency-key",
        "if-match",
        "if-none-match",
        "last-event-id",
        "prefer",
        "range",
        "traceparent",
        "tracestate",
        "baggage",
        "x-request-id",
    ]
)
_TAKEN_FAMILIES = ("mcp-", "ferrule-", "x-ferrule-")
_ALWAYS = (
    "Authorization, Content-Type, Accept, MCP-Protocol-Version, Mcp-Session-Id, Mcp-Method, Mcp-Name, Last-Event-ID"
)
_QUIET_SITES = (b"same-origin", b"same-site", b"none")


class Door:
    """The host names of this server and the origins that may call it."""

    def __init__(self, settings: ServeSettings) -> None:
        """Invalid entries of the settings allow nothing; `find_bind_problem` reports them."""
        public = _parse_url(settings.public_url)
        named = [*LOOPBACK, *settings.hosts, *([public.host] if public is not None else ())]
        if settings.host not in EVERYWHERE:
            named.append(settings.host)
        self._takes_any = "*" in settings.hosts
        self._takes_addresses = settings.host in EVERYWHERE
        self._names = frozenset(filter(None, map(_normalize_host, named)))
        self._families = tuple(name[1:].lower() for name in settings.hosts if name.startswith("*."))
        self._public = public
        self._origins = frozenset(filter(None, map(_normalize_origin, settings.origins)))
        self._known_hosts: set[bytes] = set()
        self._known_origins: dict[tuple[bytes, bytes], tuple[Header, ...]] = {}

    def admit(self, request: HttpRequest) -> tuple[Header, ...]:
        """Checks Host and Origin; returns the headers that a browser needs in the answer. Raises Refused."""
        seen = request.seen
        if seen is not None and "admitted" in seen:
            return _NONE
        host = origin = site = None
        for name, value in request.headers:
            if name == b"host":
                if host is not None:
                    raise Refused(400, "a request has one Host", code="malformed_request")
                host = value
            elif name == b"origin":
                if origin is not None:
                    raise Refused(403, "a request has one Origin", code="wrong_origin")
                origin = value
            elif name == b"sec-fetch-site":
                site = value
        if host is None:
            raise Refused(400, "a request says which Host it is for", code="malformed_request")
        if host not in self._known_hosts and not self._is_ours(host):
            detail = f"a request for the Host {host.decode('latin-1')[:100]!r}, which [serve] hosts does not name"
            raise Refused(421, "this server does not answer to that Host; name it in hosts of [serve]", detail=detail)
        if origin is not None:
            # Not remembered as admitted: with an Origin the answer needs headers of its own.
            return self._find_cors_headers(origin, host)
        if site is not None and site not in _QUIET_SITES and request.header(b"sec-fetch-mode") != "navigate":
            # Images and scripts that another page embeds are requested without an Origin; only this header shows them.
            raise Refused(403, "pages of other sites may not call this server", code="wrong_origin")
        if seen is not None:
            seen["admitted"] = True
        return _NONE

    def name_in(self, request: HttpRequest) -> str:
        """Returns the host name that a request is addressed to; empty when it is invalid."""
        target = _parse_url(f"http://{request.header(b'host') or ''}")
        return "" if target is None else target.host

    def _is_ours(self, host: bytes) -> bool:
        target = _parse_url(f"http://{host.decode('latin-1')}")
        if target is None or target.path != "/" or b"/" in host:
            return False
        is_ours = (
            self._takes_any
            or target.host in self._names
            or target.host.endswith(self._families or "\0")
            # DNS rebinding needs a name, so an address is safe; health probes of a machine that listens everywhere use one.
            or (self._takes_addresses and target.is_literal)
        )
        if is_ours and len(self._known_hosts) < _REMEMBERED:
            self._known_hosts.add(host)
        return is_ours

    def _find_cors_headers(self, origin: bytes, host: bytes) -> tuple[Header, ...]:
        known = self._known_origins.get((origin, host))
        if known is not None:
            return known
        written = origin.decode("latin-1")
        if self._is_own(written, host.decode("latin-1")):
            headers = _NONE
        elif _normalize_origin(written) in self._origins:
            headers = (
                (b"access-control-allow-origin", origin),
                (b"access-control-expose-headers", _EXPOSED),
                (b"vary", b"Origin"),
            )
        else:
            detail = f"a page of the origin {written[:100]!r}, which [serve] origins does not name"
            raise Refused(403, "pages of that origin may not call this server", code="wrong_origin", detail=detail)
        if len(self._known_origins) < _REMEMBERED:
            self._known_origins[(origin, host)] = headers
        return headers

    def _is_own(self, origin: str, host: str) -> bool:
        """Returns True for pages that this server serves itself."""
        page = _parse_url(origin)
        if page is None or origin.endswith("/"):
            return False
        if self._public is not None and page.host == self._public.host:
            return page[:3] == self._public[:3]
        here = _parse_url(f"{page.scheme}://{host}")
        return here is not None and page[:3] == here[:3]


def answer_preflight(request: HttpRequest) -> HttpAnswer | None:
    """Answers a CORS preflight request; returns None for any other request."""
    if request.header(b"access-control-request-method") is None:
        return None
    wanted = (request.header(b"access-control-request-headers") or "").split(",")
    taken = [name for name in map(str.strip, wanted) if _is_taken(name.lower())]
    headers = [
        (b"access-control-allow-methods", _METHODS),
        (b"access-control-allow-headers", (", ".join(taken) or _ALWAYS).encode("latin-1")),
        (b"access-control-max-age", b"600"),
    ]
    if request.header(b"access-control-request-private-network") == "true":
        headers.append((b"access-control-allow-private-network", b"true"))
    return HttpAnswer(204, b"", headers)


def _is_taken(name: str) -> bool:
    return name in _TAKEN or (name.startswith(_TAKEN_FAMILIES) and name.replace("-", "").isalnum() and name.isascii())


def find_origin_problem(origin: str) -> str | None:
    """Returns what is wrong with an entry of `origins`; None when it is valid."""
    if origin in ("*", "null"):
        return f"{origin!r} would let every page in; name the origins"
    if _normalize_origin(origin) is None:
        return f"{origin!r} is no origin; write it like https://app.example.com, without a path"
    return None


def find_host_problem(name: str) -> str | None:
    """Returns what is wrong with an entry of `hosts`; None when it is valid."""
    if name == "*" or _normalize_host(name.removeprefix("*.")) is not None:
        return None
    return f"{name!r} is no host name; write it without scheme, port and path"


def _normalize_host(text: str) -> str | None:
    bare = text[1:-1] if text.startswith("[") and text.endswith("]") else text
    try:
        return parse_url(f"http://[{bare}]").host if ":" in bare else parse_host(bare)
    except BadUrl:
        return None


def _parse_url(text: str) -> Target | None:
    try:
        return parse_url(text) if text else None
    except BadUrl:
        return None


def _normalize_origin(text: str) -> str | None:
    """Returns an origin in one spelling; those of apps and extensions (`vscode-webview://…`) as they are, None for
    others.
    """
    scheme, separator, rest = text.partition("://")
    if not separator or not rest or "/" in rest or scheme in ("", "null", "file"):
        return None
    if scheme.lower() not in ("http", "https"):
        return text.lower() if text.isprintable() and text.isascii() else None
    target = _parse_url(text)
    return None if target is None or target.path != "/" else f"{target.scheme}://{target.authority}"
