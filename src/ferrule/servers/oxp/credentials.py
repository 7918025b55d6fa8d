"""Credentials of OXP: an API key, a token signed with a shared secret, a token of the other servers, or none.

Several kinds may be accepted at once (OXP-46). Every invalid credential gets the same 401 (OXP-47); only the log has
the reason.
"""

from __future__ import annotations

import logging
import os
import time
import warnings
from collections.abc import Mapping
from typing import Any

import jwt

from ferrule.access.tokens import KeyLimits, is_token
from ferrule.errors import SettingsError
from ferrule.infra.tasks import resolve
from ferrule.model.approval import CALL, Identity
from ferrule.model.serving import OxpSettings
from ferrule.model.value import JsonObject
from ferrule.servers.asgi import HttpRequest
from ferrule.servers.auth.callers import LOCAL, SIGNED, Caller, Refused, apply_grants, has_scope, make_caller
from ferrule.servers.auth.jwt_gate import TokenRejected
from ferrule.servers.auth.refusals import reason_of
from ferrule.servers.edge import Edge

API_KEY = b"oxp-api-key"
BEARER = 'Bearer realm="oxp"'
ANYBODY = Caller(Identity("local", "oxp:open", frozenset({CALL})))
_SHORTEST_SECRET = 32
_PASSED_ON = (429, 503)
"""Statuses of refusals that are not about the credential."""
_OPTIONS: Any = {"require": ["exp"], "verify_aud": False, "verify_iat": False, "verify_sub": False}
_SIGNER = "oxp"
"""The principal of tokens without a subject."""
_log = logging.getLogger("ferrule.oxp")


class OxpAuthenticator:
    """Authenticates callers in the ways that `[serve.oxp] auth` names."""

    def __init__(self, edge: Edge, environment: Mapping[str, str] | None = None) -> None:
        """Raises SettingsError for a secret that is named and not set, or that is missing though it is the only way in."""
        settings = edge.settings.oxp
        self._edge = edge
        self._settings = settings
        self._is_open = "none" in settings.auth or not edge.settings.auth
        self._secret = "" if self._is_open or "jwt" not in settings.auth else _read_shared_secret(
            settings, os.environ if environment is None else environment
        )  # fmt: skip
        self._takes_keys = "api-key" in settings.auth
        self._takes_tokens = "bearer" in settings.auth or bool(self._secret)

    async def caller(self, request: HttpRequest) -> Caller:
        """Returns the caller of a request. Raises Refused (401)."""
        if self._is_open:  # headers are ignored, even invalid ones (OXP-43)
            return ANYBODY
        try:
            return await self._authenticate(request)
        except TokenRejected as why:
            raise self._refuse(str(why), is_shown=self._has_credential(request)) from None

    def _has_credential(self, request: HttpRequest) -> bool:
        """Returns True when a request has a header that could hold a credential."""
        if self._takes_keys and request.header(API_KEY) is not None:
            return True
        return self._takes_tokens and (request.header(b"authorization") or "").lower().startswith("bearer ")

    def _refuse(self, why: str, *, is_shown: bool) -> Refused:
        """Returns the refusal: the accepted headers, and never what is wrong with the credential. `why` is for the log."""
        ways = ["OXP-API-Key: …"] if self._takes_keys else []
        ways += ["Authorization: Bearer …"] if self._takes_tokens else []
        wanted = " or ".join(ways)
        reason = (
            f"the credential is not valid here; this takes {wanted}"
            if is_shown
            else f"a credential is needed: {wanted}"
        )
        challenges = [BEARER] if self._takes_tokens else []
        challenges += ['OXP-API-Key realm="oxp"'] if self._takes_keys else []
        return refuse_credential(reason, ", ".join(challenges), detail=why)

    async def _authenticate(self, request: HttpRequest) -> Caller:
        """Returns the caller of a credential. Raises TokenRejected, and Refused for anything that is not about the
        credential.
        """
        key = request.header(API_KEY) if self._takes_keys else None
        if key is not None:
            return await self._with_token(_move_key_to_bearer(request, key))
        scheme, _, token = (request.header(b"authorization") or "").partition(" ")
        token = token.strip()
        if scheme.lower() != "bearer" or not token:
            raise TokenRejected
        takes_others, wrong = "bearer" in self._settings.auth, list[str]()
        if self._secret and not (takes_others and is_token(token)):
            try:
                return self._verify_signed(token)
            except TokenRejected as why:
                wrong.append(f"a token of the shared secret: {why}")
        if takes_others:
            try:
                return await self._with_token(request)
            except TokenRejected as why:
                wrong.append(str(why))
        raise TokenRejected("; ".join(wrong))

    async def _with_token(self, request: HttpRequest) -> Caller:
        """Returns the caller of a token that the other servers accept, too. Raises TokenRejected and Refused."""
        try:
            caller = await resolve(self._edge.gate.caller(request))
        except Refused as refused:
            if refused.status in _PASSED_ON:
                raise
            raise TokenRejected(refused.detail) from None
        if not has_scope(caller, CALL):
            raise TokenRejected(f"{caller.identity.principal} by {caller.identity.channel}, which has no scope to call")
        return caller

    def _verify_signed(self, token: str) -> Caller:
        """Returns the caller of a token of the shared secret (OXP-45). Raises TokenRejected for any other token, and
        for an invalid one.
        """
        try:
            claims = self._decode_claims(token)
        except (jwt.InvalidTokenError, ValueError, TypeError, OverflowError, RecursionError) as error:
            raise TokenRejected(reason_of(error)) from None
        if (
            not isinstance(claims.get("exp"), int | float)
            or claims["exp"] - time.time() > self._settings.jwt_max_seconds
        ):
            raise TokenRejected("it ends later than [serve.oxp] jwt_max_seconds allows")
        if not _is_for(claims.get("aud"), self._settings.jwt_audiences):
            raise TokenRejected("its aud is none of [serve.oxp] jwt_audiences")
        subject = claims.get("sub", _SIGNER)
        if not isinstance(subject, str) or not is_principal(subject):
            raise TokenRejected("its sub is no name")
        return self._apply_grants(subject)

    def _apply_grants(self, principal: str) -> Caller:
        """Returns the caller that the signer of a token becomes here. Raises TokenRejected when a grant refuses it."""
        groups: frozenset[str] = frozenset()
        try:
            bound = apply_grants(self._edge.settings.grants, principal, groups, KeyLimits(), (SIGNED, LOCAL))
        except Refused as refused:
            raise TokenRejected(refused.detail) from None
        return make_caller(principal, "oxp:jwt", frozenset({CALL}), groups, bound, is_local=False)

    def _decode_claims(self, token: str) -> JsonObject:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", jwt.InsecureKeyLengthWarning)  # logged once, when the server starts
            claims: JsonObject = jwt.decode(token, self._secret, algorithms=["HS256"], options=_OPTIONS)
        return claims


