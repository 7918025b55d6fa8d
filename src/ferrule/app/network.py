"""Makes the HTTP clients of a workspace, as its settings have them. Everything that speaks HTTP goes through such a client."""

from __future__ import annotations

from collections.abc import Callable, Collection, Mapping
from pathlib import Path

from ferrule.infra.network.client import Client
from ferrule.infra.network.guard import Guard
from ferrule.infra.network.proxies import read_proxies
from ferrule.infra.network.tls import TlsContexts
from ferrule.settings import Settings


class Network:
    """What one process knows about the network. A client is for one event loop; this may be shared by several."""

    def __init__(
        self,
        settings: Settings,
        env: Mapping[str, str],
        root: Path,
        learn: Callable[[str, str], None] = lambda name, value: None,
    ) -> None:
        """`learn` tells the redactor a secret, by the name it is told under.

        Raises SettingsError for a proxy or a certificate that cannot be used."""
        said = settings.network
        self._allow = said.allow
        self._per_host = settings.rest.max_connections_per_host
        self._proxies = read_proxies(said.proxy, said.proxy_login_env, said.no_proxy, env, learn)
        self._tls = TlsContexts(ca=said.ca, hosts=said.tls, root=root, env=env)
        self._tls.load()

    def make_client(self, also: Collection[str] = ()) -> Client:
        """A client of its own. `also`: further hosts that may be reached although they are private."""
        guard = Guard((*self._allow, *also))
        return Client(guard, tls=self._tls, proxies=self._proxies, per_host=self._per_host)
