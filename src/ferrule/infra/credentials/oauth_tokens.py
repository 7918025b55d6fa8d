"""Hands a user's token to the tool that names the provider, renewed shortly before it expires; else a challenge.

Concurrent calls, in all processes, share one renewal: refresh tokens often work only once. A renewal goes on when the
call that began it is cancelled, for the new token would be lost with it.
"""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Callable, Collection, Mapping

import msgspec

from ferrule.contracts.executor import ExecutionFailed, Output
from ferrule.errors import AccessError
from ferrule.infra.credentials.oauth import Authorizations
from ferrule.infra.credentials.oauth_exchange import InvalidGrant
from ferrule.infra.credentials.oauth_metadata import identify_client
from ferrule.infra.credentials.oauth_records import Challenge
from ferrule.infra.credentials.sealed import DamagedRecord, RecordBusy
from ferrule.infra.credentials.tokens import Grant, TokenOwner
from ferrule.infra.tasks import hear_failure
from ferrule.model.surface import DEFAULT_TENANT

AUTHORIZATION_REQUIRED = "authorization_required"
_log = logging.getLogger("ferrule.oauth")


class AuthorizationRequired(ExecutionFailed):
    """A user has to authorize first. The challenges reach the caller as data, too (OXP-41)."""

    def __init__(self, message: str, challenges: tuple[Challenge, ...]) -> None:
        told = {"authorization": [challenge.to_record() for challenge in challenges]}
        super().__init__(
            "credential_missing",
            message,
            code=AUTHORIZATION_REQUIRED,
            output=Output(value=told, content=({"type": "text", "text": message},)),
            is_retryable=False,
        )
        self.challenges = challenges


