"""The gate checks Host and Origin, then the credential: a key of the workspace, or a token of an issuer in `[serve.jwt]`.

Credentials come in `Authorization: Bearer`, nowhere else (MCP-269). The gate remembers a caller by the digest of its
credential, so a known caller costs a few microseconds; a change of keys, here or at an issuer, makes it forget all of
them. A stream ends with the credential it was opened by: at once when its key is revoked, soon after when it expires. A
request is checked when it comes; an open one is checked every second, and may end within the time that a request may
take.
"""

from __future__ import annotations

import asyncio
import time
from collections.abc import Awaitable, Callable, Sequence
from hashlib import blake2s
from typing import NamedTuple
from weakref import WeakKeyDictionary

import msgspec

from ferrule.access.keys import Access
from ferrule.access.tokens import InvalidToken, is_token
from ferrule.errors import AccessError
from ferrule.model.approval import CALL, Identity
from ferrule.model.serving import OxpSettings, ServeSettings
from ferrule.model.surface import DEFAULT_TENANT
from ferrule.servers.asgi import Header, HttpRequest
from ferrule.servers.auth.callers import Caller, Refused
from ferrule.servers.auth.hosts import Door
from ferrule.servers.auth.jwks import KEPT_SECONDS, ClientFactory, make_client
from ferrule.servers.auth.jwt_gate import Issuers, TokenRejected, VerifiedToken
from ferrule.servers.auth.keys_gate import KeyRing
from ferrule.servers.auth.metadata import Metadata

EVERY_SECONDS = 1.0


class _Opened(NamedTuple):
    """By whom a stream was opened."""

    caller: Caller
    ends: float
    secret: str
    """Of a key; empty for a token that cannot be revoked."""


class Watch:
    """The requests of one process that stay open."""

    def __init__(self, keys: KeyRing, clock: Callable[[], float], grace_seconds: float) -> None:
        self._keys = keys
        self._clock = clock
        self._grace_seconds = grace_seconds
        self._state = keys.state
        self._seen: tuple[int, ...] | None = None
        self._opened: WeakKeyDictionary[HttpRequest, _Opened] = WeakKeyDictionary()
        self._timer: asyncio.TimerHandle | None = None

    def add(self, request: HttpRequest, caller: Caller, ends: float, secret: str) -> None:
        """Watches a request that stays open."""
        self._opened[request] = _Opened(caller, ends, secret)
        if self._timer is None:
            self._seen = None
            self._timer = asyncio.get_running_loop().call_later(EVERY_SECONDS, self._look)

    def close(self) -> None:
        """Stops watching."""
        if self._timer is not None:
            self._timer.cancel()
            self._timer = None

    def _look(self) -> None:
        self._timer = None
        try:
            state = self._state()
        except AccessError:  # nobody new is let in then; what is open may be mended meanwhile
            state = self._seen
        is_changed, self._seen, now = state != self._seen, state, self._clock()
        for request, opened in list(self._opened.items()):
            # An expired key does not stand either, but its requests keep the grace time; a revoked one ends its own now.
            is_over = now >= opened.ends + self._grace_seconds
            if is_over or (is_changed and opened.secret and now < opened.ends and not self._stands(opened)):
                del self._opened[request]
                request.drop()
        if self._opened:
            self._timer = asyncio.get_running_loop().call_later(EVERY_SECONDS, self._look)

    def _stands(self, opened: _Opened) -> bool:
        try:
            return self._keys.authenticate(opened.secret).caller == opened.caller
        except (AccessError, Refused):
            return False


_REMEMBERED = 4096
_NEVER = float("inf")
_LOOK_SECONDS = 0.025
"""How often the keys are looked at for changes: a look costs as much as everything else here together."""


class _Known(msgspec.Struct, gc=False):
    """A recognized credential, by whose digest its caller is remembered."""

    caller: Caller
    ends: float
    again_at: float
    """When the credential is looked at again: at its end, and a token earlier, since its issuer may have changed its keys."""
    note_at: float
    """When a use of their key is worth noting again."""
    token_id: str = ""


