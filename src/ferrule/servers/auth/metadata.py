"""Metadata about authorization for clients: the challenge of a refusal, and the protected-resource document (RFC 9728).

Both are built from the settings and the bound address, never from what a request claims (MCP-272).
"""

from __future__ import annotations

from collections.abc import Iterable

import msgspec

from ferrule.infra.network.urls import BadUrl, parse_url
from ferrule.model.approval import CALL, SCOPES
from ferrule.model.serving import JwtSettings, ServeSettings
from ferrule.servers.asgi import JSON, HttpAnswer, HttpRequest
from ferrule.servers.auth.callers import Refused
from ferrule.servers.auth.hosts import Door

WELL_KNOWN = "/.well-known/oauth-protected-resource"
_CACHED = (b"cache-control", b"public, max-age=300")


class ProtectedResource(msgspec.Struct, frozen=True):
    """The address of this server, as clients and authorization servers know it."""

    base: str
    """Without a trailing slash: `https://tools.example.com`."""
    path: str
    """The path of MCP below it."""

    @property
    def url(self) -> str:
        """The resource that clients request tokens for: the address of the MCP endpoint (MCP-272)."""
        return self.base + self.path

    @property
    def metadata_url(self) -> str:
        """The address of the metadata, in the form with the path (MCP-271)."""
        target = parse_url(self.url)
        return f"{target.scheme}://{target.authority}{WELL_KNOWN}{target.path.rstrip('/')}"

    @property
    def audiences(self) -> tuple[str, ...]:
        """The audiences that a token for this server may have."""
        return tuple(dict.fromkeys((self.url, self.base, self.url.rstrip("/") + "/", self.base + "/")))


class Metadata:
    """The metadata document and the challenges of one server."""

    def __init__(self, settings: ServeSettings, door: Door) -> None:
        self._issuers = settings.issuers
        self._path = settings.mcp.path
        self._door = door
        self._fixed = _read_public_address(settings)

    def resource(self, request: HttpRequest) -> ProtectedResource:
        """Returns this server's address. Without `public_url` it is the local name of the request and the real port."""
        if self._fixed is not None:
            return self._fixed
        name, bound = self._door.name_in(request), request.scope.get("server")
        host = f"[{name}]" if ":" in name else name
        port = bound[1] if bound else 80
        return ProtectedResource(f"http://{host}:{port}", self._path)

    def answer(self, request: HttpRequest) -> HttpAnswer:
        """Answers `GET /.well-known/oauth-protected-resource…` with the issuers whose tokens are valid here; needs no
        credential.
        """
        if not self._issuers:
            raise Refused(404, "there is no authorization server; keys of 'ferrule key' count", code="not_found")
        if request.method not in ("GET", "HEAD"):
            raise Refused(405, "this path takes GET", code="method_not_allowed", allow="GET, HEAD")
        resource = self.resource(request)
        own = parse_url(resource.metadata_url).path
        if request.path.rstrip("/") not in (WELL_KNOWN, WELL_KNOWN + self._path.rstrip("/"), own):
            raise Refused(404, "there is nothing at this path", code="not_found")
        body = {
            "resource": resource.url,
            "authorization_servers": [issuer.issuer for issuer in self._issuers],
            "scopes_supported": list(self.rename_scopes((CALL,))),
            "bearer_methods_supported": ["header"],
            "resource_name": "Ferrule",
        }
        data = b"" if request.method == "HEAD" else msgspec.json.encode(body)
        return HttpAnswer(200, data, [JSON, _CACHED])

    def challenge(self, request: HttpRequest, error: str = "", scopes: Iterable[str] = (CALL,), why: str = "") -> str:
        """Returns the value of `WWW-Authenticate` (MCP-270, MCP-275)."""
        fields = {"error": error, "error_description": why}
        if self._issuers:
            fields["resource_metadata"] = self.resource(request).metadata_url
            fields["scope"] = " ".join(self.rename_scopes(scopes))
        elif error == "insufficient_scope":
            fields["scope"] = " ".join(scopes)
        parts = ", ".join(f'{name}="{value}"' for name, value in fields.items() if value)
        return f"Bearer {parts}" if parts else 'Bearer realm="ferrule"'

    def rename_scopes(self, scopes: Iterable[str]) -> tuple[str, ...]:
        """Returns our scopes under the names of the first issuer that renames them."""
        return tuple(dict.fromkeys(self._rename_scope(scope) for scope in scopes))

    def _rename_scope(self, scope: str) -> str:
        return next((name for issuer in self._issuers for name in list_names(issuer, scope)), scope)


def list_names(issuer: JwtSettings, scope: str) -> list[str]:
    """Returns an issuer's names for one of our scopes, where it has its own."""
    return [theirs for theirs, ours in issuer.scopes.items() if ours == scope and scope in SCOPES]


def _read_public_address(settings: ServeSettings) -> ProtectedResource | None:
    try:
        target = parse_url(settings.public_url) if settings.public_url else None
    except BadUrl:
        return None
    if target is None:
        return None
    path = target.path.partition("?")[0].rstrip("/")
    return ProtectedResource(f"{target.scheme}://{target.authority}{path}", settings.mcp.path)
