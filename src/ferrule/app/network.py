"""The HTTP clients of a workspace, made from its settings. All our HTTP goes through such a client."""

from __future__ import annotations

from collections.abc import Callable, Collection, Mapping
from pathlib import Path

from ferrule.infra.network.client import Client
from ferrule.infra.network.guard import Guard
from ferrule.infra.network.proxies import read_proxies
from ferrule.infra.network.tls import TlsContexts
from ferrule.settings import Settings


class Network:
    """The network settings of one process: proxies, TLS, allowed hosts. A client is for one event loop; several may share
    this."""

    def __init__(
        self,
        settings: Settings,
        env: Mapping[str, str],
        root: Path,
        learn: Callable[[str, str], None] = lambda name, value: None,
    ) -> None:
        """`learn` tells the redactor a secret, with its name.

        Raises SettingsError for a proxy or a certificate that cannot be used."""
        said = settings.network
        self._allow = said.allow
        self._per_host = settings.rest.max_connections_per_host
        self._proxies = read_proxies(said.proxy, said.proxy_login_env, said.no_proxy, env, learn)
        self._tls = TlsContexts(ca=said.ca, hosts=said.tls, root=root, env=env)
        self._tls.load()

    def make_client(self, also: Collection[str] = ()) -> Client:
        """Makes a client. `also`: further hosts that may be reached although they are private."""
        guard = Guard((*self._allow, *also))
        return Client(guard, tls=self._tls, proxies=self._proxies, per_host=self._per_host)
