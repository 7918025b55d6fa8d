"""Who calls over the network: an authenticated identity, and the context its calls are made in."""

from __future__ import annotations

import msgspec

from ferrule.model.approval import ADMIN, APPROVE, CALL, Identity
from ferrule.model.surface import DEFAULT_TENANT

_SATISFIES = {CALL: frozenset({CALL, ADMIN}), APPROVE: frozenset({APPROVE}), ADMIN: frozenset({ADMIN})}
"""Which scopes are enough for what: who administers may call; approving is never implied (MCP-277)."""
_CODES = {400: "malformed_request", 401: "unauthenticated", 403: "forbidden", 421: "wrong_host",
          429: "too_many_requests", 503: "unavailable"}  # fmt: skip


class Caller(msgspec.Struct, frozen=True, cache_hash=True):
    """An authenticated caller. Everything here comes from its credential, nothing from what it claims."""

    identity: Identity
    tenant: str = DEFAULT_TENANT
    agent: str | None = None
    """The agent of the catalog that this credential calls as."""
    role: str | None = None
    surface_id: str | None = None
    is_operator: bool = False
    """True when it may look at other people's calls, of its own tenant or of all (`oversees`): the admin scope."""
    holder: str = ""
    """Whose credential it is, where calls are made for somebody else: `context.user_id` of OXP."""

    @property
    def key(self) -> tuple[str, str, str]:
        """Equal for equal callers: tenant, principal, credential."""
        return (self.tenant, self.identity.principal, self.identity.channel)

    @property
    def sees_all(self) -> bool:
        """True when it may look at everybody's calls in every tenant."""
        return self.is_operator and self.identity.tenant is None

    def oversees(self, tenant: str) -> bool:
        """True when it may look at everybody's calls in a tenant."""
        return self.is_operator and self.identity.tenant in (None, tenant)

    def sees(self, principal: str, tenant: str) -> bool:
        """True when it may look at calls of this principal in this tenant: its own, and what it oversees."""
        return (principal, tenant) == (self.identity.principal, self.tenant) or self.oversees(tenant)


class Refused(Exception):
    """A request that is not let in. Told to the client as an HTTP status with a reason that gives nothing away."""

    def __init__(
        self,
        status: int,
        reason: str,
        *,
        challenge: str = "",
        code: str = "",
        retry_after: float | None = None,
        scopes: tuple[str, ...] = (),
        detail: str = "",
        allow: str = "",
    ) -> None:
        super().__init__(reason)
        self.status = status
        self.reason = reason
        self.challenge = challenge
        """For `WWW-Authenticate`."""
        self.code = code or _CODES.get(status, "refused")
        self.retry_after = retry_after
        self.scopes = scopes
        """The scopes that would be enough, all of them; the gate makes the challenge of them (MCP-275)."""
        self.detail = detail
        """Why it is refused, for the log alone."""
        self.allow = allow
        """The methods that would be taken, for `Allow`."""


def holds(caller: Caller, scope: str) -> bool:
    """True when a caller's credential is enough for a scope."""
    return not _SATISFIES[scope].isdisjoint(caller.identity.scopes)


def demand(caller: Caller, *scopes: str) -> None:
    """Raises Refused (403, with every scope it takes) when a caller may not do something."""
    for scope in scopes:
        if not holds(caller, scope):
            reason = f"this takes a credential with the scope {' and '.join(scopes)}"
            raise Refused(403, reason, code="insufficient_scope", scopes=scopes)
