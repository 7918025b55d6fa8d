"""What a token is, how one is made and told apart, and what may be said about it. `keys.py` reads and writes the files."""

from __future__ import annotations

import hashlib
import hmac
import re
import secrets
from collections.abc import Collection, Iterable, Mapping, Sequence
from datetime import UTC, datetime

import msgspec

from ferrule.errors import AccessError
from ferrule.model.approval import SCOPES, Identity
from ferrule.model.hints import nearest
from ferrule.runtime.approval.check import GROUP, person

FOREIGN = "|"
"""Stands between an issuer and its subject in the names of people from elsewhere; no local name has it."""
CHANNEL = "token:"
"""Begins the channel of what came with a token; its id follows, which stays the same when it is rotated."""
_PREFIX = "frl"
_ID = re.compile(r"[0-9a-f]{8}")


class InvalidToken(AccessError):
    """A token that is not valid here. It never tells what was wrong with it."""

    def __init__(self) -> None:
        super().__init__("the token is not valid here; 'ferrule key list' shows those that are")


class KeyLimits(msgspec.Struct, frozen=True, kw_only=True):
    """What a key is bound to, besides its scopes."""

    tenant: str | None = None
    """Its calls belong to this tenant, and of others it learns nothing; None: the whole workspace."""
    agent: str | None = None
    """The agent of the catalog that calls with it."""
    role: str | None = None
    """The role its calls are held to."""
    surface: str | None = None
    """The surface record its calls follow."""
    expires: str | None = None
    """When it ends by itself, RFC 3339."""


class Token(KeyLimits, frozen=True, kw_only=True):
    """One token, without its secret."""

    id: str
    person: str
    """Whom it stands for."""
    scopes: tuple[str, ...]
    """`call`, `approve`, `admin`."""
    groups: tuple[str, ...] = ()
    created: str
    """When it was made, RFC 3339."""
    revoked: str | None = None
    rotated: str | None = None
    """When it got its secret, if that is not its first."""
    digest: str
    """SHA-256 of the secret, in hex. Secrets are long and random, so it gives nothing away."""
    previous: str | None = None
    """The same of the secret before."""
    previous_until: str | None = None
    """How long the secret before still counts."""

    @property
    def identity(self) -> Identity:
        """Who comes with it."""
        return Identity(
            self.person, f"{CHANNEL}{self.id}", frozenset(self.scopes), frozenset(self.groups), tenant=self.tenant
        )

    def valid_until(self, digest: str) -> float | None:
        """When a secret with this digest stops to count, in seconds since 1970; None: never. Raises NotValid for one that
        is not this token's, and for a token that was revoked."""
        is_new, is_old = hmac.compare_digest(digest, self.digest), hmac.compare_digest(digest, self.previous or "")
        if self.revoked is not None or not (is_new or is_old):
            raise InvalidToken
        ends = [text for text in (self.expires, None if is_new else self.previous_until or self.created) if text]
        return min(map(parse_moment, ends), default=None)

    def has_ended(self, now: float) -> bool:
        """True when it opens nothing any more."""
        return self.why_ended(now) is not None

    def why_ended(self, now: float) -> str | None:
        """What ended it: `was revoked at …`; None while it opens something."""
        if self.revoked is not None:
            return f"was revoked at {self.revoked}"
        if self.expires is not None and parse_moment(self.expires) <= now:
            return f"expired at {self.expires}"
        return None


class TokenFile(msgspec.Struct, frozen=True):
    """Every token of a workspace, as stored."""

    version: int
    tokens: tuple[Token, ...]


def make_token(
    name: str, scopes: Sequence[str], groups: Sequence[str], at: str, limits: KeyLimits, *, taken: Collection[str]
) -> tuple[Token, str]:
    """A token with its secret."""
    number = secrets.token_hex(4)
    while number in taken:
        number = secrets.token_hex(4)
    secret = make_secret(number)
    ordered = tuple(scope for scope in SCOPES if scope in scopes)
    token = Token(
        id=number,
        person=name,
        scopes=ordered,
        groups=tuple(dict.fromkeys(groups)),
        created=at,
        digest=hash_secret(secret),
        **msgspec.structs.asdict(limits),
    )
    return token, secret


