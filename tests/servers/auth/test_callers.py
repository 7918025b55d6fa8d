"""Who calls: what a scope is enough for, whose calls somebody may see, and what grants bind a caller to."""

from __future__ import annotations

import pytest

from ferrule.access.tokens import KeyLimits
from ferrule.model.approval import ADMIN, APPROVE, CALL
from ferrule.model.serving import GrantSettings
from ferrule.servers.auth.callers import LOCAL, Caller, Refused, apply_grants, has_scope, make_caller, require_scopes

NOBODY: frozenset[str] = frozenset()


def caller(*scopes: str, tenant: str | None = None, is_local: bool = True) -> Caller:
    return make_caller("ann", "token:1", frozenset(scopes), NOBODY, KeyLimits(tenant=tenant), is_local=is_local)


def bound(grants: list[GrantSettings], principal: str = "ann", said: KeyLimits | None = None) -> KeyLimits:
    return apply_grants(grants, principal, frozenset({"sales"}), said or KeyLimits(), [LOCAL])


def test_who_administers_may_call_and_approving_is_never_implied() -> None:
    assert has_scope(caller(ADMIN), CALL) and not has_scope(caller(ADMIN), APPROVE)
    assert not has_scope(caller(CALL), ADMIN)


def test_a_refusal_names_every_scope_that_it_takes() -> None:
    with pytest.raises(Refused) as refused:
        require_scopes(caller(CALL), CALL, APPROVE)
    assert (refused.value.status, refused.value.code, refused.value.scopes) == (
        403,
        "insufficient_scope",
        (CALL, APPROVE),
    )


def test_calls_are_seen_by_their_own_principal_and_by_who_oversees_the_tenant() -> None:
    assert caller(CALL, tenant="acme").sees("ann", "acme")
    assert not caller(CALL, tenant="acme").sees("ann", "other")
    assert caller(ADMIN, tenant="acme").sees("bob", "acme") and not caller(ADMIN, tenant="acme").sees("bob", "other")
    assert caller(ADMIN).sees("bob", "other") and caller(ADMIN).sees_all


def test_who_comes_from_elsewhere_always_belongs_to_a_tenant() -> None:
    assert caller(ADMIN, is_local=False).identity.tenant is not None
    assert not caller(ADMIN, is_local=False).sees_all


def test_the_first_grant_that_fits_fills_in_what_the_credential_leaves_open() -> None:
    grants = [GrantSettings(group="nobody", agent="x"), GrantSettings(group="sales", agent="seller", tenant="acme")]
    assert bound(grants) == KeyLimits(tenant="acme", agent="seller")
    assert bound(grants, said=KeyLimits(agent="own")).agent == "own", "what a credential says comes first"
    assert bound([]) == KeyLimits()


@pytest.mark.parametrize(("written", "fits"), [("a*", True), ("*n", True), ("a.n", False), ("bob", False)])
def test_a_grant_names_principals_by_a_pattern(written: str, fits: bool) -> None:
    assert (bound([GrantSettings(principal=written, agent="x")]).agent == "x") is fits


def test_a_grant_that_refuses_gives_its_reason_to_the_log_alone() -> None:
    with pytest.raises(Refused) as refused:
        bound([GrantSettings(principal="ann", refuse=True)])
    assert "ann" not in refused.value.reason and "ann" in refused.value.detail
