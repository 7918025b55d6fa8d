"""Finds the brokers of a Kafka topic, and makes the Kafka library dial exactly the addresses that were checked.

No name is resolved twice, so it cannot resolve to another address the second time (DNS rebinding). Certificates are still
checked against the names. `kafka.py` is above; this module sends and reads no message.
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
from ferrule.model.value import JsonObject
from ferrule.runtime.executors.queue.channel import QueueSettings

_URL = re.compile(r"kafka://([^/]+)/([^/?#]+)")
_ARN = re.compile(r"arn:aws[a-z-]*:kafka:[a-z0-9-]+:[0-9]+:topic/[^/]+/[^/]+/([^/]+)")
_TOPIC = re.compile(r"[A-Za-z0-9._-]{1,249}")
_PORT = 9092


class KafkaTopic(NamedTuple):
    """A topic and its bootstrap brokers."""

    targets: tuple[Target, ...]
    topic: str

    @property
    def brokers(self) -> tuple[str, ...]:
        """The brokers as `host:port`."""
        return tuple(f"{host_in_brackets(target.host)}:{target.port}" for target in self.targets)

    @property
    def url(self) -> str:
        """The address in its canonical form."""
        return f"kafka://{','.join(self.brokers)}/{self.topic}"


def parse_kafka_topic(
    written: str, settings: QueueSettings, tool_id: str, beside: KafkaTopic | None = None
) -> KafkaTopic:
    """Parses `kafka://host:port,host:port/topic`, or a topic (or its ARN) at `x-bootstrap-servers`.

    `beside`: a topic whose brokers are the default. Raises ExecutionFailed (`setup_required`).
    """
    url = _URL.fullmatch(written)
    arn = _ARN.fullmatch(written)
    topic = url[2] if url else arn[1] if arn else written
    if not _TOPIC.fullmatch(topic) or topic in (".", ".."):
        raise _setup_failure(tool_id, "its topic is none")
    servers_setting = settings.bootstrap_servers
    servers = (
        url[1].split(",")
        if url
        else servers_setting.split(",")
        if isinstance(servers_setting, str)
        else servers_setting
    )
    named = [server.strip() for server in servers if server.strip()]
    if named:
        return KafkaTopic(tuple(_broker(server, tool_id) for server in named), topic)
    if beside is None:
        raise _setup_failure(tool_id, "no brokers are named; write kafka://HOST:PORT/TOPIC, or x-bootstrap-servers")
    return KafkaTopic(beside.targets, topic)


def workspace_group(root: Path) -> str:
    """Returns this workspace's consumer group for reply topics; creates it on first use. Raises OSError."""
    file = root / ".ferrule" / "queue-group"
    try:
        return file.read_text(encoding="ascii").strip() or _create_group(file)
    except (FileNotFoundError, UnicodeDecodeError):
        return _create_group(file)


def _create_group(file: Path) -> str:
    file.parent.mkdir(parents=True, exist_ok=True)
    partly = file.with_name(f".queue-group.{os.getpid()}")
    partly.write_text(f"ferrule-{secrets.token_hex(8)}\n", encoding="ascii")
    try:
        os.link(partly, file)  # atomic: a second process finds the file and takes the first one's group
    except FileExistsError:
        pass
    finally:
        partly.unlink()
    return file.read_text(encoding="ascii").strip()


def _broker(server: str, tool_id: str) -> Target:
    try:
        target = parse_url(f"http://{server}")
    except BadUrl as error:
        raise _setup_failure(tool_id, f"a broker cannot be used: {error}") from None
    if target.path != "/" or server.endswith("/"):
        raise _setup_failure(tool_id, "a broker is named as host:port")
    has_port = bool(server.rpartition("]")[2].count(":"))
    return target if has_port else target._replace(port=_PORT)


def _setup_failure(tool_id: str, why: str) -> ExecutionFailed:
    return ExecutionFailed("setup_required", f"the Kafka queue of {tool_id!r} cannot be used: {why}")


