"""Resources of one process for its tools: the network, the clouds, secrets, authorizations, and which tools are ready.

`assembly` makes them. `ProcessResources` loads its parts at their first use: loading takes a good part of the time in
which a client expects its first answer. `ProcessReadiness` tells which functions are bound, which secrets are missing,
and which built-in tools are switched on.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterable, Sequence
from typing import TYPE_CHECKING

from ferrule.contracts.executor import Executor
from ferrule.contracts.surface import Provider
from ferrule.model.tool import Tool

if TYPE_CHECKING:
    from ferrule.app.connections import Connections
    from ferrule.infra.credentials.oauth import Authorizations
    from ferrule.infra.credentials.oauth_tokens import OAuthUserTokens
    from ferrule.infra.network.client import Client
    from ferrule.runtime.executors.transport_services import TransportServices


class ProcessResources:
    """The connections of one process to other systems, shared by all its parts."""

    def __init__(self, client: Callable[[], Client], connect: Callable[[Client], Connections]) -> None:
        """`client` and `connect` make the HTTP client, and everything that goes through it, at their first use."""
        self._make_client = client
        self._connect = connect
        self._client: Client | None = None
        self._made: Connections | None = None

    def client(self) -> Client:
        """Returns the HTTP client of the process."""
        if self._client is None:
            self._client = self._make_client()
        return self._client

    @property
    def transport_services(self) -> TransportServices:
        """The services that transports use."""
        return self._load_connections().transport_services

    @property
    def authorizations(self) -> Authorizations:
        """The OAuth authorizations of users."""
        return self._load_connections().authorizations

    @property
    def user_tokens(self) -> OAuthUserTokens:
        """Gives tools the access tokens of users."""
        return self._load_connections().user_tokens

    def missing_secrets(self, tool: Tool, others: Iterable[Executor] = ()) -> Collection[str]:
        """Returns the secrets and authorizations of a tool that are known to be missing. `others`: executors asked before ours,
        which bring what their tools need."""
        return () if tool.credentials is None else self._load_connections().missing_secrets(tool, others)

    async def aclose(self) -> None:
        """Closes what was opened."""
        made, self._made = self._made, None
        if made is not None:
            await made.user_tokens.aclose()
            await made.authorizations.aclose()
        client, self._client = self._client, None
        if client is not None:
            await client.aclose()

    def _load_connections(self) -> Connections:
        if self._made is None:
            self._made = self._connect(self.client())
        return self._made


class ProcessReadiness:
    """The readiness of one process."""

    def __init__(
        self,
        is_bound: Callable[[Tool], bool],
        is_switched_on: Callable[[Tool], bool] = lambda tool: False,
        missing: Callable[[Tool], Collection[str]] = lambda tool: (),
    ) -> None:
        """`is_bound`: True when a function or a program runs a tool. `missing`: the names of a tool's secrets that are known to
        be missing; no source is asked."""
        self._is_bound = is_bound
        self._is_switched_on = is_switched_on
        self._missing = missing

    def missing_credentials(self, tool: Tool, names: Sequence[str]) -> Collection[str]:
        """Returns the credentials that are known to be missing (AT-36). A bound function brings its own."""
        return () if self._is_bound(tool) and tool.dialect == "aml" else self._missing(tool)

    def is_set_up(self, tool: Tool) -> bool:
        """True when a function or a program was bound to the tool. An executor for its kind alone is no setup (AT-14)."""
        return self._is_bound(tool)

    def is_switched_on(self, tool: Tool) -> bool:
        """True for a built-in tool that the environment enables."""
        return self._is_switched_on(tool)

    def provider(self, tool: Tool) -> Provider | None:
        """Returns None: no tool here comes from a provider that connects later."""
        return None
