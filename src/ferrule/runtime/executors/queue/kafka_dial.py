"""Has the Kafka library dial the very addresses that were judged: nothing is looked up twice, so no name can mean something else
the second time. Certificates are checked against the names all the same.
"""

from __future__ import annotations

import asyncio
import ssl
from contextvars import ContextVar
from typing import Any

from ferrule.infra.network.guard import Forbidden, Guard
from ferrule.infra.network.urls import BadUrl, parse_url
from ferrule.runtime.executors.queue.kafka_place import KafkaPlace, bracketed

NAME: ContextVar[str] = ContextVar("the broker that is dialled", default="")


class NamedTls(ssl.SSLContext):
    """Asks whoever answers at an address for the name that led there."""

    names: dict[str, str]
    """Of the brokers that are asked first, by address."""

    def wrap_bio(self, incoming: Any, outgoing: Any, server_side: bool = False, server_hostname: Any = None,
                 session: Any = None) -> ssl.SSLObject:  # fmt: skip
        """As the event loop calls it, with the name in the place of the address."""
        name = NAME.get() or self.names.get(server_hostname, server_hostname)
        return super().wrap_bio(incoming, outgoing, server_side, name, session)


def named_tls() -> NamedTls:
    """A context that trusts whom the system trusts."""
    made = NamedTls(ssl.PROTOCOL_TLS_CLIENT)
    made.names = {}
    made.load_default_certs()
    return made


class Dialling:
    """Whom one client may dial."""

    def __init__(self, guard: Guard, *, is_confined: bool, tls: NamedTls | None) -> None:
        self._guard = guard
        self._is_confined = is_confined
        self._tls = tls

    async def first(self, place: KafkaPlace) -> list[str]:
        """The brokers that are asked first, as `address:port`. Raises Forbidden; OSError when none has an address."""
        found: list[str] = []
        failed: OSError | None = None
        for target in place.targets:
            try:
                addresses = await self.addresses(target.host, target.port)
            except OSError as error:
                failed = error
                continue
            for address in addresses:
                if self._tls is not None:
                    self._tls.names[address] = target.host
                found.append(f"{bracketed(address)}:{target.port}")
        if not found:
            raise failed or OSError("no broker has an address")
        return found

    async def addresses(self, host: str, port: int) -> list[str]:
        """What a broker may be dialled at. Raises Forbidden, and OSError when it has no address."""
        try:
            target = parse_url(f"http://{bracketed(host)}:{port}")
        except BadUrl:
            raise OSError("a broker has a name that is none") from None
        if self._is_confined:
            self._guard.demand_listed(target)
        if target.is_literal:
            return self._guard.addresses(target)
        return await asyncio.to_thread(self._guard.addresses, target)

    async def demand_cluster(self, client: Any) -> None:
        """Raises Forbidden when the cluster names a broker that must not be dialled: partitions could be there."""
        for broker in client.cluster.brokers():
            await self.addresses(broker.host, broker.port)

    def over(self, client: Any) -> None:
        """Have every broker that the cluster names judged, and dialled where it was judged; one that must not be is not there."""
        dial, known, judged = client._get_conn, client.cluster.broker_metadata, dict[Any, Any]()

        async def guarded(node_id: Any, **named: Any) -> Any:
            broker = known(node_id)
            if broker is None or _is_open(client, node_id, named):
                return await dial(node_id, **named)
            try:
                addresses = await self.addresses(broker.host, broker.port)
            except (Forbidden, OSError):
                return None
            token = NAME.set(broker.host)
            try:
                for address in addresses:
                    judged[node_id] = broker._replace(host=address)
                    connection = await dial(node_id, **named)
                    if connection is not None:
                        return connection
                return None
            finally:
                NAME.reset(token)

        client._get_conn = guarded
        client.cluster.broker_metadata = lambda node_id: judged.get(node_id) or known(node_id)


def _is_open(client: Any, node_id: Any, named: dict[str, Any]) -> bool:
    """True when nothing has to be dialled."""
    for (node, group), connection in client._conns.items():
        if node == node_id and group == named.get("group", group):
            return bool(connection.connected())
    return False
