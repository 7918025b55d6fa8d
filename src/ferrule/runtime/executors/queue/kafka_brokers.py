"""Finds the brokers of a Kafka topic, and has the Kafka library dial the very addresses that were judged.

Nothing is looked up twice, so no name can mean something else the second time. Certificates are checked against the
names all the same. Stands below `kafka.py`; sends and reads no message.
"""

from __future__ import annotations

import asyncio
import os
import re
import secrets
import ssl
from contextvars import ContextVar
from pathlib import Path
from typing import Any, NamedTuple

from ferrule.contracts.executor import ExecutionFailed
from ferrule.infra.network.guard import Forbidden, Guard
from ferrule.infra.network.urls import BadUrl, Target, parse_url
from ferrule.runtime.executors.queue.channel import QueueSettings

_URL = re.compile(r"kafka://([^/]+)/([^/?#]+)")
_ARN = re.compile(r"arn:aws[a-z-]*:kafka:[a-z0-9-]+:[0-9]+:topic/[^/]+/[^/]+/([^/]+)")
_TOPIC = re.compile(r"[A-Za-z0-9._-]{1,249}")
_PORT = 9092


class KafkaPlace(NamedTuple):
    """A topic and the brokers to ask for it."""

    targets: tuple[Target, ...]
    topic: str

    @property
    def brokers(self) -> tuple[str, ...]:
        """As `host:port`."""
        return tuple(f"{bracketed(target.host)}:{target.port}" for target in self.targets)

    @property
    def url(self) -> str:
        """The place in one spelling."""
        return f"kafka://{','.join(self.brokers)}/{self.topic}"


def kafka_place(written: str, settings: QueueSettings, tool_id: str, beside: KafkaPlace | None = None) -> KafkaPlace:
    """The place of `kafka://host:port,host:port/topic`, or of a topic (or its ARN) at `x-bootstrap-servers`.

    `beside`: a topic whose brokers are meant when nothing else is said. Raises ExecutionFailed (`setup_required`).
    """
    url = _URL.fullmatch(written)
    arn = _ARN.fullmatch(written)
    topic = url[2] if url else arn[1] if arn else written
    if not _TOPIC.fullmatch(topic) or topic in (".", ".."):
        raise _unusable(tool_id, "its topic is none")
    said = settings.bootstrap_servers
    servers = url[1].split(",") if url else said.split(",") if isinstance(said, str) else said
    named = [server.strip() for server in servers if server.strip()]
    if named:
        return KafkaPlace(tuple(_broker(server, tool_id) for server in named), topic)
    if beside is None:
        raise _unusable(tool_id, "no brokers are named; write kafka://HOST:PORT/TOPIC, or x-bootstrap-servers")
    return KafkaPlace(beside.targets, topic)


def workspace_group(root: Path) -> str:
    """The name under which this workspace's place in reply topics is kept; made once. Raises OSError."""
    file = root / ".ferrule" / "queue-group"
    try:
        return file.read_text(encoding="ascii").strip() or _made(file)
    except (FileNotFoundError, UnicodeDecodeError):
        return _made(file)


def _made(file: Path) -> str:
    file.parent.mkdir(parents=True, exist_ok=True)
    partly = file.with_name(f".queue-group.{os.getpid()}")
    partly.write_text(f"ferrule-{secrets.token_hex(8)}\n", encoding="ascii")
    try:
        os.link(partly, file)  # whoever comes second takes the first one's
    except FileExistsError:
        pass
    finally:
        partly.unlink()
    return file.read_text(encoding="ascii").strip()


def _broker(server: str, tool_id: str) -> Target:
    try:
        target = parse_url(f"http://{server}")
    except BadUrl as error:
        raise _unusable(tool_id, f"a broker cannot be used: {error}") from None
    if target.path != "/" or server.endswith("/"):
        raise _unusable(tool_id, "a broker is named as host:port")
    has_port = bool(server.rpartition("]")[2].count(":"))
    return target if has_port else target._replace(port=_PORT)


def _unusable(tool_id: str, why: str) -> ExecutionFailed:
    return ExecutionFailed("setup_required", f"the Kafka queue of {tool_id!r} cannot be used: {why}")


def bracketed(host: str) -> str:
    """A host as it stands before a port."""
    return f"[{host}]" if ":" in host else host


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
