"""Keys of `ferrule key` as credentials: read from the workspace, dropped when revoked, with their last use noted.

`gate` stands above it. It does not know requests.
"""

from __future__ import annotations

import asyncio
import logging
import time
from collections.abc import Callable, Sequence
from typing import NamedTuple

from ferrule.access.keys import Access
from ferrule.access.last_use import COARSE_SECONDS
from ferrule.access.tokens import KeyLimits, Token, read_token_id
from ferrule.model.serving import GrantSettings
from ferrule.servers.auth.callers import LOCAL, Caller, apply_grants, make_caller

_log = logging.getLogger("ferrule.serve")
_NEVER = float("inf")


class AuthenticatedKey(NamedTuple):
    """The caller of a key, and when the key ends, in seconds since 1970."""

    caller: Caller
    ends: float
    token_id: str


class KeyRing:
    """The keys of one workspace, for servers."""

    def __init__(
        self, access: Access, grants: Sequence[GrantSettings] = (), clock: Callable[[], float] = time.time
    ) -> None:
        self._access = access
        self._grants = grants
        self._clock = clock
        self.state = access.state
        """Changes whenever a key does."""
        self._used: dict[str, float] = {}
        self._noted: dict[str, float] = {}
        self._writing: asyncio.Future[None] | None = None

    def authenticate(self, secret: str) -> AuthenticatedKey:
        """Returns the caller that a key authenticates. Raises AccessError and Refused."""
        token, ends = self._access.present(secret)
        return AuthenticatedKey(self._make_caller(token), _NEVER if ends is None else ends, token.id)

    def check_readable(self) -> None:
        """Raises AccessError when the keys are missing or unreadable."""
        self._access.check_readable()

    def why_invalid(self, secret: str) -> str:
        """Returns why a secret is not valid, for the log; never contains the secret."""
        known = {token.id: token for token in self._access.list_tokens()}
        token = known.get(read_token_id(secret))
        if token is None:
            return "a credential that is no key of this workspace ('ferrule key list' shows them)"
        who = f"the key {token.id} of {token.person}"
        over = token.why_ended(self._clock())
        if over is not None:
            return f"{who}, which {over}"
        return f"{who}, by a secret that is not its own, or was replaced when it was rotated"

    def local_agent(self) -> Caller:
        """Returns the caller for local use without the network: the holder of the environment's token, or the agents'
        token. Raises AccessError and Refused.
        """
        channel = self._access.local_agent().channel
        return next(
            self._make_caller(token) for token in self._access.list_tokens() if token.identity.channel == channel
        )

    def _make_caller(self, token: Token) -> Caller:
        groups = frozenset(token.groups)
        said = KeyLimits(tenant=token.tenant, agent=token.agent, role=token.role, surface=token.surface)
        bound = apply_grants(self._grants, token.person, groups, said, (LOCAL,))
        identity = token.identity
        return make_caller(identity.principal, identity.channel, identity.scopes, groups, bound, is_local=True)

    def note_use(self, token_id: str) -> float:
        """Records a use and returns when the next use is worth recording.

        A thread writes it, every ten minutes at most, so no request waits for the file.
        """
        now = self._clock()
        if self._noted.get(token_id, 0.0) <= now - COARSE_SECONDS:
            self._noted[token_id] = self._used[token_id] = now
            # While a write is under way this use stays in `_used`, for the next write or for `aclose`.
            if self._writing is None or self._writing.done():
                self._writing = asyncio.get_running_loop().run_in_executor(None, self._write)
        return self._noted[token_id] + COARSE_SECONDS

    async def aclose(self) -> None:
        """Waits until the recorded uses are written."""
        if self._writing is not None:
            await self._writing
        if self._used:
            await asyncio.get_running_loop().run_in_executor(None, self._write)

    def _write(self) -> None:
        used, self._used = self._used, {}
        self._access.use.note(used)
