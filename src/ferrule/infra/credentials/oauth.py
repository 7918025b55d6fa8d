"""Authorizations of users: begins them, completes them when the browser comes back, lists and ends them.

Every flow is the authorization code flow of OAuth 2.1 with PKCE. This module gives tokens to nobody: `oauth_tokens.py`
hands them to the tools that name the provider, for the principal who authorized it.
"""

from __future__ import annotations

import asyncio
import hashlib
import logging
from base64 import urlsafe_b64encode
from collections.abc import Callable, Collection, Mapping
from pathlib import Path
from urllib.parse import urlencode

import msgspec

from ferrule.contracts.credentials import Vault
from ferrule.contracts.executor import ExecutionFailed
from ferrule.errors import AccessError
from ferrule.infra.credentials.oauth_exchange import InvalidGrant, TokenEndpoint
from ferrule.infra.credentials.oauth_loopback import Loopback, local_target
from ferrule.infra.credentials.oauth_metadata import Discovery, Endpoints, identify_client, secure_target
from ferrule.infra.credentials.oauth_pending import PendingAuthorization, PendingStates, UnknownState
from ferrule.infra.credentials.oauth_records import AuthorizationStatus, Challenge, OAuthProvider, UserConnection
from ferrule.infra.credentials.sealed import DamagedRecord, RecordBusy, SealedFolder
from ferrule.infra.credentials.tokens import TokenOwner, TokenStore
from ferrule.infra.network.client import Client
from ferrule.model.hints import nearest
from ferrule.model.surface import DEFAULT_TENANT

FOLDER = ".ferrule/tokens"
_REUSED_SECONDS = 120.0
"""A challenge with less time left is not reused."""
_log = logging.getLogger("ferrule.oauth")


class Disconnection(msgspec.Struct, frozen=True):
    """The outcome of ending an authorization. The tokens are deleted here in any case."""

    was_connected: bool
    is_revoked: bool
    """True when the provider ended the tokens, too."""
    problem: str = ""
    """Why the provider did not."""


