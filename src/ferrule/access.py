"""Who is calling, locally: tokens, the people they stand for, and what each may do.

A workspace starts with two: the owner's (answers requests, changes rules; used by the command line and the console) and the
agents' (makes calls). So one person at one machine can do everything, and an agent cannot approve itself. Only digests
of tokens are stored, besides the two that the command line uses itself.
"""

from __future__ import annotations

import fcntl
import getpass
import hashlib
import hmac
import os
import secrets
from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from datetime import UTC, datetime
from pathlib import Path

import msgspec

from ferrule.approval.keyfile import read_private, replace_private
from ferrule.approval.people import GROUP, person
from ferrule.errors import AccessError
from ferrule.model.approval import ADMIN, APPROVE, CALL, SCOPES, Identity
from ferrule.model.nearest import nearest

KEYS_FOLDER = ".ferrule/keys"
TOKENS_FILE = "tokens.json"
OWNER_FILE = "owner.token"
AGENT_FILE = "agent.token"
LOCK_FILE = "tokens.lock"
TOKEN_VARIABLE = "FERRULE_TOKEN"
AGENTS = "agents"
"""The person the agents' token stands for."""
_PREFIX = "frl"


class Token(msgspec.Struct, frozen=True, kw_only=True):
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
    digest: str
    """SHA-256 of the token, in hex. Tokens are long and random, so it gives nothing away."""

    @property
    def identity(self) -> Identity:
        """Who comes with it."""
        return Identity(self.person, f"token:{self.id}", frozenset(self.scopes), frozenset(self.groups))


class _File(msgspec.Struct, frozen=True):
    version: int
    tokens: tuple[Token, ...]


class Access:
    """The tokens of one workspace. The file is read again whenever it was changed, so a revoked token ends at once."""

    def __init__(self, root: str | Path, environment: Mapping[str, str] = os.environ) -> None:
        self._folder = Path(root) / KEYS_FOLDER
        self._environment = environment
        self._known: tuple[tuple[int, ...], dict[str, Token]] | None = None

    def authenticate(self, token: str) -> Identity:
        """Who comes with a token. Raises AccessError, which never tells what was wrong with it."""
        found = self._tokens().get(_id_of(token))
        expected = found.digest if found is not None else _digest("")
        is_right = hmac.compare_digest(_digest(token), expected)
        if found is None or not is_right or found.revoked is not None:
            raise AccessError("the token is not valid here; 'ferrule token list' shows those that are")
        return found.identity

    def local_owner(self) -> Identity:
        """Whoever runs a command here: FERRULE_TOKEN where it is set, else the owner's token. Raises AccessError."""
        return self._local(OWNER_FILE)

    def local_agent(self) -> Identity:
        """An agent that calls here: FERRULE_TOKEN where it is set, else the agents' token. Raises AccessError."""
        return self._local(AGENT_FILE)

    def tokens(self) -> tuple[Token, ...]:
        """Every token, oldest first, the revoked ones too."""
        return tuple(self._tokens().values())

    def add(self, by: Identity, name: str, scopes: Sequence[str], groups: Sequence[str] = ()) -> tuple[Token, str]:
        """Make a token; gives it with its secret, which is never seen again. Raises AccessError."""
        _demand_admin(by)
        _demand_name(name)
        for group in groups:
            _demand_name(group)
        _demand_scopes(scopes)
        with self._locked() as tokens:
            _demand_distinct(name, tokens.values())
            token, secret = _made(name, scopes, groups, _now(), taken=tokens)
            self._write((*tokens.values(), token))
        return token, secret

    def revoke(self, by: Identity, prefix: str) -> Token:
        """End a token, named by its id or the beginning of it. Raises AccessError."""
        _demand_admin(by)
        with self._locked() as tokens:
            token = _found(prefix, tokens)
            if token.revoked is not None:
                raise AccessError(f"the token {token.id} of {token.person} was revoked at {token.revoked} already")
            left = [other for other in tokens.values() if other.id != token.id and other.revoked is None]
            if ADMIN in token.scopes and not any(ADMIN in other.scopes for other in left):
                raise AccessError(f"{token.id} is the last token with the admin scope; add another one first")
            ended = msgspec.structs.replace(token, revoked=_now())
            self._write(ended if other.id == token.id else other for other in tokens.values())
        return ended

    def _local(self, file: str) -> Identity:
        given = self._environment.get(TOKEN_VARIABLE)
        if given:
            return self.authenticate(given.strip())
        self._tokens()
        stored = read_private(self._folder / file)
        if stored is None:
            raise AccessError(f"{self._folder / file} is not there; set {TOKEN_VARIABLE} to a token of yours")
        return self.authenticate(stored.decode("utf-8", "replace").strip())

    def _tokens(self) -> dict[str, Token]:
        """The tokens by id; made on first use."""
        stamp = self._stamp()
        if stamp is None:
            with self._locked() as tokens:
                return tokens
        if self._known is None or self._known[0] != stamp:
            self._known = (stamp, self._read())
        return self._known[1]

    @contextmanager
    def _locked(self) -> Iterator[dict[str, Token]]:
        """The tokens as they are now, while no other process changes them."""
        with _lock(self._folder / LOCK_FILE):
            if self._stamp() is None:
                self._begin()
            yield self._read()

    def _stamp(self) -> tuple[int, ...] | None:
        """Changes with every write, since each writes another file."""
        try:
            facts = os.stat(self._folder / TOKENS_FILE)
        except FileNotFoundError:
            return None
        except OSError as error:
            raise AccessError(f"{self._folder / TOKENS_FILE} cannot be read: {error.strerror}") from None
        return facts.st_mtime_ns, facts.st_ctime_ns, facts.st_ino, facts.st_size

    def _read(self) -> dict[str, Token]:
        file = self._folder / TOKENS_FILE
        data = read_private(file) or b""
        try:
            stored = msgspec.json.decode(data, type=_File)
        except msgspec.MsgspecError as error:
            raise AccessError(
                f"{file} is damaged ({error}); restore it, or remove it to begin with new tokens"
            ) from None
        return {token.id: token for token in stored.tokens}

    def _begin(self) -> None:
        """The first two tokens. The list is written last: without it everything begins anew."""
        at = _now()
        owner, owner_secret = _made(_user(), (APPROVE, ADMIN), (), at, taken={})
        agent, agent_secret = _made(AGENTS, (CALL,), (), at, taken={owner.id: owner})
        replace_private(self._folder / OWNER_FILE, f"{owner_secret}\n".encode())
        replace_private(self._folder / AGENT_FILE, f"{agent_secret}\n".encode())
        self._write((owner, agent))

    def _write(self, tokens: Iterable[Token]) -> None:
        data = msgspec.json.encode(_File(1, tuple(tokens)))
        replace_private(self._folder / TOKENS_FILE, msgspec.json.format(data, indent=2) + b"\n")


