"""Where a Kafka topic is."""

from __future__ import annotations

import os
import re
import secrets
from pathlib import Path
from typing import NamedTuple

from ferrule.contracts.executor import ExecutionFailed
from ferrule.infra.network.urls import BadUrl, Target, parse_url
from ferrule.runtime.executors.queue.settings import QueueSettings

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
