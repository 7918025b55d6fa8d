"""Checks `[network]` without using the network: the proxy's address, and certificates."""

from __future__ import annotations

import os
from pathlib import Path

from ferrule.infra.network.proxies import check_proxy
from ferrule.infra.network.tls import TlsContexts
from ferrule.settings import NetworkSettings


def demand_network(said: NetworkSettings, root: Path) -> None:
    """Raises SettingsError for an unusable proxy or certificate."""
    check_proxy(said.proxy, said.no_proxy)
    TlsContexts(ca=said.ca, hosts=said.tls, root=root, env=os.environ).check()