def refuse_credential(reason: str, challenge: str = BEARER, detail: str = "") -> Refused:
    """Returns the refusal of a credential that may not call. `detail`: the reason, for the log alone."""
    return Refused(401, reason, challenge=challenge, detail=detail)


def is_principal(text: str) -> bool:
    """Returns True for a text that may name a principal in a record."""
    return 0 < len(text) <= 256 and text.isprintable() and text == text.strip() and not text.startswith("group:")


def _is_for(audience: object, allowed: tuple[str, ...]) -> bool:
    """Returns True for a token without an audience, and for one with an audience of ours."""
    if audience is None:
        return True
    names = audience if isinstance(audience, list) else [audience]
    return any(isinstance(one, str) and one in allowed for one in names)


def _read_shared_secret(settings: OxpSettings, environment: Mapping[str, str]) -> str:
    if not settings.jwt_secret_env:
        if set(settings.auth) == {"jwt"}:
            raise SettingsError(
                "[serve.oxp] auth takes tokens of a shared secret alone, and none is named, so nobody could authenticate; name"
                " the environment variable that holds it in jwt_secret_env, or add api-key to auth"
            )
        if settings.auth != OxpSettings().auth:  # the default names jwt as well, so warn only about an explicit setting
            _log.warning(
                "[serve.oxp] auth names jwt, and jwt_secret_env no secret, so that no such token comes in; name one"
            )
        return ""
    secret = environment.get(settings.jwt_secret_env, "")
    if not secret:
        raise SettingsError(f"[serve.oxp] jwt_secret_env names {settings.jwt_secret_env}, which is not set; set it")
    if len(secret.encode()) < _SHORTEST_SECRET:
        _log.warning(
            "the secret in %s has fewer than %d bytes; make a longer one", settings.jwt_secret_env, _SHORTEST_SECRET
        )
    return secret


def _move_key_to_bearer(request: HttpRequest, key: str) -> HttpRequest:
    """Returns the request with its API key as a bearer token, as the gate expects it."""
    others = [header for header in request.headers if header[0] != b"authorization"]
    shown = (b"authorization", b"Bearer " + key.encode("latin-1"))
    scope = {
        **request.scope,
        "method": request.method,
        "path": request.path,
        "query_string": request.query,
        "headers": [*others, shown],
    }
    return HttpRequest(scope, _nothing)


async def _nothing() -> JsonObject:
    return {"type": "http.disconnect"}
