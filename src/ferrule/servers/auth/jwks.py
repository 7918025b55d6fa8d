"""The keys that an issuer signs its tokens with: found through its metadata, cached, and fetched again when they
change.

When an issuer cannot be reached, its known keys stay valid. A token with an unknown key causes a new fetch, but at most
every few seconds, however many such tokens arrive. `jwt_gate` stands above it.
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
"""Age at which the keys are fetched again although no token named an unknown one."""
MIN_FETCH_INTERVAL_SECONDS = 10.0
"""Shortest time between two fetches that an unknown key or a failed fetch causes."""
_ANSWER_SECONDS = 10.0
_PATIENCE_SECONDS = 2.0
_MOST_BYTES = 512 * 1024
_MOST_KEYS = 64
_LEAST_RSA_BITS = 2048
_FAMILIES = {"RS": "RSA", "PS": "RSA", "ES": "EC", "Ed": "OKP"}


class KeysUnknown(Exception):
    """The issuer's keys are unknown and cannot be fetched now."""


class _Metadata(msgspec.Struct):
    issuer: str = ""
    jwks_uri: str = ""


class IssuerKey(msgspec.Struct, frozen=True):
    """One public key of an issuer."""

    kid: str | None
    algorithm: str | None
    kind: str
    """`RSA`, `EC` or `OKP`."""
    value: Any
    """The key as PyJWT takes it."""

    def fits(self, kid: str | None, algorithm: str) -> bool:
        """Returns True when this key may have signed a token with this header."""
        return (
            (kid is None or self.kid is None or self.kid == kid)
            and (self.algorithm is None or self.algorithm == algorithm)
            and self.kind == _FAMILIES.get(algorithm[:2])
        )


class IssuerKeys:
    """The cached keys of one issuer."""

    def __init__(
        self,
        settings: JwtSettings,
        client: Client,
        changed: Callable[[], None],
        tick: Callable[[], float] = time.monotonic,
    ) -> None:
        """`changed` is called when the set of valid keys changes."""
        self._settings = settings
        self._client = client
        self._changed = changed
        self._tick = tick
        self._keys: tuple[IssuerKey, ...] = ()
        self._digest: list[Any] = []
        self._asked_at = float("-inf")
        self._good_until = float("-inf")
        self._asking: asyncio.Task[None] | None = None

    def find_candidates(self, kid: str | None, algorithm: str) -> Sequence[IssuerKey] | Awaitable[Sequence[IssuerKey]]:
        """Returns the keys that may have signed a token, none when the issuer has no such key; something to await when
        the issuer has to be asked. Raises KeysUnknown.
        """
        now, matching = self._tick(), self._select_keys(kid, algorithm)
        # An unknown key may be a rotated one, so it causes a fetch; the interval bounds that against forged tokens.
        is_stale = now >= self._good_until or (not matching and now - self._asked_at >= MIN_FETCH_INTERVAL_SECONDS)
        return self._fetch_and_select(kid, algorithm) if is_stale else matching

    async def _fetch_and_select(self, kid: str | None, algorithm: str) -> Sequence[IssuerKey]:
        if self._tick() >= self._good_until:
            await self._fetch_once()
        found = self._select_keys(kid, algorithm)
        if not found and self._tick() - self._asked_at >= MIN_FETCH_INTERVAL_SECONDS:
            await self._fetch_once(is_forced=True)
            found = self._select_keys(kid, algorithm)
        if not self._keys:
            raise KeysUnknown
        return found

    async def aclose(self) -> None:
        """Cancels a fetch under way."""
        if self._asking is not None:
            self._asking.cancel()
            await asyncio.gather(self._asking, return_exceptions=True)

    def _select_keys(self, kid: str | None, algorithm: str) -> list[IssuerKey]:
        return [key for key in self._keys if key.fits(kid, algorithm)]

    async def _fetch_once(self, *, is_forced: bool = False) -> None:
        """Fetches the keys once for all who wait; an issuer that does not answer is left alone for a while."""
        if self._asking is None or self._asking.done():
            if not is_forced and self._tick() - self._asked_at < MIN_FETCH_INTERVAL_SECONDS:
                return
            self._asked_at = self._tick()
            self._asking = asyncio.create_task(self._load_keys())
        # Without keys no token can be checked, so wait; with them, an issuer that does not answer delays requests only briefly.
        # wait(), because `await task` would cancel the fetch of all when one of them is cancelled.
        await asyncio.wait({self._asking}, timeout=_PATIENCE_SECONDS if self._keys else _ANSWER_SECONDS)

    async def _load_keys(self) -> None:
        issuer = self._settings.issuer
        try:
            document = await self._fetch_json(self._settings.jwks_url or await self._find_jwks_url())
            written = document.get("keys") if isinstance(document, dict) else None
            if not isinstance(written, list):
                raise KeysUnknown("what it gives is no set of keys")
            keys = tuple(filter(None, map(_parse_key, written[:_MOST_KEYS])))
            if not keys:
                raise KeysUnknown("there is no key in it that can be used")
        except (KeysUnknown, BadUrl, Forbidden, Unreachable, BrokenAnswer, BadRequest, TooLong, TimeoutError) as error:
            kept = f"the {len(self._keys)} known keys still count" if self._keys else "its tokens are refused"
            _log.warning("the keys of %s could not be fetched (%s); %s", issuer, error or "it takes too long", kept)
            return
        self._good_until = self._tick() + KEPT_SECONDS
        # `changed` makes the gate forget every caller, so it is called for other keys only, not for each fetch.
        if written != self._digest:
            self._keys, self._digest = keys, written
            self._changed()

    async def _find_jwks_url(self) -> str:
        """Returns the URL of the keys from the issuer's metadata (RFC 8414, OpenID Connect)."""
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
            fetched = await self._fetch(base + path)
            metadata = _read_metadata(fetched) if fetched.status == 200 else None
            if metadata is None or not metadata.jwks_uri:
                continue
            # Another issuer's metadata must not speak for this one (RFC 8414, section 3.3).
            if metadata.issuer != issuer:
                raise KeysUnknown(f"it calls itself {metadata.issuer!r}; write exactly that in [serve.jwt]")
            place = parse_url(metadata.jwks_uri)
            if not place.is_secure and place[:3] != target[:3]:
                raise KeysUnknown("its keys are not at an https address")
            return metadata.jwks_uri
        raise KeysUnknown("it does not tell where its keys are; say jwks_url in [serve.jwt]")

    async def _fetch_json(self, url: str) -> Any:
        fetched = await self._fetch(url)
        if fetched.status != 200:
            raise KeysUnknown(f"it answered {fetched.status}")
        try:
            return msgspec.json.decode(fetched.body)
        except (msgspec.DecodeError, UnicodeDecodeError, RecursionError):
            raise KeysUnknown("what it gives is no JSON") from None

    async def _fetch(self, url: str) -> Fetched:
        headers = [("Accept", "application/json")]
        return await self._client.fetch("GET", url, headers, max_bytes=_MOST_BYTES, timeout_seconds=_ANSWER_SECONDS)