@contextmanager
def _lock(file: Path) -> Iterator[None]:
    try:
        file.parent.mkdir(parents=True, exist_ok=True)
        descriptor = os.open(file, os.O_RDWR | os.O_CREAT, 0o600)
    except OSError as error:
        raise AccessError(f"cannot write {file}: {error.strerror}") from None
    try:
        fcntl.flock(descriptor, fcntl.LOCK_EX)
        yield
    finally:
        os.close(descriptor)


def _made(
    name: str, scopes: Sequence[str], groups: Sequence[str], at: str, *, taken: Mapping[str, Token]
) -> tuple[Token, str]:
    number = secrets.token_hex(4)
    while number in taken:
        number = secrets.token_hex(4)
    secret = f"{_PREFIX}_{number}_{secrets.token_urlsafe(32)}"
    ordered = tuple(scope for scope in SCOPES if scope in scopes)
    token = Token(
        id=number, person=name, scopes=ordered, groups=tuple(dict.fromkeys(groups)), created=at, digest=_digest(secret)
    )
    return token, secret


def _id_of(token: str) -> str:
    parts = token.split("_", 2)
    return parts[1] if len(parts) == 3 and parts[0] == _PREFIX else ""


def _digest(token: str) -> str:
    return hashlib.sha256(token.encode("utf-8", "surrogatepass")).hexdigest()


def _found(prefix: str, tokens: Mapping[str, Token]) -> Token:
    found = [token for token in tokens.values() if prefix and token.id.startswith(prefix)]
    if len(found) != 1:
        which = f"{len(found)} tokens begin with {prefix!r}" if found else f"there is no token {prefix!r}"
        raise AccessError(f"{which}; 'ferrule token list' shows their ids")
    return found[0]


def _demand_admin(by: Identity) -> None:
    if ADMIN not in by.scopes:
        raise AccessError(f"{by.principal} came by {by.channel}, which does not hold the admin scope")


def _demand_scopes(scopes: Sequence[str]) -> None:
    if not scopes:
        raise AccessError(f"a token needs a scope: {', '.join(SCOPES)}")
    for scope in scopes:
        if scope not in SCOPES:
            hint = nearest(scope, SCOPES) or f"known: {', '.join(SCOPES)}"
            raise AccessError(f"there is no scope {scope!r}; {hint}")


def _demand_name(name: str) -> None:
    if not person(name) or not name.isprintable() or name != name.strip() or name.startswith(GROUP):
        raise AccessError(f"{name!r} is no name for a person or group; write it without odd spaces, signs or 'group:'")


def _demand_distinct(name: str, tokens: Iterable[Token]) -> None:
    """Two spellings of one person would look like two people in the record."""
    for token in tokens:
        if token.person != name and person(token.person) == person(name):
            raise AccessError(f"there is a token of {token.person!r} already; write the same person the same way")


def _user() -> str:
    try:
        return getpass.getuser()
    except (KeyError, OSError):  # a container without a name for its user
        return "owner"


def _now() -> str:
    return datetime.now(UTC).isoformat(timespec="seconds").replace("+00:00", "Z")
