"""Records of users' authorizations (OAuth 2.1): the provider, the challenge for a user, and the connection it becomes."""

from __future__ import annotations

from typing import Literal

import msgspec

from ferrule.model.credentials import SecretRef
from ferrule.model.surface import DEFAULT_TENANT
from ferrule.model.value import JsonObject

ClientAuth = Literal["auto", "client_secret_basic", "client_secret_post", "none"]
AuthorizationStatus = Literal["pending", "completed", "failed"]


class OAuthProvider(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """A provider of tokens for users: `[oauth.ID]`, where ID stands in `requirements.authorization` of OXP tools."""

    client_id: str
    client_secret: SecretRef | None = None
    """None for a public client."""
    issuer: str = ""
    """Where to find the addresses (RFC 8414, OpenID Connect discovery), unless they are given."""
    authorization_url: str = ""
    token_url: str = ""
    revocation_url: str = ""
    """Where tokens are revoked when a user disconnects; without one they are only deleted here."""
    token_auth: ClientAuth = "auto"
    """How the client authenticates when it asks for tokens; `auto`: as the provider's metadata says."""
    redirect_uri: str = ""
    """Where the user's browser is sent back to. Without it: a free port of this machine, until the challenge expires."""
    scopes: tuple[str, ...] = ()
    """Requested besides those that tools name."""
    resource: str = ""
    """The audience the token is for (RFC 8707)."""
    parameters: dict[str, str] = {}
    """Further parameters of the address users visit, for example `access_type = "offline"`."""


class Challenge(msgspec.Struct, frozen=True, kw_only=True):
    """The address a user has to visit before a tool can act in their name."""

    id: str
    """The provider."""
    url: str
    state: str
    """Names this authorization to `complete` and `status`. It works once."""
    expires_at: float
    """Seconds since 1970."""

    def to_record(self) -> JsonObject:
        """Returns the challenge for the caller, as OXP has it (OXP-41)."""
        return {"id": self.id, "url": self.url}


class UserConnection(msgspec.Struct, frozen=True, kw_only=True):
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
    """Why it does not work; empty while it does."""