def host_in_brackets(host: str) -> str:
    """Returns a host as it is written before a port: IPv6 addresses in brackets."""
    return f"[{host}]" if ":" in host else host


NAME: ContextVar[str] = ContextVar("the broker that is dialled", default="")


class NamedTls(ssl.SSLContext):
    """TLS context that checks the certificate against the broker's name, not the address that was dialled."""

    names: dict[str, str]
    """Names of the bootstrap brokers, by address."""

    def wrap_bio(self, incoming: Any, outgoing: Any, server_side: bool = False, server_hostname: Any = None,
                 session: Any = None) -> ssl.SSLObject:  # fmt: skip
        """Wraps a connection as `ssl` does, with the broker's name instead of the address."""
        name = NAME.get() or self.names.get(server_hostname, server_hostname)
        return super().wrap_bio(incoming, outgoing, server_side, name, session)


def named_tls() -> NamedTls:
    """Builds a context with the system's trusted certificates."""
    made = NamedTls(ssl.PROTOCOL_TLS_CLIENT)
    made.names = {}
    made.load_default_certs()
    return made


class GuardedDialer:
    """The check of every address that one Kafka client dials."""

    def __init__(self, guard: Guard, *, is_confined: bool, tls: NamedTls | None) -> None:
        self._guard = guard
        self._is_confined = is_confined
        self._tls = tls

    async def first(self, place: KafkaTopic) -> list[str]:
        """Resolves the bootstrap brokers to `address:port`. Raises Forbidden; OSError when none has an address."""
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
                found.append(f"{host_in_brackets(address)}:{target.port}")
        if not found:
            raise failed or OSError("no broker has an address")
        return found

    async def addresses(self, host: str, port: int) -> list[str]:
        """Resolves a broker to addresses that may be dialled. Raises Forbidden; OSError when it has none."""
        try:
            target = parse_url(f"http://{host_in_brackets(host)}:{port}")
        except BadUrl:
            raise OSError("a broker has a name that is none") from None
        if self._is_confined:
            self._guard.demand_listed(target)
        # A literal address needs no look-up, and so no thread.
        if target.is_literal:
            return self._guard.addresses(target)
        return await asyncio.to_thread(self._guard.addresses, target)

    async def demand_cluster(self, client: Any) -> None:
        """Raises Forbidden when the cluster advertises a broker that must not be dialled: partitions could be there."""
        for broker in client.cluster.brokers():
            await self.addresses(broker.host, broker.port)

    def over(self, client: Any) -> None:
        """Patches a client to check every advertised broker and dial the checked address; forbidden ones count as unreachable."""
        # aiokafka has no hook for resolving or dialling, so its private connection method is replaced.
        dial, known, checked = client._get_conn, client.cluster.broker_metadata, dict[Any, Any]()

        async def dial_checked(node_id: Any, **named: Any) -> Any:
            broker = known(node_id)
            if broker is None or _is_open(client, node_id, named):
                return await dial(node_id, **named)
            try:
                addresses = await self.addresses(broker.host, broker.port)
            except (Forbidden, OSError):
                return None
            # The library hands TLS the address that it dials; `NamedTls` checks the certificate by this name instead.
            token = NAME.set(broker.host)
            try:
                for address in addresses:
                    # The library asks `broker_metadata` where to dial, and is given the address that was checked.
                    checked[node_id] = broker._replace(host=address)
                    connection = await dial(node_id, **named)
                    if connection is not None:
                        return connection
                return None
            finally:
                NAME.reset(token)

        client._get_conn = dial_checked
        client.cluster.broker_metadata = lambda node_id: checked.get(node_id) or known(node_id)


def _is_open(client: Any, node_id: Any, named: JsonObject) -> bool:
    """Returns True when a connection is open already."""
    for (node, group), connection in client._conns.items():
        if node == node_id and group == named.get("group", group):
            return bool(connection.connected())
    return False