def make_secret(token_id: str) -> str:
    """A secret for a token."""
    return f"{_PREFIX}_{token_id}_{secrets.token_urlsafe(32)}"


def read_token_id(secret: str) -> str:
    """The id of the token that a secret says it belongs to; empty when it says none."""
    parts = secret.split("_", 2)
    return parts[1] if len(parts) == 3 and parts[0] == _PREFIX else ""


def why_ended(channel: str, tokens: Mapping[str, Token], now: float) -> str | None:
    """Why nothing runs any more that came by a channel: its key has ended. None for any other, and for channels without one:
    whoever calls from Python may name theirs as they like."""
    if not channel.startswith(CHANNEL):
        return None
    key = channel.removeprefix(CHANNEL)
    token = tokens.get(key)
    if token is None:
        return f"the key {key} that it came with is no longer there" if _ID.fullmatch(key) else None
    over = token.why_ended(now)
    return None if over is None else f"the key {key} of {token.person} that it came with {over}"


def is_token(text: str) -> bool:
    """True for what could be the secret of a token; it may still not be valid."""
    return text.startswith(f"{_PREFIX}_")


def hash_secret(secret: str) -> str:
    """What is stored of a secret."""
    return hashlib.sha256(secret.encode("utf-8", "surrogatepass")).hexdigest()


def find_token(prefix: str, tokens: Mapping[str, Token]) -> Token:
    """The token whose id begins so. Raises AccessError."""
    matching = [token for token in tokens.values() if prefix and token.id.startswith(prefix)]
    if len(matching) != 1:
        which = f"{len(matching)} keys begin with {prefix!r}" if matching else f"there is no key {prefix!r}"
        raise AccessError(f"{which}; 'ferrule key list' (or 'ferrule token list') shows their ids")
    return matching[0]


def check_scopes(scopes: Sequence[str]) -> None:
    """Raises AccessError."""
    if not scopes:
        raise AccessError(f"a key needs a scope: {', '.join(SCOPES)}")
    for scope in scopes:
        if scope not in SCOPES:
            hint = nearest(scope, SCOPES) or f"known: {', '.join(SCOPES)}"
            raise AccessError(f"there is no scope {scope!r}; {hint}")


def check_name(name: str) -> None:
    """Raises AccessError for what cannot name a person, group or tenant."""
    is_plain = person(name) and name.isprintable() and name == name.strip() and not name.startswith(GROUP)
    if not is_plain or FOREIGN in name:
        raise AccessError(f"{name!r} is no name for a person or group; write it without odd spaces, signs or 'group:'")


def check_distinct(name: str, tokens: Iterable[Token]) -> None:
    """Two spellings of one person would look like two people in the record. Raises AccessError."""
    for token in tokens:
        if token.person != name and person(token.person) == person(name):
            raise AccessError(f"there is a key of {token.person!r} already; write the same person the same way")


def check_limits(limits: KeyLimits, now: float) -> None:
    """Raises AccessError for limits that make no sense."""
    for name in (limits.tenant, limits.agent, limits.role, limits.surface):
        if name is not None and (not name.isprintable() or not name.strip() or name != name.strip()):
            raise AccessError(f"{name!r} names no tenant, agent, role or surface; write it without odd spaces or signs")
    if limits.expires is not None and parse_moment(limits.expires) <= now:
        raise AccessError(f"{limits.expires} is over already; a key has to end later than now")


def parse_moment(text: str) -> float:
    """Seconds since 1970 of an RFC 3339 text; what cannot be read is over."""
    try:
        at = datetime.fromisoformat(text)
    except ValueError:
        return 0.0
    return (at if at.tzinfo is not None else at.replace(tzinfo=UTC)).timestamp()


def format_moment(seconds: float) -> str:
    """A moment, RFC 3339, to the second."""
    return datetime.fromtimestamp(seconds, UTC).isoformat(timespec="seconds").replace("+00:00", "Z")
