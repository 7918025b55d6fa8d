"""What authenticated callers become in this workspace: tenant, agent, role and surface, by `[[serve.grants]]`."""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence

from ferrule.access.tokens import Limits
from ferrule.model.approval import ADMIN, Identity
from ferrule.model.serving import GrantSettings
from ferrule.model.surface import DEFAULT_TENANT
from ferrule.servers.auth.callers import Caller, Refused

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
