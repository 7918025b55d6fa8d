"""The keys that an issuer signs its tokens with: found through its metadata, kept, and looked up again when they change.

An issuer that cannot be reached changes nothing: the keys that were known still count. A key nobody has seen is a reason to ask,
but not more often than every few seconds, however many tokens name unknown keys.
"""

from __future__ import annotations

import asyncio
import logging
import time
from collections.abc import Awaitable, Callable, Collection, Sequence
from typing import Any

import jwt
import msgspec
from jwt import algorithms

from ferrule.infra.network.client import BadRequest, BrokenAnswer, Client, Fetched, TooLong, Unreachable
from ferrule.infra.network.guard import Forbidden, Guard
from ferrule.infra.network.urls import BadUrl, parse_url
from ferrule.model.serving import JwtSettings

_log = logging.getLogger("ferrule.serve")
KEPT_SECONDS = 600.0
"""After how long the keys are asked for again although all that came are known."""
ASKED_EVERY_SECONDS = 10.0
"""How often an issuer is asked at most because of a key that is not known, or that it could not be reached."""
_ANSWER_SECONDS = 10.0
_PATIENCE_SECONDS = 2.0
_MOST_BYTES = 512 * 1024
_MOST_KEYS = 64
_LEAST_RSA_BITS = 2048
_FAMILIES = {"RS": "RSA", "PS": "RSA", "ES": "EC", "Ed": "OKP"}


class KeysUnknown(Exception):
    """The issuer's keys are not known, and it cannot be asked now."""


class _Metadata(msgspec.Struct):
    issuer: str = ""
    jwks_uri: str = ""


class Key(msgspec.Struct, frozen=True):
    """One public key of an issuer."""

    kid: str | None
    algorithm: str | None
    kind: str
    """`RSA`, `EC` or `OKP`."""
    value: Any
    """As PyJWT takes it."""

    def fits(self, kid: str | None, algorithm: str) -> bool:
        """True when a token with this header may be signed by it."""
        return (
            (kid is None or self.kid is None or self.kid == kid)
            and (self.algorithm is None or self.algorithm == algorithm)
            and self.kind == _FAMILIES.get(algorithm[:2])
        )


