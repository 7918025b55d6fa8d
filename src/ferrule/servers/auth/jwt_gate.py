"""Access tokens of authorization servers (OAuth 2.1): verifies them and turns them into callers.

A token is valid when a configured issuer signed it with an allowed algorithm and one of its keys, and it is for this
server and not expired (MCP-273). Subjects are scoped to their issuer: `ada` of one issuer is not the holder of a local
key of that name, nor `ada` of another issuer. `gate` stands above it.
"""

from __future__ import annotations

import logging
from collections.abc import Awaitable, Callable, Sequence
from typing import Any, NamedTuple

import jwt

from ferrule.access.tokens import FOREIGN, KeyLimits
from ferrule.infra.network.client import Client
from ferrule.model.approval import SCOPES
from ferrule.model.serving import GrantSettings, JwtSettings
from ferrule.model.value import JsonObject
from ferrule.servers.auth.callers import Caller, Refused, apply_grants, make_caller
from ferrule.servers.auth.jwks import ClientFactory, IssuerKey, IssuerKeys, KeysUnknown, list_hosts, make_client
from ferrule.servers.auth.refusals import reason_of

_log = logging.getLogger("ferrule.serve")
_LONGEST = 16 * 1024
_LONGEST_NAME = 512
_MOST_GROUPS = 500
# A token without a kid may fit every key of its issuer, and each try costs the check of a signature.
_MOST_TRIED = 8
_KINDS = frozenset({"", "jwt", "at+jwt", "application/at+jwt"})
_CLIENT_CLAIMS = ("client_id", "azp", "cid", "appid")


class TokenRejected(Exception):
    """A token that is not valid here. The text is for the log."""


class VerifiedToken(NamedTuple):
    """The caller of a valid token, and when the token ends, in seconds since 1970."""

    caller: Caller
    ends: float


class Issuers:
    """The authorization servers whose tokens are valid here."""

    def __init__(
        self,
        issuers: Sequence[JwtSettings],
        grants: Sequence[GrantSettings],
        changed: Callable[[], None],
        clients: ClientFactory = make_client,
    ) -> None:
        """`changed` is called when the set of valid keys changes."""
        self._grants = grants
        self._client: Client = clients(list_hosts(issuers))
        self._by_name = {issuer.issuer: (issuer, IssuerKeys(issuer, self._client, changed)) for issuer in issuers}

    def verify(self, token: str, audiences: Sequence[str]) -> VerifiedToken | Awaitable[VerifiedToken]:
        """Returns the caller of a token for one of these audiences; something to await when its issuer has to be asked
        for keys. Raises TokenRejected and Refused.
        """
        if len(token) > _LONGEST:
            raise TokenRejected("it is too long")
        algorithm, kid = self._read_header(token)
        issuer, keys = self._find_issuer(token)
        if algorithm not in issuer.algorithms:
            raise TokenRejected("it is signed with an algorithm that [serve.jwt] algorithms does not allow")
        wanted = (issuer.audience,) if issuer.audience else tuple(audiences)

        def check(candidates: Sequence[IssuerKey]) -> VerifiedToken:
            return self._build_caller(self._verify_claims(token, candidates, algorithm, issuer, wanted), issuer)

        candidates = keys.find_candidates(kid, algorithm)
        return check(candidates) if isinstance(candidates, Sequence) else _check_later(candidates, check)

    async def aclose(self) -> None:
        """Stops fetching keys."""
        for _, keys in self._by_name.values():
            await keys.aclose()
        await self._client.aclose()

    def _read_header(self, token: str) -> tuple[str, str | None]:
        try:
            header = jwt.get_unverified_header(token)
        except (jwt.PyJWTError, ValueError, TypeError, RecursionError):
            raise TokenRejected("it is no JWT") from None
        algorithm, kid, kind = header.get("alg"), header.get("kid"), header.get("typ") or ""
        if not isinstance(algorithm, str) or not isinstance(kid, str | None) or not isinstance(kind, str):
            raise TokenRejected("its header makes no sense")
        # Extensions that `crit` names have to be understood (RFC 7515, 4.1.11), and we know none.
        if kind.lower() not in _KINDS or "crit" in header:
            raise TokenRejected("it is another kind of token than an access token")
        return algorithm, kid

    def _find_issuer(self, token: str) -> tuple[JwtSettings, IssuerKeys]:
        """Returns the issuer that the token names. Nothing else in it is read before its signature is verified."""
        try:
            name = jwt.decode(token, options={"verify_signature": False}).get("iss")
        except (jwt.PyJWTError, ValueError, TypeError, RecursionError, OverflowError):
            raise TokenRejected("it is no JWT") from None
        found = self._by_name.get(name) if isinstance(name, str) else None
        if found is None:
            raise TokenRejected("its issuer is none of [serve.jwt]")
        return found

    def _verify_claims(
        self, token: str, candidates: Sequence[IssuerKey], algorithm: str, issuer: JwtSettings, audiences: Sequence[str]
    ) -> JsonObject:
        wrong = "its issuer has no such key"
        for key in candidates[:_MOST_TRIED]:
            try:
                claims: JsonObject = jwt.decode(
                    token,
                    key.value,
                    algorithms=[algorithm],
                    audience=audiences,
                    issuer=issuer.issuer,
                    leeway=issuer.leeway_seconds,
                    options={"require": ["exp", "iss", "aud", issuer.principal_claim.partition(".")[0]]},
                )
            except jwt.InvalidSignatureError as error:
                # Without a kid several keys may fit. Anything but the signature is wrong with every one of them.
                wrong = reason_of(error)
                continue
            except (jwt.PyJWTError, ValueError, TypeError, OverflowError, RecursionError) as error:
                raise TokenRejected(reason_of(error)) from None
            return claims
        raise TokenRejected(wrong)

    def _build_caller(self, claims: JsonObject, issuer: JwtSettings) -> VerifiedToken:
        if "cnf" in claims:
            raise TokenRejected("it is bound to a key of its holder, and nothing here can see that key")
        origin = issuer.name or issuer.issuer
        subject = _read_name(claims, issuer.principal_claim)
        if subject is None:
            raise TokenRejected(f"it does not say {issuer.principal_claim}")
        principal = f"{origin}{FOREIGN}{subject}"
        client = next((found for name in _CLIENT_CLAIMS if (found := _read_name(claims, name))), "")
        groups = (
            frozenset(_list_words(_find_claim(claims, issuer.groups_claim))[:_MOST_GROUPS])
            if issuer.groups_claim
            else frozenset()
        )
        claimed = KeyLimits(
            tenant=_require_name(claims, issuer.tenant_claim),
            agent=_read_name(claims, issuer.agent_claim),
            role=_read_name(claims, issuer.role_claim),
        )
        bound = apply_grants(self._grants, principal, groups, claimed, (origin, issuer.issuer))
        # A channel is a person at a client, not a token: a refreshed token must not approve what the previous one requested.
        channel = f"jwt:{principal}{FOREIGN}{client}"
        caller = make_caller(principal, channel, _list_scopes(claims, issuer), groups, bound, is_local=False)
        return VerifiedToken(caller, float(claims["exp"]) + issuer.leeway_seconds)


