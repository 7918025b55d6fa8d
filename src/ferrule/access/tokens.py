"""Tokens: how they are made, checked and named. `keys.py` reads and writes the files."""

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
from ferrule.runtime.approval.check import GROUP, normalize_person

FOREIGN = "|"
"""Separates issuer and subject in the names of people from elsewhere; no local name contains it."""
CHANNEL = "token:"
"""Begins the channel of calls that came with a token; its id follows, which a rotation does not change."""
_PREFIX = "frl"
_ID = re.compile(r"[0-9a-f]{8}")


class InvalidToken(AccessError):
    """A token is not valid here. The message never says why."""

    def __init__(self) -> None:
        super().__init__("the token is not valid here; 'ferrule key list' shows those that are")


class KeyLimits(msgspec.Struct, frozen=True, kw_only=True):
    """The limits of a key, besides its scopes."""

    tenant: str | None = None
    """Its calls belong to this tenant, and other tenants are hidden from it; None: the whole workspace."""
    agent: str | None = None
    """The agent of the catalog that calls with it."""
    role: str | None = None
    """The role that limits its calls."""
    surface: str | None = None
    """The surface record that its calls use."""
    expires: str | None = None
    """When it expires, RFC 3339."""


class Token(KeyLimits, frozen=True, kw_only=True):
    """One token, without its secret."""

    id: str
    person: str
    """The person or agent it stands for."""
    scopes: tuple[str, ...]
    """`call`, `approve`, `admin`."""
    groups: tuple[str, ...] = ()
    created: str
    """When it was made, RFC 3339."""
    revoked: str | None = None
    rotated: str | None = None
    """When it got its present secret, if that is not its first."""
    digest: str
    """SHA-256 of the secret, in hex. Secrets are long and random, so it needs neither salt nor a slow hash."""
    previous: str | None = None
    """The hash of the previous secret."""
    previous_until: str | None = None
    """When the previous secret expires."""

    @property
    def identity(self) -> Identity:
        """The identity of callers with this token."""
        return Identity(
            self.person, f"{CHANNEL}{self.id}", frozenset(self.scopes), frozenset(self.groups), tenant=self.tenant
        )

    def valid_until(self, digest: str) -> float | None:
        """Returns when a secret with this digest expires, in seconds since 1970; None: never. Raises InvalidToken for the
        secret of another token, and for a revoked token."""
        # Both are compared, and in constant time: the duration must not tell how much of a secret is right.
        is_new, is_old = hmac.compare_digest(digest, self.digest), hmac.compare_digest(digest, self.previous or "")
        if self.revoked is not None or not (is_new or is_old):
            raise InvalidToken
        # A previous secret without an end of its own has ended: `created` is in the past.
        ends = [text for text in (self.expires, None if is_new else self.previous_until or self.created) if text]
        return min(map(parse_moment, ends), default=None)

    def has_ended(self, now: float) -> bool:
        """True when the token is revoked or expired."""
        return self.why_ended(now) is not None

    def why_ended(self, now: float) -> str | None:
        """Returns what ended the token: `was revoked at …`; None while it is valid."""
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
    """Makes a token with its secret."""
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
    """Makes a secret for a token."""
    return f"{_PREFIX}_{token_id}_{secrets.token_urlsafe(32)}"


def read_token_id(secret: str) -> str:
    """Returns the token id that a secret contains; empty when it contains none."""
    # Three parts at most: the random one may have underscores in it.
    parts = secret.split("_", 2)
    return parts[1] if len(parts) == 3 and parts[0] == _PREFIX else ""


def why_ended(channel: str, tokens: Mapping[str, Token], now: float) -> str | None:
    """Returns why a channel's key is no longer valid; None while it is, and for channels without a key."""
    if not channel.startswith(CHANNEL):
        return None
    key = channel.removeprefix(CHANNEL)
    token = tokens.get(key)
    if token is None:
        # Callers from Python name their channels freely: only a name with the shape of an id is a missing key.
        return f"the key {key} that it came with is no longer there" if _ID.fullmatch(key) else None
    over = token.why_ended(now)
    return None if over is None else f"the key {key} of {token.person} that it came with {over}"


def is_token(text: str) -> bool:
    """True for text with the shape of a secret; the token may still be invalid."""
    return text.startswith(f"{_PREFIX}_")


def hash_secret(secret: str) -> str:
    """Returns the hash of a secret, as it is stored."""
    # surrogatepass: environments may hold bytes that are no UTF-8; such a secret is refused, and raises nothing here.
    return hashlib.sha256(secret.encode("utf-8", "surrogatepass")).hexdigest()


def find_token(prefix: str, tokens: Mapping[str, Token]) -> Token:
    """Finds the token whose id begins with a prefix. Raises AccessError."""
    matching = [token for token in tokens.values() if prefix and token.id.startswith(prefix)]
    if len(matching) != 1:
        which = f"{len(matching)} keys begin with {prefix!r}" if matching else f"there is no key {prefix!r}"
        raise AccessError(f"{which}; 'ferrule key list' (or 'ferrule token list') shows their ids")
    return matching[0]


def check_scopes(scopes: Sequence[str]) -> None:
    """Raises AccessError for an unknown scope, or none."""
    if not scopes:
        raise AccessError(f"a key needs a scope: {', '.join(SCOPES)}")
    for scope in scopes:
        if scope not in SCOPES:
            hint = nearest(scope, SCOPES) or f"known: {', '.join(SCOPES)}"
            raise AccessError(f"there is no scope {scope!r}; {hint}")


def check_name(name: str) -> None:
    """Raises AccessError for text that cannot name a person, group or tenant."""
    is_plain = normalize_person(name) and name.isprintable() and name == name.strip() and not name.startswith(GROUP)
    if not is_plain or FOREIGN in name:
        raise AccessError(f"{name!r} is no name for a person or group; write it without odd spaces, signs or 'group:'")


def check_distinct(name: str, tokens: Iterable[Token]) -> None:
    """Raises AccessError for another spelling of a known person, which would look like two people in the record."""
    for token in tokens:
        if token.person != name and normalize_person(token.person) == normalize_person(name):
            raise AccessError(f"there is a key of {token.person!r} already; write the same person the same way")


def check_limits(limits: KeyLimits, now: float) -> None:
    """Raises AccessError for invalid limits."""
    for name in (limits.tenant, limits.agent, limits.role, limits.surface):
        if name is not None and (not name.isprintable() or not name.strip() or name != name.strip()):
            raise AccessError(f"{name!r} names no tenant, agent, role or surface; write it without odd spaces or signs")
    if limits.expires is not None and parse_moment(limits.expires) <= now:
        raise AccessError(f"{limits.expires} is over already; a key has to end later than now")


def parse_moment(text: str) -> float:
    """Returns the seconds since 1970 of an RFC 3339 text; 0 for unreadable text, so that it counts as expired."""
    try:
        at = datetime.fromisoformat(text)
    except ValueError:
        return 0.0
    return (at if at.tzinfo is not None else at.replace(tzinfo=UTC)).timestamp()


def format_moment(seconds: float) -> str:
    """Formats a moment as RFC 3339, to the second."""
    return datetime.fromtimestamp(seconds, UTC).isoformat(timespec="seconds").replace("+00:00", "Z")