class Keys:
    """The keys of one issuer."""

    def __init__(
        self,
        settings: JwtSettings,
        client: Client,
        changed: Callable[[], None],
        tick: Callable[[], float] = time.monotonic,
    ) -> None:
        """`changed` is told when another set of keys counts."""
        self._settings = settings
        self._client = client
        self._changed = changed
        self._tick = tick
        self._keys: tuple[Key, ...] = ()
        self._digest: list[Any] = []
        self._asked_at = float("-inf")
        self._good_until = float("-inf")
        self._asking: asyncio.Task[None] | None = None

    def find_candidates(self, kid: str | None, algorithm: str) -> Sequence[Key] | Awaitable[Sequence[Key]]:
        """Returns the keys that may have signed a token, none when the issuer has no such key; something to await when the
        issuer has to be asked. Raises KeysUnknown."""
        now, fitting = self._tick(), self._fitting(kid, algorithm)
        is_stale = now >= self._good_until or (not fitting and now - self._asked_at >= ASKED_EVERY_SECONDS)
        return self._ask_for(kid, algorithm) if is_stale else fitting

    async def _ask_for(self, kid: str | None, algorithm: str) -> Sequence[Key]:
        if self._tick() >= self._good_until:
            await self._ask()
        found = self._fitting(kid, algorithm)
        if not found and self._tick() - self._asked_at >= ASKED_EVERY_SECONDS:
            await self._ask(is_forced=True)
            found = self._fitting(kid, algorithm)
        if not self._keys:
            raise KeysUnknown
        return found

    async def aclose(self) -> None:
        """Stop asking."""
        if self._asking is not None:
            self._asking.cancel()
            await asyncio.gather(self._asking, return_exceptions=True)

    def _fitting(self, kid: str | None, algorithm: str) -> list[Key]:
        return [key for key in self._keys if key.fits(kid, algorithm)]

    async def _ask(self, *, is_forced: bool = False) -> None:
        """Ask the issuer, once for all who wait. One that does not answer is left alone for a while."""
        if self._asking is None or self._asking.done():
            if not is_forced and self._tick() - self._asked_at < ASKED_EVERY_SECONDS:
                return
            self._asked_at = self._tick()
            self._asking = asyncio.create_task(self._look())
        # Without keys nothing can be checked; with them, nobody waits long for an issuer that does not answer.
        await asyncio.wait({self._asking}, timeout=_PATIENCE_SECONDS if self._keys else _ANSWER_SECONDS)

    async def _look(self) -> None:
        issuer = self._settings.issuer
        try:
            document = await self._json(self._settings.jwks_url or await self._place())
            written = document.get("keys") if isinstance(document, dict) else None
            if not isinstance(written, list):
                raise KeysUnknown("what it gives is no set of keys")
            keys = tuple(filter(None, map(_key, written[:_MOST_KEYS])))
            if not keys:
                raise KeysUnknown("there is no key in it that can be used")
        except (KeysUnknown, BadUrl, Forbidden, Unreachable, BrokenAnswer, BadRequest, TooLong, TimeoutError) as error:
            kept = f"the {len(self._keys)} known keys still count" if self._keys else "its tokens are refused"
            _log.warning("the keys of %s could not be had (%s); %s", issuer, error or "it takes too long", kept)
            return
        self._good_until = self._tick() + KEPT_SECONDS
        if written != self._digest:
            self._keys, self._digest = keys, written
            self._changed()

    async def _place(self) -> str:
        """Where the issuer keeps its keys, as it says itself (RFC 8414, OpenID Connect)."""
        issuer = self._settings.issuer
        target = parse_url(issuer)
        bare = target.path.partition("?")[0].rstrip("/")
        base = f"{target.scheme}://{target.authority}"
        for path in dict.fromkeys(
            (
                f"{bare}/.well-known/openid-configuration",
                f"/.well-known/oauth-authorization-server{bare}",
                f"/.well-known/openid-configuration{bare}",
            )
        ):
            fetched = await self._fetched(base + path)
            said = _metadata(fetched) if fetched.status == 200 else None
            if said is None or not said.jwks_uri:
                continue
            if said.issuer != issuer:
                raise KeysUnknown(f"it calls itself {said.issuer!r}; write exactly that in [serve.jwt]")
            place = parse_url(said.jwks_uri)
            if not place.is_secure and place[:3] != target[:3]:
                raise KeysUnknown("its keys are not at an https address")
            return said.jwks_uri
        raise KeysUnknown("it does not tell where its keys are; say jwks_url in [serve.jwt]")

    async def _json(self, url: str) -> Any:
        fetched = await self._fetched(url)
        if fetched.status != 200:
            raise KeysUnknown(f"it answered {fetched.status}")
        try:
            return msgspec.json.decode(fetched.body)
        except (msgspec.DecodeError, UnicodeDecodeError, RecursionError):
            raise KeysUnknown("what it gives is no JSON") from None

    async def _fetched(self, url: str) -> Fetched:
        headers = [("Accept", "application/json")]
        return await self._client.fetch("GET", url, headers, max_bytes=_MOST_BYTES, timeout_seconds=_ANSWER_SECONDS)


Clients = Callable[[Collection[str]], Client]
"""Makes a client that reaches these hosts wherever they are, and else only what anybody may."""


def client_for(also: Collection[str]) -> Client:
    """A client of no workspace."""
    return Client(Guard(also))


def hosts_of(issuers: Sequence[JwtSettings]) -> list[str]:
    """The hosts that the settings of issuers name: whoever wrote them there means them."""
    return [parse_url(url).place for issuer in issuers for url in (issuer.issuer, issuer.jwks_url) if url]


def _metadata(fetched: Fetched) -> _Metadata | None:
    try:
        return msgspec.json.decode(fetched.body, type=_Metadata)
    except (msgspec.DecodeError, UnicodeDecodeError, RecursionError):
        return None


def _key(written: Any) -> Key | None:
    """A key that may verify signatures; None for any other, and for one that cannot be read or is too weak."""
    if not isinstance(written, dict) or written.get("use", "sig") != "sig":
        return None
    kind, kid, algorithm = written.get("kty"), written.get("kid"), written.get("alg")
    if kind not in ("RSA", "EC", "OKP") or "d" in written or not isinstance(kid, str | None):
        return None  # a private or a shared key that is given to everybody proves nothing
    try:
        value = jwt.PyJWK.from_dict(written).key if algorithm else _any(kind).from_jwk(written)
    except (jwt.PyJWTError, ValueError, TypeError, KeyError, AttributeError):
        return None
    if kind == "RSA" and value.key_size < _LEAST_RSA_BITS:
        return None
    return Key(kid, algorithm if isinstance(algorithm, str) else None, kind, value)


def _any(kind: str) -> Any:
    return {"RSA": algorithms.RSAAlgorithm, "EC": algorithms.ECAlgorithm, "OKP": algorithms.OKPAlgorithm}[kind]