class OAuthUserTokens:
    """The tokens of users, for tools."""

    def __init__(self, authorizations: Authorizations, learn: Callable[[str, str], None]) -> None:
        self._authorizations = authorizations
        self._store = authorizations.store
        self._learn = learn
        self._renewing: dict[TokenOwner, asyncio.Task[Grant | None]] = {}

    async def token(
        self, provider_id: str, principal: str, scopes: Collection[str] = (), *, tenant: str = DEFAULT_TENANT
    ) -> str:
        """Returns the principal's access token for a provider. Raises ExecutionFailed: with code
        `authorization_required` and the address to visit when the user has to authorize first."""
        owner = TokenOwner(tenant, principal, provider_id)
        grant, why = await self._find_usable_grant(owner, scopes)
        if grant is None:
            had = self._list_granted_scopes(owner)
            challenge = await self._authorizations.begin(provider_id, principal, (*had, *scopes), tenant=tenant)
            raise AuthorizationRequired(_describe_challenge(provider_id, principal, why, challenge.url), (challenge,))
        return grant.access_token

    async def tokens(
        self, wanted: Mapping[str, Collection[str]], principal: str, *, tenant: str = DEFAULT_TENANT
    ) -> dict[str, str]:
        """Returns a token for each provider, by its id. Reports everything that is missing at once."""
        found: dict[str, str] = {}
        missing: list[AuthorizationRequired] = []
        for provider_id, scopes in wanted.items():
            try:
                found[provider_id] = await self.token(provider_id, principal, scopes, tenant=tenant)
            except AuthorizationRequired as required:
                missing.append(required)
        if len(missing) == 1:
            raise missing[0]
        if missing:
            message = "; ".join(required.message for required in missing)
            raise AuthorizationRequired(message, tuple(one for required in missing for one in required.challenges))
        return found

    def problem(
        self, provider_id: str, principal: str, scopes: Collection[str] = (), *, tenant: str = DEFAULT_TENANT
    ) -> str:
        """Returns why a tool would get a challenge; empty when it would get a token, perhaps after a renewal. Makes no
        request."""
        grant, why = self._find_grant(TokenOwner(tenant, principal, provider_id), scopes)
        if grant is not None and not grant.refresh_token and not grant.is_fresh(self._authorizations.now()):
            return "the token is over and cannot be renewed"
        return why

    async def drop_refused(self, provider_id: str, principal: str, token: str, *, tenant: str = DEFAULT_TENANT) -> None:
        """Expires a token that was refused: the next call renews it."""
        owner = TokenOwner(tenant, principal, provider_id)
        try:
            async with self._store.lock(owner):
                grant = self._store.read(owner)
                # Another call may have renewed it already.
                if grant is not None and grant.access_token == token:
                    self._store.write(owner, msgspec.structs.replace(grant, refresh_at=0.0, expires_at=0.0))
        except (DamagedRecord, RecordBusy, AccessError) as problem:
            _log.warning("the refused token of %s for %s stays: %s", principal, provider_id, problem)

    async def aclose(self) -> None:
        """Waits until renewals under way are stored."""
        await asyncio.gather(*self._renewing.values(), return_exceptions=True)

    async def _find_usable_grant(self, owner: TokenOwner, scopes: Collection[str]) -> tuple[Grant | None, str]:
        """Returns a grant that can be used now, or why there is none."""
        grant, why = self._find_grant(owner, scopes)
        if grant is None:
            return None, why
        if not grant.is_fresh(self._authorizations.now()):
            grant = await self._renew_once(owner)
            if grant is None:
                return None, "the authorization has ended"
            if why := _why_insufficient(grant, scopes, ()):
                return None, why
        self._learn(f"oauth {owner.provider}", grant.access_token)
        return grant, ""

    def _find_grant(self, owner: TokenOwner, scopes: Collection[str]) -> tuple[Grant | None, str]:
        provider = self._authorizations.provider(owner.provider)
        try:
            grant = self._store.read(owner)
        except DamagedRecord as damaged:
            _log.warning("the tokens of %s for %s cannot be used: %s", owner.principal, owner.provider, damaged)
            return None, f"what was kept cannot be used ({damaged})"
        except AccessError as error:
            raise ExecutionFailed("setup_required", f"tokens of users are unavailable: {error}") from None
        if grant is None:
            return None, "nothing was authorized yet"
        if grant.client != identify_client(provider):
            return None, "the settings name another client than before"
        why = _why_insufficient(grant, scopes, provider.scopes)
        return (None, why) if why else (grant, "")

    def _list_granted_scopes(self, owner: TokenOwner) -> tuple[str, ...]:
        """Returns the scopes granted before, which a new authorization should keep."""
        try:
            grant = self._store.read(owner)
        except DamagedRecord:
            return ()
        return grant.scopes if grant is not None else ()

    async def _renew_once(self, owner: TokenOwner) -> Grant | None:
        task = self._renewing.get(owner)
        if task is None:
            task = self._renewing[owner] = asyncio.create_task(
                self._renew(owner), name=f"ferrule renews {owner.provider}"
            )
            task.add_done_callback(lambda done: self._end_renewal(owner, done))
        # Shielded: the old refresh token may be used up, so a cancelled call must not lose the new one.
        return await asyncio.shield(task)

    def _end_renewal(self, owner: TokenOwner, task: asyncio.Task[Grant | None]) -> None:
        del self._renewing[owner]
        hear_failure(task)  # whoever waited got it

    async def _renew(self, owner: TokenOwner) -> Grant | None:
        """Renews a grant, alone among all processes; None when the user has to authorize again. Raises ExecutionFailed."""
        try:
            async with self._store.lock(owner):
                grant = self._store.read(owner)
                now = self._authorizations.now()
                if grant is None or grant.is_fresh(now):  # somebody else was quicker
                    return grant
                if not grant.refresh_token:
                    self._store.forget(owner)
                    return None
                return await self._request_renewal(owner, grant, now)
        except RecordBusy as busy:
            raise ExecutionFailed("dependency_unavailable", f"the token for {owner.provider!r}: {busy}") from None
        except (DamagedRecord, AccessError) as problem:
            raise ExecutionFailed(
                "setup_required", f"the token for {owner.provider!r} cannot be kept: {problem}"
            ) from None

    async def _request_renewal(self, owner: TokenOwner, grant: Grant, now: float) -> Grant | None:
        provider = self._authorizations.provider(owner.provider)
        try:
            endpoints = await self._authorizations.endpoints(owner.provider)
            fresh = await self._authorizations.endpoint.renew(owner, provider, endpoints, grant)
        except InvalidGrant:
            self._store.forget(owner)
            return None
        except ExecutionFailed:
            if grant.expires_at is not None and now < grant.expires_at:
                return grant  # the provider cannot be asked now, and what there is still works
            raise
        self._store.write(owner, fresh)  # replaces the old one at that moment; before, nothing is forgotten
        return fresh


def _why_insufficient(grant: Grant, named: Collection[str], besides: Collection[str]) -> str:
    """Returns which scopes a grant lacks. Scopes of the settings count as granted once requested: providers do not
    repeat them all."""
    lacks = [scope for scope in named if scope not in grant.scopes]
    lacks += [scope for scope in besides if scope not in grant.scopes and scope not in grant.asked]
    return f"the scope {', '.join(dict.fromkeys(lacks))} was not granted" if lacks else ""


def _describe_challenge(provider: str, principal: str, why: str, url: str) -> str:
    return f"{principal} has to authorize {provider!r} first ({why}): visit {url} and call again"