class GuardedGate:
    """Lets in who has a credential."""

    def __init__(
        self,
        settings: ServeSettings,
        access: Access,
        clients: ClientFactory = make_client,
        clock: Callable[[], float] = time.time,
    ) -> None:
        """`clients` makes the HTTP client that reaches issuers. Raises SettingsError."""
        self._door = Door(settings)
        self.admit = self._door.admit
        self.metadata = Metadata(settings, self._door)
        self._clock = clock
        self._keys = KeyRing(access, settings.grants, clock)
        self._state: tuple[int, ...] | None = None
        self._looked_at = float("-inf")
        self._known: dict[bytes, _Known] = {}
        self._watch = Watch(self._keys, clock, settings.limits.request_seconds)
        self._watch_it = self._watch_request  # bound once, not for each request
        self._issuers = (
            Issuers(settings.issuers, settings.grants, self._known.clear, clients) if settings.issuers else None
        )

        self._takes_others = bool(settings.issuers) or _opens_without_keys(settings.oxp)

    def caller(self, request: HttpRequest) -> Caller | Awaitable[Caller]:
        """Returns who calls, by the request's credential alone; something to await when an issuer has to be asked.

        Raises Refused."""
        seen = request.seen
        # A remembered head brings its credential along, digest and all.
        credential, digest = (seen.get("credential") if seen else None) or self._read_credential(request)
        now = self._clock()
        if abs(now - self._looked_at) > _LOOK_SECONDS:  # also when the clock was set back
            self._look(now)
        known = self._known.get(digest)
        if known is not None and now < known.again_at:
            return self._let_in(known, request, now)
        recognized = self._recognize(credential, request)
        if isinstance(recognized, _Known):
            return self._remember(digest, recognized, request, now)
        return self._remember_later(digest, recognized, request, now)

    async def _remember_later(
        self, digest: bytes, recognized: Awaitable[_Known], request: HttpRequest, now: float
    ) -> Caller:
        return self._remember(digest, await recognized, request, now)

    def _remember(self, digest: bytes, known: _Known, request: HttpRequest, now: float) -> Caller:
        self._known[digest] = known
        if len(self._known) > _REMEMBERED:
            del self._known[next(iter(self._known))]
        return self._let_in(known, request, now)

    def _let_in(self, known: _Known, request: HttpRequest, now: float) -> Caller:
        if now >= known.note_at:
            known.note_at = self._keys.note_use(known.token_id)
        request.watcher = self._watch_it
        return known.caller

    def _read_credential(self, request: HttpRequest) -> tuple[bytes, bytes]:
        """Returns the credential of a request and its digest. Raises Refused."""
        credential = None
        for name, value in request.headers:
            if name == b"authorization":
                if credential is not None:
                    raise self._refuse_header(request)
                credential = value
        if credential is None:
            raise self._demand_credential(request)
        pair = credential, blake2s(credential).digest()
        if request.seen is not None:
            request.seen["credential"] = pair
        return pair

    def _watch_request(self, request: HttpRequest) -> None:
        """Watches a request that stays open, so that it ends with its credential."""
        given = next((value for name, value in request.headers if name == b"authorization"), b"")
        known = self._known.get(blake2s(given).digest())
        if known is None:  # forgotten since: the keys were changed
            request.drop()
            return
        secret = given.decode("latin-1").strip().partition(" ")[2].strip() if known.token_id else ""
        self._watch.add(request, known.caller, known.ends, secret)

    def _look(self, now: float) -> None:
        """Forgets all callers when a key was made, changed or revoked. Raises Refused when the keys cannot be read."""
        try:
            state = self._keys.state()
        except AccessError as error:
            raise self._unreadable(error) from None
        if state != self._state:
            self._known.clear()
            self._state = state
        # Only after a look that worked: while the keys cannot be read, every request looks again and is refused.
        self._looked_at = now

    def challenge(self, request: HttpRequest, scopes: Sequence[str]) -> str:
        """Returns the challenge for a valid credential that lacks scopes."""
        return self.metadata.challenge(request, "insufficient_scope", scopes)

    def problem(self) -> str | None:
        """Why the keys cannot be read. Where others come in as well, that keeps out only those who come with a key."""
        try:
            if not self._takes_others:
                self._keys.check_readable()
        except AccessError as error:
            return str(error)
        return None

    async def aclose(self) -> None:
        """Let go of everything."""
        self._watch.close()
        await self._keys.aclose()
        if self._issuers is not None:
            await self._issuers.aclose()

    def _recognize(self, credential: bytes, request: HttpRequest) -> _Known | Awaitable[_Known]:
        scheme, _, secret = credential.decode("latin-1").strip().partition(" ")
        secret = secret.strip()
        if scheme.lower() != "bearer":
            raise self._demand_credential(request)
        if not secret or " " in secret:
            raise self._refuse_header(request)
        # Our own keys are recognized by their form, so none of them is ever taken for an issuer's token.
        if self._issuers is None or is_token(secret):
            return self._key(secret, request)
        try:
            verified = self._issuers.verify(secret, self.metadata.resource(request).audiences)
        except TokenRejected as why:
            raise self._invalid(request, f"an access token: {why}") from None
        return self._hold(verified) if isinstance(verified, VerifiedToken) else self._hold_later(verified, request)

    async def _hold_later(self, verified: Awaitable[VerifiedToken], request: HttpRequest) -> _Known:
        try:
            return self._hold(await verified)
        except TokenRejected as why:
            raise self._invalid(request, f"an access token: {why}") from None

    def _hold(self, verified: VerifiedToken) -> _Known:
        again_at = min(verified.ends, self._clock() + KEPT_SECONDS)
        return _Known(verified.caller, verified.ends, again_at, _NEVER)

    def _key(self, secret: str, request: HttpRequest) -> _Known:
        try:
            held = self._keys.authenticate(secret)
        except InvalidToken:
            raise self._invalid(request, self._keys.why_invalid(secret)) from None
        except AccessError as error:
            raise self._unreadable(error) from None
        return _Known(held.caller, held.ends, held.ends, 0.0, held.token_id)

    def _demand_credential(self, request: HttpRequest) -> Refused:
        challenge = self.metadata.challenge(request)
        return Refused(401, "a credential is needed: Authorization: Bearer …", challenge=challenge)

    def _invalid(self, request: HttpRequest, detail: str) -> Refused:
        challenge = self.metadata.challenge(request, "invalid_token")
        return Refused(
            401, "the credential is not valid here", challenge=challenge, code="invalid_token", detail=detail
        )

    def _unreadable(self, error: AccessError) -> Refused:
        detail = f"everybody, since the keys cannot be read: {error}"
        return Refused(503, "credentials cannot be checked at the moment", detail=detail)

    def _refuse_header(self, request: HttpRequest) -> Refused:
        challenge = self.metadata.challenge(request, "invalid_request")
        return Refused(400, "the Authorization header cannot be read", challenge=challenge)


