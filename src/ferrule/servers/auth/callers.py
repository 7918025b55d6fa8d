"""Callers over the network: an authenticated identity, the context its calls are made in, and refusals.

`[[serve.grants]]` binds an authenticated caller to a tenant, agent, role and surface. The gates of keys and tokens
stand above it and authenticate; this module does not know how.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence

import msgspec

from ferrule.access.tokens import KeyLimits
from ferrule.model.approval import ADMIN, APPROVE, CALL, Identity
from ferrule.model.serving import GrantSettings
from ferrule.model.surface import DEFAULT_TENANT

_SATISFIES = {CALL: frozenset({CALL, ADMIN}), APPROVE: frozenset({APPROVE}), ADMIN: frozenset({ADMIN})}
"""The scopes that satisfy each required scope: admin includes call; no other scope implies approve (MCP-277)."""
_CODES = {400: "malformed_request", 401: "unauthenticated", 403: "forbidden", 421: "wrong_host",
          429: "too_many_requests", 503: "unavailable"}  # fmt: skip


class Caller(msgspec.Struct, frozen=True, cache_hash=True):
    """An authenticated caller. Everything here comes from its credential, nothing from what the request claims."""

    identity: Identity
    tenant: str = DEFAULT_TENANT
    agent: str | None = None
    """The agent of the catalog that this credential calls as."""
    role: str | None = None
    surface_id: str | None = None
    is_operator: bool = False
    """True when it may see other principals' calls, of its own tenant or of all (`oversees`): the admin scope."""
    holder: str = ""
    """The holder of the credential, where calls are made on behalf of another user: `context.user_id` of OXP."""

    @property
    def key(self) -> tuple[str, str, str]:
        """Tenant, principal and credential: equal for equal callers."""
        return (self.tenant, self.identity.principal, self.identity.channel)

    @property
    def sees_all(self) -> bool:
        """True when it may see all calls of every tenant."""
        return self.is_operator and self.identity.tenant is None

    def oversees(self, tenant: str) -> bool:
        """Returns True when it may see all calls of a tenant."""
        return self.is_operator and self.identity.tenant in (None, tenant)

    def sees(self, principal: str, tenant: str) -> bool:
        """Returns True when it may see calls of this principal in this tenant: its own, and those it oversees."""
        return (principal, tenant) == (self.identity.principal, self.tenant) or self.oversees(tenant)


class Refused(Exception):
    """A request that is refused: an HTTP status, and a reason that reveals nothing."""

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
        """The value of `WWW-Authenticate`."""
        self.code = code or _CODES.get(status, "refused")
        self.retry_after = retry_after
        self.scopes = scopes
        """The scopes that would be enough, all of them; the gate turns them into the challenge (MCP-275)."""
        self.detail = detail
        """The reason for the log alone."""
        self.allow = allow
        """The methods that the path takes, for `Allow`."""


def has_scope(caller: Caller, scope: str) -> bool:
    """Returns True when a caller's credential satisfies a scope."""
    return not _SATISFIES[scope].isdisjoint(caller.identity.scopes)


def require_scopes(caller: Caller, *scopes: str) -> None:
    """Raises Refused (403, with every scope it takes) when a caller lacks one of the scopes."""
    for scope in scopes:
        if not has_scope(caller, scope):
            reason = f"this takes a credential with the scope {' and '.join(scopes)}"
            raise Refused(403, reason, code="insufficient_scope", scopes=scopes)


LOCAL = "local"
"""Origin of `ferrule key` keys in grants. Tokens of the shared secret name the same people, so it is theirs, too."""
SIGNED = "oxp"
"""Origin of `[serve.oxp] jwt_secret_env` tokens in grants."""


def apply_grants(
    grants: Iterable[GrantSettings], principal: str, groups: frozenset[str], said: KeyLimits, origins: Sequence[str]
) -> KeyLimits:
    """Returns the caller's limits: those of its credential, and for the rest those of the first matching grant. Raises
    Refused.

    `origins`: the names of the place the credential is from.
    """
    for grant in grants:
        if not _is_for(grant, principal, groups, said.tenant, origins):
            continue
        if grant.refuse:
            detail = f"{principal}, whom a grant of [[serve.grants]] refuses"
            raise Refused(403, "this credential may not be used here", detail=detail)
        # Grants only fill in: a line in the settings must not widen a key that is bound already.
        return KeyLimits(
            tenant=said.tenant or grant.tenant or None,
            agent=said.agent or grant.agent or None,
            role=said.role or grant.role or None,
            surface=said.surface or grant.surface or None,
        )
    return said


def make_caller(
    principal: str, channel: str, scopes: frozenset[str], groups: frozenset[str], bound: KeyLimits, *, is_local: bool
) -> Caller:
    """Returns the caller. A foreign one always belongs to a tenant; a local key without one is for the whole workspace."""
    tenant = bound.tenant or DEFAULT_TENANT
    identity = Identity(principal, channel, scopes, groups, tenant=bound.tenant if is_local else tenant)
    return Caller(identity, tenant, bound.agent, bound.role, bound.surface, is_operator=ADMIN in scopes)


def _is_for(
    grant: GrantSettings, principal: str, groups: frozenset[str], tenant: str | None, origins: Sequence[str]
) -> bool:
    return (
        (not grant.principal or _is_like(principal, grant.principal))
        and (not grant.group or grant.group in groups)
        and (not grant.of_tenant or grant.of_tenant == tenant)
        and (not grant.issuer or grant.issuer in origins)
    )


def _is_like(principal: str, written: str) -> bool:
    return re.fullmatch(".*".join(map(re.escape, written.split("*"))), principal, re.DOTALL) is not None
