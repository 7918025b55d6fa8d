"""The keys of a workspace: tokens, the people they stand for, and what each may do.

A workspace starts with two: the owner's (answers requests, changes rules; the command line and the console use it) and the
agents' (makes calls). So one person at one machine can do everything, and an agent cannot approve its own calls. Only
hashes of tokens are stored, besides the two that the command line uses itself.
"""

from __future__ import annotations

import getpass
import os
import secrets
import time
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import NamedTuple

import msgspec

from ferrule.access.last_use import KeyUse, lock_file
from ferrule.access.tokens import (
    CHANNEL,
    InvalidToken,
    KeyLimits,
    Token,
    TokenFile,
    check_distinct,
    check_limits,
    check_name,
    check_scopes,
    find_token,
    format_moment,
    hash_secret,
    make_secret,
    make_token,
    read_token_id,
    why_ended,
)
from ferrule.errors import AccessError
from ferrule.infra.private_files import read_private, replace_private
from ferrule.model.approval import ADMIN, APPROVE, CALL, Identity

KEYS_FOLDER = ".ferrule/keys"
TOKENS_FILE = "tokens.json"
OWNER_FILE = "owner.token"
AGENT_FILE = "agent.token"
LOCK_FILE = "tokens.lock"
SIGN_IN_FOLDER = "sign-in"
CODE_SECONDS = 600.0
"""How long a sign-in link to the console is valid."""
TOKEN_VARIABLE = "FERRULE_TOKEN"
AGENTS = "agents"
"""The person the agents' token stands for."""
GRACE_SECONDS = 24 * 3600
"""How long the previous secret stays valid after a rotation."""
_ANYTHING = KeyLimits()


class PresentedToken(NamedTuple):
    """A valid token, found by its secret."""

    token: Token
    ends: float | None
    """When the secret expires, in seconds since 1970; None: never."""