class OpenGate:
    """No authentication: everybody who reaches the port is the same local agent."""

    def __init__(self, settings: ServeSettings) -> None:
        self._door = Door(settings)
        self.admit: Callable[[HttpRequest], tuple[Header, ...]] = self._door.admit
        self.metadata = Metadata(settings, self._door)
        self._caller = Caller(Identity("local", "loopback", frozenset({CALL}), tenant=DEFAULT_TENANT))

    def caller(self, request: HttpRequest) -> Caller:
        """Returns the local agent."""
        return self._caller

    def challenge(self, request: HttpRequest, scopes: Sequence[str]) -> str:
        """Nothing would help."""
        return 'Bearer realm="ferrule"'

    def problem(self) -> str | None:
        """None: no credential is looked at."""
        return None

    async def aclose(self) -> None:
        """Nothing is held."""


def _opens_without_keys(settings: OxpSettings) -> bool:
    """True when callers of OXP come in without one of our keys."""
    return "none" in settings.auth or ("jwt" in settings.auth and bool(settings.jwt_secret_env))


def gate_of(settings: ServeSettings, access: Access, clients: ClientFactory = make_client) -> GuardedGate | OpenGate:
    """The gate that the settings ask for. `clients` makes the HTTP client that reaches issuers. Raises SettingsError."""
    return GuardedGate(settings, access, clients) if settings.auth else OpenGate(settings)
