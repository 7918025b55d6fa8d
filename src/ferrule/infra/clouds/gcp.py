"""The identity of this process at Google Cloud: access tokens for its interfaces, identity tokens for functions.

A service account's key signs an assertion, which its token address exchanges for a token: that goes through our guarded
client. Without such a key the library's own chain finds the identity (files, workload identity, metadata).
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from pathlib import Path
from typing import Any

import msgspec

from ferrule.contracts.executor import ExecutionFailed
from ferrule.infra.clouds.expiring_cache import Fresh
from ferrule.infra.clouds.tokens import HOUR, Account, TokenCloud, identify_account
from ferrule.infra.drivers import load_driver

CLOUD_PLATFORM = "https://www.googleapis.com/auth/cloud-platform"
_TOKEN_URI = "https://oauth2.googleapis.com/token"
_GRANT = "urn:ietf:params:oauth:grant-type:jwt-bearer"
_FILE = "GOOGLE_APPLICATION_CREDENTIALS"
_ADVICE = f"set {_FILE}, or give its machine a service account"
_NAMES = ("client_email", "token_uri")


class Gcp(TokenCloud):
    """Google Cloud, as this process sees it."""

    name = "Google Cloud"

    async def access_token(
        self, service_account: Account | None = None, scopes: Iterable[str] = (CLOUD_PLATFORM,)
    ) -> str:
        """Returns a token for Google's interfaces; of this process's own identity without a service account."""
        wanted = tuple(scopes)
        account = service_account or self._own_account()
        key = ("access", identify_account(account, _NAMES, "private_key"), self._env.get(_FILE), wanted)
        if account is not None:
            claims = {"scope": " ".join(wanted)}
            return await self._kept.get(key, lambda: self._exchange_key(account, claims, "access_token"))
        return await self._kept.get(key, lambda: self._own(_own_access_token, wanted))

    async def identity_token(self, service_account: Account | None, audience: str) -> str:
        """Returns a token that proves our identity to one audience, such as the address of a function."""
        account = service_account or self._own_account()
        key = ("identity", identify_account(account, _NAMES, "private_key"), self._env.get(_FILE), audience)
        if account is not None:
            claims = {"target_audience": audience}
            return await self._kept.get(key, lambda: self._exchange_key(account, claims, "id_token"))
        return await self._kept.get(key, lambda: self._own(_own_identity_token, audience))

    async def _exchange_key(self, account: Account, claims: Mapping[str, str], member: str) -> Fresh[str]:
        where = str(account.get("token_uri") or _TOKEN_URI)
        form = {"grant_type": _GRANT, "assertion": self._sign_statement(account, where, claims)}
        return await self._exchange(where, form, member, f"the key of {_whose(account)}")

    def _sign_statement(self, account: Account, where: str, claims: Mapping[str, str]) -> str:
        crypt, jwt = load_driver("google.auth.crypt"), load_driver("google.auth.jwt")
        self._learn("Google Cloud private key", str(account.get("private_key", "")))
        try:
            signer = crypt.RSASigner.from_service_account_info(dict(account))
        except Exception:  # what the libraries below raise for a bad key may quote it
            raise ExecutionFailed(
                "credential_missing",
                f"the private key of {_whose(account)} cannot be read",
                code="credential_shape",
            ) from None
        at = int(self._now())
        whole = {"iss": account["client_email"], "aud": where, "iat": at, "exp": at + HOUR, **claims}
        statement = str(jwt.encode(signer, whole).decode())
        self._learn("Google Cloud assertion", statement)
        return statement

    def _own_account(self) -> Account | None:
        """Returns the service account in the file that the environment names. Other kinds of files are left to the
        library."""
        path = self._env.get(_FILE)
        if not path:
            return None
        try:
            account = msgspec.json.decode(Path(path).read_bytes())
        except (OSError, msgspec.DecodeError, UnicodeDecodeError):
            raise ExecutionFailed(
                "credential_missing", f"the file that {_FILE} names cannot be read", code="identity_unavailable"
            ) from None
        is_account = isinstance(account, dict) and account.get("type") == "service_account"
        return account if is_account and account.get("client_email") else None

    async def _own(self, ask: Callable[..., tuple[str, float | None]], *given: object) -> Fresh[str]:
        load_driver("google.auth.transport.requests")
        return await self._find(_ADVICE, ask, *given)


def _whose(account: Account) -> str:
    return repr(account.get("client_email", "the service account"))


def _own_access_token(scopes: tuple[str, ...]) -> tuple[str, float | None]:
    credentials, _ = load_driver("google.auth").default(scopes=scopes)
    return _refresh(credentials)


def _own_identity_token(audience: str) -> tuple[str, float | None]:
    request = load_driver("google.auth.transport.requests").Request()
    known = load_driver("google.oauth2.id_token")
    return _refresh(known.fetch_id_token_credentials(audience, request=request))


def _refresh(credentials: Any) -> tuple[str, float | None]:
    credentials.refresh(load_driver("google.auth.transport.requests").Request())
    # The library tells the time without a zone, and means UTC.
    expiry = credentials.expiry
    ends_at = None if expiry is None else (expiry - type(expiry)(1970, 1, 1)).total_seconds()
    return str(credentials.token), ends_at
