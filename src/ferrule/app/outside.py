"""What reaches beyond this process: the network, the clouds, secrets, and what users authorized. All of it is made when it is
first asked for: loading it takes a good part of the time in which a client expects its first answer."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import TYPE_CHECKING

import msgspec

from ferrule.contracts.registry import late
from ferrule.settings import Settings

if TYPE_CHECKING:
    from ferrule.infra.credentials.oauth import Authorizations
    from ferrule.infra.credentials.oauth_tokens import UserTokens
    from ferrule.runtime.executors.surroundings import Surroundings

_authorizations_of: Callable[..., Authorizations] = late("ferrule.app.surroundings:authorizations_of")
_user_tokens: Callable[..., UserTokens] = late("ferrule.infra.credentials.oauth_tokens:UserTokens")


class Outside:
    """One process's, shared by all that need it."""

    def __init__(
        self,
        surroundings: Callable[[], Surroundings],
        settings: Settings,
        tick: Callable[[], float],
        folder: Path | None = None,
    ) -> None:
        """`surroundings`: makes what transports are given. `folder`: where authorizations are kept, if not in the workspace."""
        self._make = surroundings
        self._settings = settings
        self._tick = tick
        self._folder = folder
        self._made: _Made | None = None

    @property
    def surroundings(self) -> Surroundings:
        """What transports are given."""
        return self._all().surroundings

    @property
    def authorizations(self) -> Authorizations:
        """What users authorized, and how they do."""
        return self._all().authorizations

    @property
    def user_tokens(self) -> UserTokens:
        """Gives tools what users authorized."""
        return self._all().user_tokens

    async def aclose(self) -> None:
        """Let go of it, if it was ever made."""
        made, self._made = self._made, None
        if made is not None:
            await made.user_tokens.aclose()
            await made.authorizations.aclose()
            await made.surroundings.client.aclose()

    def _all(self) -> _Made:
        if self._made is None:
            around = self._make()
            authorizations = _authorizations_of(self._settings, around, tick=self._tick, folder=self._folder)
            tokens = _user_tokens(authorizations, around.learn)
            around = msgspec.structs.replace(around, users=tokens, bindings=self._settings.secrets.bindings)
            self._made = _Made(around, authorizations, tokens)
        return self._made


class _Made(msgspec.Struct, frozen=True):
    surroundings: Surroundings
    authorizations: Authorizations
    user_tokens: UserTokens
