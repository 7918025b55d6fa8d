"""Names that mean one thing when they are judged and another when they are dialled: every transport dials what was judged.

The resolver of the guard knows `judged.example` and leads to this machine; that of the system knows no such name. Whoever looks
the name up a second time finds nobody.
"""

from __future__ import annotations

import asyncio
import json
import ssl
from collections.abc import Iterator
from functools import partial
from pathlib import Path
from types import SimpleNamespace
from typing import Any, NamedTuple

import pytest
from confluent_kafka import Producer  # type: ignore[import-untyped, unused-ignore]

from ferrule.infra.network.guard import Forbidden, Guard
from ferrule.infra.network.urls import parse_url
from ferrule.runtime.executors.queue.kafka_brokers import NAME, GuardedDialer, KafkaTopic, NamedTls
from tests.contracts.transports.fake_upstream import aml
from tests.infra.clouds.far import Asked, Reply, far
from tests.infra.network.authority import Authority
from tests.runtime.executors.database.real_databases import mariadb, postgres
from tests.runtime.executors.human.human_tool import asked as task
from tests.runtime.executors.human.human_tool import definition as human
from tests.runtime.executors.lambda_.tools import function_tool
from tests.runtime.executors.queue.tools import calling, queue_tool, run
from tests.runtime.executors.rest.tools import definition
from tests.spec.running_app import run_async

JUDGED = "judged.example"


def _resolver(host: str, port: int) -> list[str]:
    if host.endswith(".example"):
        return ["127.0.0.1"]
    raise OSError(f"{host} is not asked for here")


