"""Access tokens of authorization servers (OAuth 2.1): checked, and turned into callers.

A token counts when its issuer is one of ours, one of that issuer's keys signed it with an algorithm that the settings allow,
it is for this server and for now (MCP-273). What it says about people is kept apart from what is said here: the subject `ada`
of an issuer is another person than the holder of a local key of that name, and than `ada` of another issuer.
"""

from __future__ import annotations

import logging
from collections.abc import Awaitable, Callable, Sequence
from typing import Any, NamedTuple

import jwt

from ferrule.access.tokens import FOREIGN, Limits
from ferrule.infra.network.client import Client
from ferrule.model.approval import SCOPES
from ferrule.model.serving import GrantSettings, JwtSettings
from ferrule.servers.auth.callers import Caller, Refused, caller_of, granted
from ferrule.servers.auth.jwks import Clients, Key, Keys, KeysUnknown, client_for, hosts_of
from ferrule.servers.auth.refusals import reason_of

_log = logging.getLogger("ferrule.serve")
_LONGEST = 16 * 1024
_LONGEST_NAME = 512
_MOST_GROUPS = 500
_MOST_TRIED = 8
_KINDS = frozenset({"", "jwt", "at+jwt", "application/at+jwt"})
_CLIENT_CLAIMS = ("client_id", "azp", "cid", "appid")


class NotTaken(Exception):
    """A token that does not count here. The text is for the log."""


class Verified(NamedTuple):
    """Who comes with a token, and until when it counts, in seconds since 1970."""

    caller: Caller
    ends: float


class Issuers:
    """The authorization servers whose tokens count here."""

    def __init__(
        self,
        issuers: Sequence[JwtSettings],
        grants: Sequence[GrantSettings],
        changed: Callable[[], None],
        clients: Clients = client_for,
    ) -> None:
        """`changed` is told when other keys count than before."""
        self._grants = grants
        self._client: Client = clients(hosts_of(issuers))
        self._by_name = {issuer.issuer: (issuer, Keys(issuer, self._client, changed)) for issuer in issuers}

    def verify(self, token: str, audiences: Sequence[str]) -> Verified | Awaitable[Verified]:
        """Returns who comes with a token that is meant for one of these audiences; something to await when its issuer has to
        be asked for keys. Raises NotTaken, and Refused."""
        if len(token) > _LONGEST:
            raise NotTaken("it is too long")
        algorithm, kid = self._header(token)
        issuer, keys = self._issuer(token)
        if algorithm not in issuer.algorithms:
            raise NotTaken("it is signed with an algorithm that [serve.jwt] algorithms does not allow")
        wanted = (issuer.audience,) if issuer.audience else tuple(audiences)

        def check(candidates: Sequence[Key]) -> Verified:
            return self._taken(self._claims(token, candidates, algorithm, issuer, wanted), issuer)

        candidates = keys.find_candidates(kid, algorithm)
        return check(candidates) if isinstance(candidates, Sequence) else _check_later(candidates, check)

    async def aclose(self) -> None:
        """Stop asking issuers."""
        for _, keys in self._by_name.values():
            await keys.aclose()
        await self._client.aclose()

    def _header(self, token: str) -> tuple[str, str | None]:
        try:
            header = jwt.get_unverified_header(token)
        except (jwt.PyJWTError, ValueError, TypeError, RecursionError):
            raise NotTaken("it is no JWT") from None
        algorithm, kid, kind = header.get("alg"), header.get("kid"), header.get("typ") or ""
        if not isinstance(algorithm, str) or not isinstance(kid, str | None) or not isinstance(kind, str):
            raise NotTaken("its header makes no sense")
        if kind.lower() not in _KINDS or "crit" in header:
            raise NotTaken("it is another kind of token than an access token")
        return algorithm, kid

    def _issuer(self, token: str) -> tuple[JwtSettings, Keys]:
        """Whose token it says it is. Nothing else in it is looked at before its signature was."""
        try:
            said = jwt.decode(token, options={"verify_signature": False}).get("iss")
        except (jwt.PyJWTError, ValueError, TypeError, RecursionError, OverflowError):
            raise NotTaken("it is no JWT") from None
        found = self._by_name.get(said) if isinstance(said, str) else None
        if found is None:
            raise NotTaken("its issuer is none of [serve.jwt]")
        return found

    def _claims(
        self, token: str, candidates: Sequence[Key], algorithm: str, issuer: JwtSettings, audiences: Sequence[str]
    ) -> dict[str, Any]:
        wrong = "its issuer has no such key"
        for key in candidates[:_MOST_TRIED]:
            try:
                claims: dict[str, Any] = jwt.decode(
                    token,
                    key.value,
                    algorithms=[algorithm],
                    audience=audiences,
                    issuer=issuer.issuer,
                    leeway=issuer.leeway_seconds,
                    options={"require": ["exp", "iss", "aud", issuer.principal_claim.partition(".")[0]]},
                )
            except jwt.InvalidSignatureError as error:
                wrong = reason_of(error)
                continue
            except (jwt.PyJWTError, ValueError, TypeError, OverflowError, RecursionError) as error:
                raise NotTaken(reason_of(error)) from None
            return claims
        raise NotTaken(wrong)

    def _taken(self, claims: dict[str, Any], issuer: JwtSettings) -> Verified:
        if "cnf" in claims:
            raise NotTaken("it is bound to a key of its holder, and nothing here can see that key")
        origin = issuer.name or issuer.issuer
        subject = _name(claims, issuer.principal_claim)
        if subject is None:
            raise NotTaken(f"it does not say {issuer.principal_claim}")
        principal = f"{origin}{FOREIGN}{subject}"
        client = next((found for name in _CLIENT_CLAIMS if (found := _name(claims, name))), "")
        groups = (
            frozenset(_words(_at(claims, issuer.groups_claim))[:_MOST_GROUPS]) if issuer.groups_claim else frozenset()
        )
        said = Limits(
            tenant=_demanded(claims, issuer.tenant_claim),
            agent=_name(claims, issuer.agent_claim),
            role=_name(claims, issuer.role_claim),
        )
        bound = granted(self._grants, principal, groups, said, (origin, issuer.issuer))
        # The same person's token for another client is another channel; the same client's next token is not.
        channel = f"jwt:{principal}{FOREIGN}{client}"
        caller = caller_of(principal, channel, _scopes(claims, issuer), groups, bound, is_local=False)
        return Verified(caller, float(claims["exp"]) + issuer.leeway_seconds)


