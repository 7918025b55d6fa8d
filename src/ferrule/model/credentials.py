"""Credentials: the schemes and references that a definition names, and the values that come with one call.

Secrets of a call serve its tool alone, are stored nowhere and appear in no text (AML-62 to AML-66). Requirements are
what an OXP tool asks of its caller (OXP-14 to OXP-17): names, never values. `is_literal_secret` recognises a credential
written into configuration, where a `${VAR}` placeholder belongs. `infra/credentials` handles the values.
"""

from __future__ import annotations

import re
from typing import Any, Literal

import msgspec

from ferrule.model.misfits import describe_complaint
from ferrule.model.value import JsonObject

Scheme = Literal["none", "iam-role", "api-key", "bearer-token", "oauth2", "service-account"]
SourceName = Literal["env", "aws_secrets_manager", "gcp_secret_manager", "azure_key_vault"]
Place = Literal["header", "query", "cookie"]
SECRET_SCHEMES: frozenset[Scheme] = frozenset({"api-key", "bearer-token", "service-account"})
TOKEN_URL = "x-token-url"
"""Our own key of `oauth2`: where tokens are asked for with a client's secret."""
AND = "x-and"
"""Our own key: further credentials that every request shows too."""
_STAGE = "x-version-stage"
_BESIDE = ("api-key", "bearer-token")
_KEY_WORDS = ("x-in", "x-name", "x-encode")
_FIELDS: dict[SourceName, tuple[str, ...]] = {
    "env": ("name",),
    "aws_secrets_manager": ("secret_id",),
    "gcp_secret_manager": ("project", "secret"),
    "azure_key_vault": ("vault_url", "secret_name"),
}


class SecretRef(msgspec.Struct, frozen=True, omit_defaults=True):
    """The place of one secret."""

    source: SourceName
    name: str = ""
    """Of `env`: the variable."""
    secret_id: str = ""
    """Of `aws_secrets_manager`: the name or ARN."""
    region: str = ""
    """Of `aws_secrets_manager`."""
    version_stage: str = ""
    """Of `aws_secrets_manager`: which version, `AWSCURRENT` when not said; in a definition, `x-version-stage`."""
    project: str = ""
    """Of `gcp_secret_manager`."""
    secret: str = ""
    """Of `gcp_secret_manager`."""
    version: str = ""
    """Of `gcp_secret_manager` (`latest` when not said), `azure_key_vault` and `aws_secrets_manager` (the newest)."""
    vault_url: str = ""
    """Of `azure_key_vault`."""
    secret_name: str = ""
    """Of `azure_key_vault`."""
    key: str = ""
    """The member to read of a secret that is a JSON map."""

    @property
    def absent(self) -> tuple[str, ...]:
        """The required members that are missing (AML-63)."""
        return tuple(name for name in _FIELDS[self.source] if not getattr(self, name))

    @property
    def label(self) -> str:
        """The name of the secret, for messages and records: never its value."""
        match self.source:
            case "env":
                return self.name
            case "aws_secrets_manager":
                label = self.secret_id
            case "gcp_secret_manager":
                label = f"{self.project}/{self.secret}"
            case "azure_key_vault":
                label = f"{self.vault_url.rstrip('/')}/{self.secret_name}"
        return f"{label}#{self.key}" if self.key else label


class Credentials(msgspec.Struct, frozen=True):
    """The `credentials` of a transport, parsed."""

    scheme: Scheme = "none"
    ref: SecretRef | None = None
    """Of `api-key`, `bearer-token` and `service-account`; of our own `oauth2` with client credentials: the client's secret."""
    header: str = ""
    """Of `api-key`."""
    provider: str = ""
    """Of `oauth2`: the cloud of the token broker."""
    function_id: str = ""
    """Of `oauth2`: the token broker."""
    scopes: tuple[str, ...] = ()
    place: Place = "header"
    """Of `api-key`: where it stands; in a definition, `x-in`."""
    place_name: str = ""
    """Of `api-key` in a query or a cookie: what it is called there; in a definition, `x-name`, and `header` when not said."""
    is_basic: bool = False
    """Of `api-key`: the secret is `user:password` and is shown as HTTP's Basic scheme has it; `x-encode: basic`."""
    others: tuple[Credentials, ...] = ()
    """Further credentials of the same request; in a definition, `x-and`."""
    written: dict[str, Any] = {}
    """The whole object as written: connection members of `iam-role` on a database, extension keys."""

    @property
    def label(self) -> str:
        """The requirements, for messages."""
        if self.ref is not None:
            return self.ref.label
        return self.function_id or self.scheme


class BadCredentials(ValueError):
    """Credentials that cannot be read; the message names the member."""


def read_credentials(written: object) -> Credentials:
    """Parses the credentials of a compiled payload. Raises BadCredentials. Fetches nothing."""
    if written is None:
        return NOTHING
    if not isinstance(written, dict):
        raise BadCredentials("'credentials' must be an object")
    try:
        head = msgspec.convert(written, _Head)
        ref = msgspec.convert(written, SecretRef) if "source" in written and _is_secret(head.scheme, written) else None
    except msgspec.ValidationError as error:
        raise BadCredentials(describe_complaint(error)) from None
    if ref is not None and isinstance(written.get(_STAGE), str):
        ref = msgspec.structs.replace(ref, version_stage=written[_STAGE])
    others = _others(written)
    if head.scheme != "api-key" and (stated := [key for key in _KEY_WORDS if key in written]):
        raise BadCredentials(f"'{stated[0]}' is for the scheme api-key, not for {head.scheme}")
    if head.encode and head.place != "header":
        raise BadCredentials("'x-encode: basic' is for a header; leave 'x-in' out")
    return Credentials(
        head.scheme, ref, head.header, head.provider, head.function_id, head.scopes,
        head.place, head.name or head.header, head.encode == "basic", others, written,
    )  # fmt: skip


