"""Who calls over the network: an authenticated identity, the context its calls are made in, and refusals.

`[[serve.grants]]` binds an authenticated caller to a tenant, agent, role and surface. The gates of keys and tokens
stand above it and find out who somebody is; this module does not know how.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence

import msgspec

from ferrule.access.tokens import Limits
from ferrule.model.approval import ADMIN, APPROVE, CALL, Identity
from ferrule.model.serving import GrantSettings
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


LOCAL = "local"
"""Where keys of `ferrule key` come from, in grants. Tokens of the shared secret name the same people, so they do, too."""
SIGNED = "oxp"
"""Where tokens of `[serve.oxp] jwt_secret_env` come from, in grants."""


def granted(
    grants: Iterable[GrantSettings], principal: str, groups: frozenset[str], said: Limits, origins: Sequence[str]
) -> Limits:
    """What a caller is bound to: what its credential says, and for the rest the first grant that fits. Raises Refused.

    `origins`: the names of where it comes from.
    """
    for grant in grants:
        if not _fits(grant, principal, groups, said.tenant, origins):
            continue
        if grant.refuse:
            detail = f"{principal}, whom a grant of [[serve.grants]] refuses"
            raise Refused(403, "this credential may not be used here", detail=detail)
        return Limits(
            tenant=said.tenant or grant.tenant or None,
            agent=said.agent or grant.agent or None,
            role=said.role or grant.role or None,
            surface=said.surface or grant.surface or None,
        )
    return said


def caller_of(
    principal: str, channel: str, scopes: frozenset[str], groups: frozenset[str], bound: Limits, *, is_local: bool
) -> Caller:
    """The caller. One from elsewhere always belongs to a tenant; a key without one is for the whole workspace."""
    tenant = bound.tenant or DEFAULT_TENANT
    identity = Identity(principal, channel, scopes, groups, tenant=bound.tenant if is_local else tenant)
    return Caller(identity, tenant, bound.agent, bound.role, bound.surface, is_operator=ADMIN in scopes)


def _fits(
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