class Authorizations:
    """The users' authorizations of one workspace."""

    def __init__(
        self,
        providers: Mapping[str, OAuthProvider],
        folder: Path,
        key: Callable[[], bytes],
        client: Client,
        vault: Vault,
        learn: Callable[[str, str], None],
        *,
        tick: Callable[[], float],
        now: Callable[[], float],
    ) -> None:
        """`learn` teaches the redactor a secret; `tick` gives seconds and never goes back, `now` seconds since 1970."""
        self.providers = providers
        self.store = TokenStore(SealedFolder(folder, key))
        self.now = now
        self._client = client
        self._states = PendingStates(SealedFolder(folder / "pending", key), now)
        self._discovery = Discovery(client, tick)
        self.endpoint = TokenEndpoint(client, vault, learn, now)
        self._given: dict[tuple[TokenOwner, frozenset[str], str], Challenge] = {}
        self._ports: dict[str, Loopback] = {}
        self._closing: set[asyncio.Task[None]] = set()

    async def begin(
        self,
        provider: str,
        principal: str,
        scopes: Collection[str] = (),
        *,
        tenant: str = DEFAULT_TENANT,
        redirect_uri: str | None = None,
    ) -> Challenge:
        """Begins an authorization; returns the challenge with the address to visit. Without `redirect_uri` the browser
        comes back to the one in the settings, or to a port of this machine that listens until the challenge expires.
        Raises ExecutionFailed."""
        found = self.provider(provider)
        owner = _owner(tenant, principal, provider)
        endpoints = await self.endpoints(provider)
        if redirect_uri and found.redirect_uri and redirect_uri != found.redirect_uri:
            raise ExecutionFailed("setup_required", f"[oauth.{provider}] names another redirect_uri than is asked for")
        back = redirect_uri or await self._choose_redirect_uri(provider, found)
        wanted = tuple(dict.fromkeys((*scopes, *found.scopes)))
        key = (owner, frozenset(wanted), back)
        given = self._given.get(key)
        if given is not None and self._is_usable(given):
            return given
        try:
            state, pending = self._states.begin(owner, back, wanted, identify_client(found))
        except AccessError as error:
            raise ExecutionFailed("setup_required", f"no authorization can be begun: {error}") from None
        url = _make_address(found, endpoints, pending, state)
        self._given = {old: one for old, one in self._given.items() if one.expires_at > self.now()}
        challenge = Challenge(id=provider, url=url, state=state, expires_at=pending.expires_at)
        self._given[key] = challenge
        return challenge

    async def complete(
        self,
        state: str,
        code: str = "",
        iss: str | None = None,
        *,
        error: str = "",
        principal: str | None = None,
        tenant: str = DEFAULT_TENANT,
        redirect_uri: str | None = None,
    ) -> UserConnection:
        """Completes an authorization with the parameters of the redirect. The state is used up in any case.

        `principal` and `tenant`: the user of the browser, where known; it must be the one who began, so that nobody can
        connect their account to another user by sending them a link. `redirect_uri`: the address the browser came to.
        Raises ExecutionFailed.
        """
        try:
            pending = await self._states.take(state)
        except AccessError as closed:
            raise ExecutionFailed("setup_required", f"no authorization can be finished: {closed}") from None
        except (UnknownState, RecordBusy):
            raise _authorization_failure(
                "this authorization is not known, was used already, or took too long; begin again"
            ) from None
        try:
            if principal is not None and (principal, tenant) != (pending.owner.principal, pending.owner.tenant):
                raise _authorization_failure("this authorization was begun by another user; begin your own")
            if redirect_uri is not None and redirect_uri != pending.redirect_uri:
                raise _authorization_failure("the browser came back to another address than was asked for; begin again")
            await self._finish(pending, code, iss, error)
        # Also when cancelled: a used state must not look pending.
        except BaseException as error:
            told = error.message if isinstance(error, ExecutionFailed) else "it was not finished"
            self._states.close(state, pending, "failed", told)
            raise
        self._states.close(state, pending, "completed")
        return next(one for one in self.list_connections(None) if one.provider == pending.owner.provider
                    and (one.tenant, one.principal) == pending.owner[:2])  # fmt: skip

    def status(self, state: str) -> AuthorizationStatus:
        """Returns the status of an authorization (OXP-41)."""
        return self._states.status(state)

    def problem(self, state: str) -> str:
        """Returns why an authorization failed, for its user; empty while it did not."""
        return self._states.problem(state)

    def list_connections(self, principal: str | None, *, tenant: str = DEFAULT_TENANT) -> list[UserConnection]:
        """Lists the standing authorizations of a principal, without tokens; None: of everybody."""
        return self.store.list_connections(principal, tenant)

    async def disconnect(self, provider: str, principal: str, *, tenant: str = DEFAULT_TENANT) -> Disconnection:
        """Ends an authorization: deletes the tokens here, and revokes them at the provider where it can. Raises
        ExecutionFailed."""
        owner = _owner(tenant, principal, provider)
        try:
            async with self.store.lock(owner):
                try:
                    grant = self.store.read(owner)
                except DamagedRecord as damaged:
                    self.store.forget(owner)
                    return Disconnection(True, False, f"what was kept could not be read: {damaged}")
                # Before the provider is asked: the tokens end here whatever it answers.
                self.store.forget(owner)
        except RecordBusy as busy:
            raise ExecutionFailed(
                "dependency_unavailable", f"{provider!r} cannot be disconnected now: {busy}"
            ) from None
        if grant is None:
            return Disconnection(False, False)
        try:
            found = self.provider(provider)
            if identify_client(found) != grant.client:
                return Disconnection(True, False, "the settings name another client than the tokens were given to")
            endpoints = await self.endpoints(provider)
            if endpoints.revocation is None:
                return Disconnection(True, False, "the provider offers no way to end tokens; they end by themselves")
            await self.endpoint.revoke(owner, found, endpoints, grant)
        except InvalidGrant:
            return Disconnection(True, True)
        except ExecutionFailed as failed:
            return Disconnection(True, False, failed.message)
        return Disconnection(True, True)

    def provider(self, name: str) -> OAuthProvider:
        """Returns the settings of a provider. Raises ExecutionFailed (`setup_required`)."""
        found = self.providers.get(name)
        if found is None:
            hint = nearest(name, self.providers)
            raise ExecutionFailed(
                "setup_required",
                f"ferrule.toml has no [oauth.{name}]; {hint or 'say there who gives the tokens, and the client_id'}",
                code="provider_unknown",
            )
        return found

    async def endpoints(self, name: str) -> Endpoints:
        """Returns the endpoints of a provider. Raises ExecutionFailed."""
        return await self._discovery.endpoints(name, self.provider(name))

    async def aclose(self) -> None:
        """Stops listening and fetching."""
        for task in self._closing:
            task.cancel()
        await asyncio.gather(*self._closing, return_exceptions=True)
        for port in self._ports.values():
            await port.aclose()
        await self._discovery.aclose()

    async def _finish(self, pending: PendingAuthorization, code: str, iss: str | None, error: str) -> None:
        name = pending.owner.provider
        found = self.provider(name)
        if identify_client(found) != pending.client:
            raise _authorization_failure(f"[oauth.{name}] was changed meanwhile; begin again")
        endpoints = await self.endpoints(name)
        if iss is None and endpoints.says_issuer:
            raise _authorization_failure(
                f"the answer does not say that it comes from {name!r}, which always says so; begin again"
            )
        # A mix-up attack has a client send one provider's code to another (RFC 9207).
        if iss is not None and endpoints.issuer and iss != endpoints.issuer:
            raise _authorization_failure(f"the answer comes from another provider than {name!r}; begin again")
        if error:
            shown = error if error.isascii() and error.isprintable() and len(error) <= 64 else "an error"
            raise _authorization_failure(f"{name!r} did not authorize it: {shown}")
        if not code:
            raise _authorization_failure("the browser brought no code; begin again")
        try:
            grant = await self.endpoint.exchange_code(found, endpoints, pending, code)
        except InvalidGrant:
            raise _authorization_failure(
                f"{name!r} does not accept the code that the browser brought; begin again"
            ) from None
        try:
            async with self.store.lock(pending.owner):
                self.store.write(pending.owner, grant)
        except (RecordBusy, AccessError) as problem:
            raise ExecutionFailed("dependency_unavailable", f"the tokens cannot be kept: {problem}") from None

    async def _choose_redirect_uri(self, name: str, provider: OAuthProvider) -> str:
        """Returns the address the browser comes back to; listens there when it is on this machine."""
        said = provider.redirect_uri
        if said and local_target(said) is None:
            secure_target(name, "redirect_uri", said, self._client.guard)
            return said
        port = self._ports.get(said)
        if port is None or not port.is_open:
            port = self._ports[said] = Loopback(said, self.handle_redirect)
            try:
                await port.open()
            except OSError:
                # Another process of this workspace listens there, and can finish it just as well.
                _log.info("the port of redirect_uri of [oauth.%s] is taken; this process does not listen there", name)
                return said
        self._close_later(said, port)
        return port.redirect_uri

    async def handle_redirect(self, redirect_uri: str, brought: dict[str, str]) -> str:
        """Handles a browser that comes back to a port of this machine; returns a sentence for the user."""
        try:
            connection = await self.complete(
                brought.get("state", ""), brought.get("code", ""), brought.get("iss"),
                error=brought.get("error", ""), redirect_uri=redirect_uri,
            )  # fmt: skip
        except ExecutionFailed as failed:
            return f"It did not work: {failed.message}"
        return f"{connection.principal} is connected to {connection.provider}. You can close this page."

    def _close_later(self, said: str, port: Loopback) -> None:
        """Closes a port when the last challenge has expired."""

        async def close() -> None:
            while any(
                one.expires_at > self.now() and self.status(one.state) == "pending" for one in self._given.values()
            ):
                await asyncio.sleep(1.0)
            self._ports.pop(said, None)
            await port.aclose()

        if not any(task.get_name() == port.redirect_uri for task in self._closing):
            task = asyncio.create_task(close(), name=port.redirect_uri)
            self._closing.add(task)
            task.add_done_callback(self._closing.discard)

    def _is_usable(self, challenge: Challenge) -> bool:
        has_time = challenge.expires_at - self.now() > _REUSED_SECONDS
        return has_time and self.status(challenge.state) == "pending" and not self._states.is_taken(challenge.state)


def _owner(tenant: str, principal: str, provider: str) -> TokenOwner:
    if not principal:
        raise ExecutionFailed("credential_missing", "no user is named to get a token for")
    return TokenOwner(tenant, principal, provider)


def _make_address(provider: OAuthProvider, endpoints: Endpoints, pending: PendingAuthorization, state: str) -> str:
    digest = hashlib.sha256(pending.verifier.encode()).digest()
    said = {
        **provider.parameters,
        "response_type": "code",
        "client_id": provider.client_id,
        "redirect_uri": pending.redirect_uri,
        "state": state,
        "code_challenge": urlsafe_b64encode(digest).rstrip(b"=").decode(),
        "code_challenge_method": "S256",
    }
    if pending.scopes:
        said["scope"] = " ".join(pending.scopes)
    if "offline_access" in pending.scopes:
        said.setdefault("prompt", "consent")  # without it OpenID Connect has the provider leave offline_access out
    if provider.resource:
        said["resource"] = provider.resource
    url = endpoints.authorization.url
    return f"{url}{'&' if '?' in url else '?'}{urlencode(said)}"


def _authorization_failure(message: str) -> ExecutionFailed:
    return ExecutionFailed("credential_missing", message, code="authorization_failed")