async def _check_later(candidates: Awaitable[Sequence[Key]], check: Callable[[Sequence[Key]], Verified]) -> Verified:
    """Checks a token once its issuer has told its keys. Raises NotTaken, and Refused."""
    try:
        known = await candidates
    except KeysUnknown:
        raise Refused(503, "tokens cannot be checked at the moment", retry_after=10) from None
    return check(known)


def _scopes(claims: dict[str, Any], issuer: JwtSettings) -> frozenset[str]:
    """Our scopes among those of the token: by what the settings call them, and by their own names."""
    written = [word for name in ("scope", "scp") for text in _words(claims.get(name)) for word in text.split()]
    ours = {issuer.scopes.get(word, word) for word in written} | set(issuer.default_scopes)
    return frozenset(ours & set(SCOPES))


def _at(claims: dict[str, Any], place: str) -> Any:
    """What is at a claim: under its whole name, as `https://example.com/groups`, or inside of others, as `realm_access.roles`."""
    if place in claims:
        return claims[place]
    found: Any = claims
    for part in place.split("."):
        found = found.get(part) if isinstance(found, dict) else None
    return found


def _name(claims: dict[str, Any], place: str) -> str | None:
    """The word at a claim; None without one. Raises NotTaken for what cannot be a name."""
    value = _at(claims, place) if place else None
    if value is None:
        return None
    if not isinstance(value, str) or not 0 < len(value) <= _LONGEST_NAME or not value.isprintable():
        raise NotTaken(f"its {place} is no name")
    return value


def _demanded(claims: dict[str, Any], place: str) -> str | None:
    """The word at a claim that every token must have, if the settings name one: nobody falls into a tenant by saying nothing."""
    value = _name(claims, place)
    if place and value is None:
        raise NotTaken(f"it does not say {place}")
    return value


def _words(value: Any) -> list[str]:
    """A text, or the texts of a list."""
    if isinstance(value, str):
        return [value]
    return [word for word in value if isinstance(word, str)] if isinstance(value, list) else []