async def _check_later(
    candidates: Awaitable[Sequence[IssuerKey]], check: Callable[[Sequence[IssuerKey]], VerifiedToken]
) -> VerifiedToken:
    """Checks a token once its issuer's keys have arrived. Raises TokenRejected and Refused."""
    try:
        known = await candidates
    except KeysUnknown:
        raise Refused(503, "tokens cannot be checked at the moment", retry_after=10) from None
    return check(known)


def _list_scopes(claims: JsonObject, issuer: JwtSettings) -> frozenset[str]:
    """Returns our scopes among those of the token, by their names in the settings and by their own."""
    written = [word for name in ("scope", "scp") for text in _list_words(claims.get(name)) for word in text.split()]
    ours = {issuer.scopes.get(word, word) for word in written} | set(issuer.default_scopes)
    return frozenset(ours & set(SCOPES))


def _find_claim(claims: JsonObject, place: str) -> Any:
    """Returns a claim by its full name, as `https://example.com/groups`, or by its path inside others, as
    `realm_access.roles`.
    """
    if place in claims:
        return claims[place]
    found: Any = claims
    for part in place.split("."):
        found = found.get(part) if isinstance(found, dict) else None
    return found


def _read_name(claims: JsonObject, place: str) -> str | None:
    """Returns the name in a claim; None without one. Raises TokenRejected for an invalid name."""
    value = _find_claim(claims, place) if place else None
    if value is None:
        return None
    if not isinstance(value, str) or not 0 < len(value) <= _LONGEST_NAME or not value.isprintable():
        raise TokenRejected(f"its {place} is no name")
    return value


def _require_name(claims: JsonObject, place: str) -> str | None:
    """Returns the name in a claim that every token must have if the settings name the claim.

    Raises TokenRejected without it: a token that leaves its tenant out must not fall into the default one.
    """
    value = _read_name(claims, place)
    if place and value is None:
        raise TokenRejected(f"it does not say {place}")
    return value


def _list_words(value: object) -> list[str]:
    """Returns a text, or the texts of a list, as a list."""
    if isinstance(value, str):
        return [value]
    return [word for word in value if isinstance(word, str)] if isinstance(value, list) else []