def _others(written: JsonObject) -> tuple[Credentials, ...]:
    listed = written.get(AND, [])
    if not isinstance(listed, list):
        raise BadCredentials(f"'{AND}' must be a list of credentials")
    for each in listed:
        if not isinstance(each, dict) or each.get("scheme") not in _BESIDE:
            raise BadCredentials(f"each of '{AND}' must have the scheme {' or '.join(_BESIDE)}")
        if AND in each:
            raise BadCredentials(f"credentials in '{AND}' must not have '{AND}' themselves")
    return tuple(read_credentials(each) for each in listed)


def _is_secret(scheme: Scheme, written: JsonObject) -> bool:
    """Returns True for a scheme that sends a secret, and for a client's own secret when tokens are requested without a
    broker."""
    return scheme in SECRET_SCHEMES or (scheme == "oauth2" and TOKEN_URL in written)


class _Head(msgspec.Struct):
    scheme: Scheme = "none"
    header: str = ""
    provider: str = ""
    function_id: str = ""
    scopes: tuple[str, ...] = ()
    place: Place = msgspec.field(name="x-in", default="header")
    name: str = msgspec.field(name="x-name", default="")
    encode: Literal["", "basic"] = msgspec.field(name="x-encode", default="")


NOTHING = Credentials()


_SHORTEST = 4


class CallSecrets(dict[str, str]):
    """Secrets and tokens passed with one call, by the ids a tool names them by."""

    @property
    def secrets(self) -> frozenset[str]:
        """Their values, to be kept out of everything; what is too short to be one would only blot out other texts."""
        return frozenset(value for value in self.values() if len(value) >= _SHORTEST)

    def __repr__(self) -> str:
        return f"CallSecrets({', '.join(sorted(self))})"  # tracebacks print it


NO_CALL_SECRETS = CallSecrets()
"""The empty one. Never changed."""


_WORD = re.compile(r"[A-Z]+(?![a-z])|[A-Z]?[a-z]+|[0-9]+")
_LAST_WORDS = frozenset(
    {
        *("token", "secret", "password", "passwd", "credential", "credentials", "authorization"),
        *("apikey", "accesskey", "privatekey"),
    }
)
_KEY_KINDS = frozenset({"api", "access", "private"})
_LOOKS_SECRET = re.compile(
    r"[A-Za-z][A-Za-z0-9+.:-]*://[^/?#\s:@]*:[^/?#\s@]+@"  # a URL with user:password@
    r"|sk-|ghp_|xoxb-|AKIA[0-9A-Z]{4}"
    r"|eyJ[A-Za-z0-9_-]+\."  # a JWT
)


def is_secret_name(name: str) -> bool:
    """Returns True when a key's last word or words name a credential, in any case style: `emailApiKey` does,
    `maxTokens` does not."""
    # The end of a name decides, and a stranger's name may be of any length.
    words = [word.lower() for word in _WORD.findall(name[-200:])]
    if not words:
        return False
    return words[-1] in _LAST_WORDS or (len(words) > 1 and words[-1] == "key" and words[-2] in _KEY_KINDS)


def is_literal_secret(name: str, value: object) -> bool:
    """Returns True when the value under this key looks like a credential written out. Only strings without `${` can."""
    if not isinstance(value, str) or not value.strip() or "${" in value:
        return False
    return is_secret_name(name) or _LOOKS_SECRET.match(value) is not None


class Requirements(msgspec.Struct, frozen=True):
    """The `requirements` of an OXP definition, parsed."""

    secrets: frozenset[str] = frozenset()
    """Their ids."""
    authorization: dict[str, tuple[str, ...]] = {}
    """The scopes that are wanted, by the id of who gives the token."""
    user_id: bool = False

    @property
    def is_anything(self) -> bool:
        """False when nothing is required."""
        return bool(self.secrets or self.authorization or self.user_id)


def read_requirements(written: object) -> Requirements:
    """Parses the requirements of a compiled payload. Unknown requirements are ignored."""
    if not isinstance(written, dict):
        return Requirements()
    authorization: dict[str, tuple[str, ...]] = {}
    for entry in _entries_with_id(written.get("authorization")):
        oauth2 = entry.get("oauth2")
        scopes = oauth2.get("scopes") if isinstance(oauth2, dict) else None
        known = [scope for scope in scopes if isinstance(scope, str)] if isinstance(scopes, list) else []
        authorization[entry["id"]] = tuple(dict.fromkeys((*authorization.get(entry["id"], ()), *known)))
    secrets = frozenset(entry["id"] for entry in _entries_with_id(written.get("secrets")))
    return Requirements(secrets, authorization, written.get("user_id") is True)


def _entries_with_id(entries: object) -> list[JsonObject]:
    members = entries if isinstance(entries, list) else []
    return [entry for entry in members if isinstance(entry, dict) and isinstance(entry.get("id"), str)]
