"""Authorization in a user's name (OAuth 2.1): who gives tokens, the challenge a user is sent away with, what came of it."""

from __future__ import annotations

from typing import Any, Literal

import msgspec

from ferrule.model.credentials import SecretRef
from ferrule.model.surface import DEFAULT_TENANT

ClientAuth = Literal["auto", "client_secret_basic", "client_secret_post", "none"]
AuthorizationStatus = Literal["pending", "completed", "failed"]


class OAuthProvider(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """Somebody who gives tokens in a user's name: `[oauth.ID]`, where ID stands in `requirements.authorization` of OXP tools."""

    client_id: str
    client_secret: SecretRef | None = None
    """None for a public client."""
    issuer: str = ""
    """Where the addresses are found out (RFC 8414, OpenID Connect discovery); or say them."""
    authorization_url: str = ""
    token_url: str = ""
    revocation_url: str = ""
    """Where tokens are given back when a user disconnects; nothing is given back without one."""
    token_auth: ClientAuth = "auto"
    """How the client shows who it is when it asks for tokens; `auto`: as the provider says it wants it."""
    redirect_uri: str = ""
    """Where the user's browser is sent back to. Not said: a free port of this machine, for as long as the user may take."""
    scopes: tuple[str, ...] = ()
    """Asked for besides those that tools name."""
    resource: str = ""
    """The audience the token is for (RFC 8707)."""
    parameters: dict[str, str] = {}
    """What else the provider wants in the address users visit, for example `access_type = "offline"`."""


class Challenge(msgspec.Struct, frozen=True, kw_only=True):
    """What a user has to do before a tool can act in their name: visit an address."""

    id: str
    """The provider."""
    url: str
    state: str
    """Names this authorization to `complete` and `status`. It works once."""
    expires_at: float
    """Seconds since 1970."""

    def to_record(self) -> dict[str, Any]:
        """What the caller is told, as OXP has it (OXP-41)."""
        return {"id": self.id, "url": self.url}


class Connection(msgspec.Struct, frozen=True, kw_only=True):
    """A user's standing authorization, without its tokens."""

    provider: str
    principal: str
    tenant: str = DEFAULT_TENANT
    scopes: tuple[str, ...] = ()
    connected_at: float
    expires_at: float | None = None
    """When the access token ends; None when the provider did not say."""
    is_renewable: bool = False
    """True when it is renewed without the user."""
    problem: str = ""
    """What is wrong with it; then it does not work."""
