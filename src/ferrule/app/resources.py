"""Resources of one process for its tools: the network, the clouds, secrets, authorizations, and which tools are ready.

`assembly` makes them. `Outside` loads its parts when they are first asked for: loading takes a good part of the time in
which a client expects its first answer. `Here` tells which functions are bound, which secrets are missing, and which
built-in tools are switched on.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Sequence
from pathlib import Path
from typing import TYPE_CHECKING

import msgspec

from ferrule.contracts.registry import late
from ferrule.contracts.surface import Provider
from ferrule.model.tool import Tool
from ferrule.settings import Settings

if TYPE_CHECKING:
    from ferrule.infra.credentials.oauth import Authorizations
    from ferrule.infra.credentials.oauth_tokens import UserTokens
    from ferrule.infra.network.client import Client
    from ferrule.runtime.executors.surroundings import Surroundings


_authorizations_of: Callable[..., Authorizations] = late("ferrule.app.surroundings:authorizations_of")
_user_tokens: Callable[..., UserTokens] = late("ferrule.infra.credentials.oauth_tokens:UserTokens")


class Outside:
    """One process's, shared by all that need it."""

    def __init__(
        self,
        client: Callable[[], Client],
        surroundings: Callable[[Client], Surroundings],
        settings: Settings,
        tick: Callable[[], float],
        folder: Path | None = None,
    ) -> None:
        """`client` and `surroundings` make the HTTP client, and what transports are given. `folder`: where authorizations are
        kept, if not in the workspace."""
        self._make_client = client
        self._make = surroundings
        self._settings = settings
        self._tick = tick
        self._folder = folder
        self._client: Client | None = None
        self._made: _Made | None = None

    def client(self) -> Client:
        """The HTTP client that everything goes through."""
        if self._client is None:
            self._client = self._make_client()
        return self._client

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
        client, self._client = self._client, None
        if client is not None:
            await client.aclose()

    def _all(self) -> _Made:
        if self._made is None:
            around = self._make(self.client())
            authorizations = _authorizations_of(self._settings, around, tick=self._tick, folder=self._folder)
            tokens = _user_tokens(authorizations, around.learn)
            around = msgspec.structs.replace(around, users=tokens, bindings=self._settings.secrets.bindings)
            self._made = _Made(around, authorizations, tokens)
        return self._made


class _Made(msgspec.Struct, frozen=True):
    surroundings: Surroundings
    authorizations: Authorizations
    user_tokens: UserTokens


class Here:
    """The readiness of one process."""

    def __init__(
        self,
        is_bound: Callable[[Tool], bool],
        is_switched_on: Callable[[Tool], bool] = lambda tool: False,
        missing: Callable[[Tool], Collection[str]] = lambda tool: (),
    ) -> None:
        """`is_bound`: whether a function or a program does a tool's work. `missing`: the secrets of a tool that are known not to
        be there, by name; nobody is asked for them."""
        self._is_bound = is_bound
        self._is_switched_on = is_switched_on
        self._missing = missing

    def missing_credentials(self, tool: Tool, names: Sequence[str]) -> Collection[str]:
        """Those that are known not to be here (AT-36). A function that is bound brings its own."""
        return () if self._is_bound(tool) and tool.dialect == "aml" else self._missing(tool)

    def is_set_up(self, tool: Tool) -> bool:
        """True when a function or a program was bound to the tool, which is how tools are set up here. That an executor takes
        tools of its kind is no setup (AT-14)."""
        return self._is_bound(tool)

    def is_switched_on(self, tool: Tool) -> bool:
        """True for a built-in tool that the environment enables."""
        return self._is_switched_on(tool)

    def provider(self, tool: Tool) -> Provider | None:
        """Nobody to wait for."""
        return None