class Access:
    """The tokens of one workspace. A changed file is read again, so a revoked token ends at once."""

    def __init__(
        self,
        root: str | Path,
        environment: Mapping[str, str] = os.environ,
        clock: Callable[[], float] = time.time,
    ) -> None:
        self._folder = Path(root) / KEYS_FOLDER
        self._file = str(self._folder / TOKENS_FILE)
        self._clock = clock
        self.use = KeyUse(self._folder)
        self._environment = environment
        self._known: tuple[tuple[int, ...], dict[str, Token]] | None = None

    def authenticate(self, token: str) -> Identity:
        """Returns the identity behind a token. Raises InvalidToken, and AccessError when the tokens cannot be read."""
        return self.present(token).token.identity

    def present(self, secret: str) -> PresentedToken:
        """Returns the token that a secret belongs to, and when it expires. Raises AccessError as `authenticate` does."""
        token, digest = self._require_tokens().get(read_token_id(secret)), hash_secret(secret)
        if token is None:
            raise InvalidToken
        ends = token.valid_until(digest)
        if ends is not None and ends <= self._clock():
            raise InvalidToken
        return PresentedToken(token, ends)

    def why_ended(self, channel: str, now: float) -> str | None:
        """Returns why this channel's key is no longer valid: revoked, expired or removed. None while it is, and for channels
        without a key. Raises AccessError when the tokens cannot be read."""
        if not channel.startswith(CHANNEL):
            return None
        return why_ended(channel, self._load_tokens() or {}, now)

    def local_owner(self) -> Identity:
        """Returns the identity of commands here: FERRULE_TOKEN where it is set, else the owner's token. Raises AccessError."""
        return self._authenticate_local(OWNER_FILE)

    def local_agent(self) -> Identity:
        """Returns the identity of agents here: FERRULE_TOKEN where it is set, else the agents' token. Raises AccessError."""
        return self._authenticate_local(AGENT_FILE)

    def prepare(self) -> None:
        """Makes the first two tokens, unless there are some. Servers do so at their start: no request may cause it."""
        if self._load_tokens() is None:
            with self._lock_tokens():
                pass

    def check_readable(self) -> None:
        """Raises AccessError when the tokens are not there, or cannot be read."""
        self._require_tokens()

    def list_tokens(self) -> tuple[Token, ...]:
        """Returns every token, oldest first, revoked ones too. Raises AccessError when they cannot be read."""
        return tuple((self._load_tokens() or {}).values())

    def list_visible_tokens(self, by: Identity) -> tuple[Token, ...]:
        """Returns the tokens an administrator may know of, oldest first. Raises AccessError."""
        _require_admin(by, by.tenant)
        return tuple(self._filter_by_tenant(by, self._load_tokens() or {}).values())

    def add(
        self, by: Identity, name: str, scopes: Sequence[str], groups: Sequence[str] = (), limits: KeyLimits = _ANYTHING
    ) -> tuple[Token, str]:
        """Makes a token and returns it with its secret, which is stored nowhere. Raises AccessError."""
        _require_admin(by, limits.tenant)
        for one in (name, *groups):
            check_name(one)
        check_scopes(scopes)
        check_limits(limits, self._clock())
        with self._lock_tokens() as tokens:
            check_distinct(name, tokens.values())
            token, secret = make_token(name, scopes, groups, self._now(), limits, taken=tokens)
            self._write((*tokens.values(), token))
        return token, secret

    def revoke(self, by: Identity, prefix: str) -> Token:
        """Revokes a token, named by its id or a prefix of it. Raises AccessError."""
        _require_admin(by, by.tenant)
        with self._lock_tokens() as tokens:
            token = self._find_token(by, prefix, tokens)
            if token.revoked is not None:
                raise AccessError(f"the key {token.id} of {token.person} was revoked at {token.revoked} already")
            now = self._clock()
            left = [other for other in tokens.values() if other.id != token.id and not other.has_ended(now)]
            # Without any administrator nobody could ever add a key again.
            if _is_global_admin(token) and not any(map(_is_global_admin, left)):
                raise AccessError(f"{token.id} is the last key with the admin scope; add another one first")
            ended = msgspec.structs.replace(token, revoked=self._now(), previous=None, previous_until=None)
            self._write(ended if other.id == token.id else other for other in tokens.values())
        return ended

    def rotate(self, by: Identity, prefix: str, grace_seconds: float = GRACE_SECONDS) -> tuple[Token, str]:
        """Gives a token a new secret. The previous one stays valid for the grace time, so that clients can change over; the one
        before that ends now. Raises AccessError."""
        _require_admin(by, by.tenant)
        with self._lock_tokens() as tokens:
            token = self._find_token(by, prefix, tokens)
            if token.has_ended(self._clock()):
                raise AccessError(f"the key {token.id} of {token.person} has ended; add a new one instead")
            secret, has_grace = make_secret(token.id), grace_seconds > 0
            turned = msgspec.structs.replace(
                token,
                digest=hash_secret(secret),
                rotated=self._now(),
                previous=token.digest if has_grace else None,
                previous_until=format_moment(self._clock() + grace_seconds) if has_grace else None,
            )
            for name in (OWNER_FILE, AGENT_FILE):  # commands here read their tokens from these
                stored = read_private(self._folder / name)
                if stored is not None and hash_secret(stored.decode("utf-8", "replace").strip()) == token.digest:
                    replace_private(self._folder / name, f"{secret}\n".encode())
            self._write(turned if other.id == token.id else other for other in tokens.values())
        return turned, secret

    def make_sign_in_code(self) -> str:
        """Makes a code that opens the console once, within ten minutes, for the person at this machine. Raises AccessError."""
        given = self._environment.get(TOKEN_VARIABLE)
        self.local_owner()  # raises for a token that is no longer valid
        stored = given.encode() if given else read_private(self._folder / OWNER_FILE) or b""
        self._remove_expired_codes()
        code = secrets.token_urlsafe(24)
        replace_private(self._folder / SIGN_IN_FOLDER / hash_secret(code), stored.strip())
        return code

    def redeem_code(self, code: str) -> str | None:
        """Returns the token behind a sign-in code, and uses the code up; None for an unknown or expired one."""
        file = self._folder / SIGN_IN_FOLDER / hash_secret(code)
        try:
            taken = file.with_suffix(f".{secrets.token_hex(4)}")
            # Renaming decides between processes that redeem one code at once: the second finds no file.
            file.rename(taken)
            made_at = taken.stat().st_mtime
            secret = taken.read_text(encoding="utf-8")
            taken.unlink()
        except (OSError, UnicodeDecodeError):
            return None
        finally:
            self._remove_expired_codes()
        # abs(): after the clock was set back a code must not be valid for longer than it was meant to.
        return secret if abs(self._clock() - made_at) < CODE_SECONDS else None

    def _remove_expired_codes(self) -> None:
        """Removes sign-in codes that expired unused."""
        with suppress(OSError):
            for file in (self._folder / SIGN_IN_FOLDER).iterdir():
                if abs(self._clock() - file.stat().st_mtime) >= CODE_SECONDS:
                    file.unlink()

    def _find_token(self, by: Identity, prefix: str, tokens: Mapping[str, Token]) -> Token:
        """Finds a token by the beginning of its id, among those this administrator may know of."""
        return find_token(prefix, self._filter_by_tenant(by, tokens))

    def _filter_by_tenant(self, by: Identity, tokens: Mapping[str, Token]) -> dict[str, Token]:
        """Returns the tokens an administrator may know of: those of one tenant, for an administrator of that tenant."""
        return {key: token for key, token in tokens.items() if by.tenant in (None, token.tenant)}

    def _authenticate_local(self, file: str) -> Identity:
        self.prepare()
        given = self._environment.get(TOKEN_VARIABLE)
        if given:
            return self._authenticate_stored(given, TOKEN_VARIABLE)
        stored = read_private(self._folder / file)
        if stored is None:
            raise AccessError(f"{self._folder / file} is not there; set {TOKEN_VARIABLE} to a token of yours")
        return self._authenticate_stored(stored.decode("utf-8", "replace"), f"{KEYS_FOLDER}/{file}")

    def _authenticate_stored(self, secret: str, where: str) -> Identity:
        """Returns the identity of a token that is stored at a place. Raises AccessError."""
        try:
            return self.authenticate(secret.strip())
        except InvalidToken:
            if where == TOKEN_VARIABLE:
                raise AccessError(
                    f"the token in {where} is not valid here; unset it, or set it to a valid one"
                ) from None
            raise AccessError(
                f"the token in {where} is not valid here; 'ferrule key list' shows those that are, 'ferrule key add NAME' makes"
                f" one, and {TOKEN_VARIABLE} takes it"
            ) from None

    def _require_tokens(self) -> dict[str, Token]:
        """Returns the tokens by id. Raises AccessError when there are none."""
        kept = self._load_tokens()
        if kept is None:
            raise AccessError(
                f"{self._folder / TOKENS_FILE} is not there; put it back, or begin with new tokens: 'ferrule key list' makes them"
            )
        return kept

    def _load_tokens(self) -> dict[str, Token] | None:
        """Returns the tokens by id; None before the first were made. Raises AccessError."""
        state = self.state()
        if state is None:
            return None
        if self._known is None or self._known[0] != state:
            self._known = (state, self._read())
        return self._known[1]

    @contextmanager
    def _lock_tokens(self) -> Iterator[dict[str, Token]]:
        """Yields the present tokens, and keeps other processes from changing them meanwhile."""
        with lock_file(self._folder / LOCK_FILE):
            if self.state() is None:
                self._make_first_tokens()
            yield self._read()

    def state(self) -> tuple[int, ...] | None:
        """Returns a value that differs after every write, since each writes a new file; None before the first."""
        try:
            facts = os.stat(self._file)
        except FileNotFoundError:
            return None
        except OSError as error:
            raise AccessError(f"{self._folder / TOKENS_FILE} cannot be read: {error.strerror}") from None
        return facts.st_mtime_ns, facts.st_ctime_ns, facts.st_ino, facts.st_size

    def _read(self) -> dict[str, Token]:
        file = self._folder / TOKENS_FILE
        data = read_private(file) or b""
        try:
            stored = msgspec.json.decode(data, type=TokenFile)
        except msgspec.MsgspecError as error:
            raise AccessError(
                f"{file} is damaged ({error}); restore it, or remove it to begin with new tokens"
            ) from None
        return {token.id: token for token in stored.tokens}

    def _make_first_tokens(self) -> None:
        """Makes the first two tokens."""
        at = self._now()
        owner, owner_secret = make_token(_user(), (APPROVE, ADMIN), (), at, _ANYTHING, taken=())
        agent, agent_secret = make_token(AGENTS, (CALL,), (), at, _ANYTHING, taken=(owner.id,))
        replace_private(self._folder / OWNER_FILE, f"{owner_secret}\n".encode())
        replace_private(self._folder / AGENT_FILE, f"{agent_secret}\n".encode())
        # Last: after a crash before this line there is no list, and everything begins anew.
        self._write((owner, agent))

    def _write(self, tokens: Iterable[Token]) -> None:
        data = msgspec.json.encode(TokenFile(1, tuple(tokens)))
        replace_private(self._folder / TOKENS_FILE, msgspec.json.format(data, indent=2) + b"\n")

    def _now(self) -> str:
        return format_moment(self._clock())


def _is_global_admin(token: Token) -> bool:
    """True for an administrator of every tenant."""
    return ADMIN in token.scopes and token.tenant is None


def _require_admin(by: Identity, tenant: str | None) -> None:
    """Raises AccessError for a person who may not administer this tenant."""
    if ADMIN not in by.scopes:
        raise AccessError(f"{by.principal} came by {by.channel}, which does not hold the admin scope")
    if by.tenant is not None and by.tenant != tenant:
        raise AccessError(f"{by.principal} administers the tenant {by.tenant!r} alone")


def _user() -> str:
    try:
        return getpass.getuser()
    except (KeyError, OSError):  # a container without a name for its user
        return "owner"