@pytest.fixture(autouse=True)
def names(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("ferrule.app.network.Guard", partial(Guard, resolver=_resolver))


@pytest.fixture
def broker() -> Iterator[str]:
    quiet = {"log_level": 0, "error_cb": lambda error: None}
    mock = Producer({"bootstrap.servers": "none", "test.mock.num.brokers": 1, **quiet})
    (one,) = mock.list_topics("jobs", timeout=10).brokers.values()
    yield str(one.port)


@run_async
async def test_a_broker_of_kafka_is_dialled_where_it_was_judged(broker: str) -> None:
    tool = queue_tool("fire", "kafka", f"kafka://{JUDGED}:{broker}/jobs")
    async with calling(tool, allow=(JUDGED, "127.0.0.1")) as app:
        assert (await run(app, "fire")).error is None
    async with calling(tool, allow=()) as app:
        result = await run(app, "fire")
        assert result.error is not None
        assert (result.error.error_class, result.error.error_code) == ("policy_blocked", "address_forbidden")


class Broker(NamedTuple):
    """As the library keeps it."""

    host: str
    port: int


class Client:
    """What is used of the library's client: whom it knows, and a dial that notes where it goes."""

    def __init__(self, *brokers: Broker, refuses: str = "") -> None:
        self._brokers = dict(enumerate(brokers))
        self._conns: dict[Any, Any] = {}
        self._refuses = refuses
        self.cluster = SimpleNamespace(broker_metadata=self._brokers.get, brokers=lambda: set(brokers))
        self.dialled: list[tuple[str, str]] = []

    async def _get_conn(self, node_id: int, *, group: int = 0) -> Any:
        host = self.cluster.broker_metadata(node_id).host
        self.dialled.append((host, NAME.get()))
        if host == self._refuses:
            return None
        self._conns[node_id, group] = SimpleNamespace(connected=lambda: True)
        return self._conns[node_id, group]


@run_async
async def test_brokers_that_a_cluster_names_are_dialled_where_they_were_judged() -> None:
    answers = {"a.example": ["198.51.100.1", "93.184.216.34"], "b.example": ["169.254.169.254"]}
    asked: list[str] = []

    def resolver(host: str, port: int) -> list[str]:
        asked.append(host)
        return answers[host]

    client = Client(Broker("a.example", 9), Broker("b.example", 9), refuses="198.51.100.1")
    dialling = GuardedDialer(Guard(("a.example",), resolver), is_confined=False, tls=None)
    dialling.over(client)
    assert await client._get_conn(0) is not None
    assert client.dialled == [("198.51.100.1", "a.example"), ("93.184.216.34", "a.example")]
    assert await client._get_conn(0) is not None and asked == ["a.example"], "an open connection is not judged again"
    assert await client._get_conn(1) is None and len(client.dialled) == 3
    with pytest.raises(Forbidden):
        await dialling.demand_cluster(client)


@run_async
async def test_a_certificate_is_asked_for_the_name_that_led_to_the_address(tmp_path: Path) -> None:
    authority, shown = Authority(tmp_path), list[str | None]()
    serves = authority.server(JUDGED)
    serves.sni_callback = lambda connection, name, context: shown.append(name)
    server = await asyncio.start_server(lambda reader, writer: writer.close(), "127.0.0.1", 0, ssl=serves)
    port = server.sockets[0].getsockname()[1]
    tls = NamedTls(ssl.PROTOCOL_TLS_CLIENT)
    tls.names = {}
    tls.load_verify_locations(cafile=str(authority.file))
    dialling = GuardedDialer(Guard((JUDGED,), _resolver), is_confined=False, tls=tls)
    first = await dialling.first(KafkaTopic((parse_url(f"http://{JUDGED}:{port}"),), "jobs"))
    assert first == [f"127.0.0.1:{port}"]
    _, writer = await asyncio.open_connection("127.0.0.1", port, ssl=tls)
    writer.close()
    assert shown == [JUDGED]
    token = NAME.set("other.example")
    with pytest.raises(ssl.SSLCertVerificationError):
        await asyncio.open_connection("127.0.0.1", port, ssl=tls)
    NAME.reset(token)
    server.close()
    await server.wait_closed()


def _serves(asked: Asked) -> Reply:
    """Whatever is asked: an MCP server, a function, a system with a REST interface."""
    if asked.path != "/mcp" or asked.method != "POST":
        return Reply(200, {"path": asked.path}, {"Content-Type": "application/json"})
    message = json.loads(asked.body)
    if message.get("id") is None:
        return Reply(202)
    results: dict[str, Any] = {
        "initialize": {
            "protocolVersion": "2025-11-25",
            "capabilities": {"tools": {}},
            "serverInfo": {"name": "a", "version": "1"},
        },
        "tools/list": {"tools": [{"name": "ask", "inputSchema": {"type": "object"}}]},
        "tools/call": {"content": [{"type": "text", "text": "{}"}]},
    }
    answer = {"jsonrpc": "2.0", "id": message["id"], "result": results.get(message["method"], {})}
    return Reply(200, answer, {"Content-Type": "application/json"})


def _database(engine: str) -> str:
    return aml("database", f"""\
  type: database
  engine: {engine}
  query_method: parameterised-sql
  x-statement: "SELECT 1 AS one"
  credentials: {{scheme: service-account, source: env, name: {engine.upper()}}}""")  # fmt: skip


def _tools(url: str) -> dict[str, str]:
    return {
        "rest": definition("GET /x", base_url=url, tool_id="rest"),
        "mcp": aml("mcp-tool", f"""\
  type: mcp
  url: "{url}/mcp"
  tool_name: ask
  protocol_version: "2025-11-25"
  credentials: {{scheme: none}}"""),
        "function": function_tool("function", "gcp", "projects/p/locations/l/functions/f", credentials={"scheme": "none"},
                                  **{"x-url": f"{url}/fn"}),
    }  # fmt: skip


@pytest.mark.parametrize(("kind", "name"), [("rest", "rest"), ("mcp", "mcp-tool"), ("function", "function")])
def test_a_name_is_looked_up_once_over_http(kind: str, name: str) -> None:
    @run_async
    async def story() -> None:
        with far(_serves) as server:
            tool = _tools(server.url.replace("127.0.0.1", JUDGED))[kind]
            async with calling(tool, allow=(JUDGED,)) as app:
                assert (await run(app, name)).error is None
            count = len(server.asked)
            async with calling(tool, allow=("127.0.0.1",)) as app:
                result = await run(app, name)  # the address is allowed, and the name that leads there is not
                assert result.error is not None
                assert (result.error.error_class, result.error.error_code) == ("policy_blocked", "address_forbidden")
            assert len(server.asked) == count

    story()


@run_async
async def test_a_task_of_a_person_goes_to_the_name_that_was_judged() -> None:
    with far(_serves) as server:
        async with calling(
            human(server.url.replace("127.0.0.1", JUDGED)), allow=(JUDGED,), policy='mode = "trusted"'
        ) as app:
            await task(app)
        assert [asked.path for asked in server.asked] == ["/tasks"]


@pytest.mark.parametrize("place", [postgres, mariadb])
def test_a_name_is_looked_up_once_by_databases(place: Any) -> None:
    @run_async
    async def story() -> None:
        async with place() as found:
            tool = _database(found.engine)
            env = {found.engine.upper(): json.dumps({**found.members, "host": JUDGED})}
            async with calling(tool, env=env, allow=(JUDGED,)) as app:
                result = await run(app, "database")
                assert result.error is None, result.error
            async with calling(tool, env=env, allow=("127.0.0.1",)) as app:
                result = await run(app, "database")
                assert result.error is not None
                assert (result.error.error_class, result.error.error_code) == ("policy_blocked", "address_forbidden")

    story()