ClientFactory = Callable[[Collection[str]], Client]
"""Makes a client that may reach these hosts wherever they are, and otherwise public addresses only."""


def make_client(also: Collection[str]) -> Client:
    """Returns a client outside any workspace."""
    return Client(Guard(also))


def list_hosts(issuers: Sequence[JwtSettings]) -> list[str]:
    """Returns the hosts that issuer settings name: an operator wrote them, so the client may reach them."""
    return [parse_url(url).place for issuer in issuers for url in (issuer.issuer, issuer.jwks_url) if url]


def _read_metadata(fetched: Fetched) -> _Metadata | None:
    try:
        return msgspec.json.decode(fetched.body, type=_Metadata)
    except (msgspec.DecodeError, UnicodeDecodeError, RecursionError):
        return None


def _parse_key(written: object) -> IssuerKey | None:
    """Returns a key that may verify signatures; None for any other, and for one that is unreadable or too weak."""
    if not isinstance(written, dict) or written.get("use", "sig") != "sig":
        return None
    kind, kid, algorithm = written.get("kty"), written.get("kid"), written.get("alg")
    if kind not in ("RSA", "EC", "OKP") or "d" in written or not isinstance(kid, str | None):
        return None  # a published private or shared key proves nothing
    try:
        value = jwt.PyJWK.from_dict(written).key if algorithm else _find_algorithm(kind).from_jwk(written)
    except (jwt.PyJWTError, ValueError, TypeError, KeyError, AttributeError):
        return None
    if kind == "RSA" and value.key_size < _LEAST_RSA_BITS:
        return None
    return IssuerKey(kid, algorithm if isinstance(algorithm, str) else None, kind, value)


def _find_algorithm(kind: str) -> Any:
    return {"RSA": algorithms.RSAAlgorithm, "EC": algorithms.ECAlgorithm, "OKP": algorithms.OKPAlgorithm}[kind]
