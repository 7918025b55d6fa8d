"""Where databases are dialled, how TLS proves them, and what happens when they go away. Against a real PostgreSQL."""

from __future__ import annotations

import asyncio
import ssl
from collections.abc import Callable
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

import pytest
from cryptography import x509
from cryptography.hazmat.primitives import hashes, serialization
from cryptography.hazmat.primitives.asymmetric import ec
from cryptography.x509.oid import NameOID

from ferrule.contracts.executor import Context, ExecutionFailed
from ferrule.infra.clouds.clouds import Clouds
from ferrule.infra.network.client import Client
from ferrule.infra.network.guard import Forbidden, Guard
from ferrule.model.credentials import Credentials
from ferrule.model.upstreams import DatabaseUpstreams
from ferrule.runtime.executors.database.engine import ConnectionSpec, Query, QueryReport
from ferrule.runtime.executors.database.failures import DatabaseFailed
from ferrule.runtime.executors.database.postgresql import PostgresDatabase, PostgresSession
from ferrule.runtime.executors.database.statements import read_statement
from ferrule.runtime.executors.transport_services import TransportServices
from tests.runtime.executors.database.proxy import proxied
from tests.runtime.executors.database.real_databases import asking, executor_of, go, postgres, refused, tool, tool_of
from tests.runtime.executors.database.real_databases import given as gives_back

NAME = "db.example.test"


def certificate(name: str, folder: Path) -> tuple[ssl.SSLContext, str]:
    """A server's TLS for a name, and the PEM that vouches for it."""
    key = ec.generate_private_key(ec.SECP256R1())
    subject = x509.Name([x509.NameAttribute(NameOID.COMMON_NAME, name)])
    now = datetime.now(UTC)
    made = (
        x509.CertificateBuilder()
        .subject_name(subject)
        .issuer_name(subject)
        .public_key(key.public_key())
        .serial_number(x509.random_serial_number())
        .not_valid_before(now - timedelta(days=1))
        .not_valid_after(now + timedelta(days=1))
        .add_extension(x509.SubjectAlternativeName([x509.DNSName(name)]), critical=False)
        .add_extension(x509.BasicConstraints(ca=True, path_length=None), critical=True)
        .sign(key, hashes.SHA256())
    )
    pem = made.public_bytes(serialization.Encoding.PEM).decode()
    private = key.private_bytes(
        serialization.Encoding.PEM, serialization.PrivateFormat.PKCS8, serialization.NoEncryption()
    ).decode()
    file = folder / f"{name}.pem"
    file.write_text(private + pem)
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    context.load_cert_chain(file)
    return context, pem


class NoVault:
    def missing(self, credentials: Credentials) -> tuple[str, ...]:
        return ()

    def __getattr__(self, name: str) -> Any:
        raise AssertionError(name)


def database(
    members: dict[str, Any],
    resolver: Callable[[str, int], list[str]],
    *,
    allow: tuple[str, ...] = (NAME,),
    is_confined: bool = False,
) -> PostgresDatabase:
    guard = Guard(allow, resolver)
    client = Client(guard)
    clouds = Clouds(client, {}, lambda name, value: None)
    around = TransportServices(client=client, guard=guard, vault=NoVault(), clouds=clouds, env={}, root=Path("."))

    async def password() -> str:
        return "first"

    spec = ConnectionSpec(members=members, services=around, is_confined=is_confined, password=password, label="DB")
    return PostgresDatabase(spec, size=2, seconds=5.0)


async def one(found: PostgresDatabase) -> Any:
    query = Query(statement=read_statement("SELECT 1 AS one", "postgresql"), values={}, is_read_only=True)
    try:
        return [batch async for batch in found.rows(query, QueryReport())]
    finally:
        await found.aclose()


@pytest.mark.parametrize(
    ("mode", "certified", "works"),
    [
        ("verify-full", NAME, True),
        ("verify-full", "other.example.test", False),
        ("verify-ca", "other.example.test", True),
        ("require", "other.example.test", True),
    ],
)
def test_the_certificate_is_checked_against_the_name_and_the_judged_address_is_dialled(
    mode: str, certified: str, works: bool, tmp_path: Path
) -> None:
    async def story() -> None:
        tls, pem = certificate(certified, tmp_path)
        async with postgres() as place, proxied(int(place.members["port"]), tls=tls) as proxy:
            members = {**place.members, "host": NAME, "port": proxy.port, "sslmode": mode, "sslrootcert": pem}
            resolved: list[str] = []

            def resolver(host: str, port: int) -> list[str]:
                resolved.append(host)
                return ["127.0.0.1"]

            if works:
                assert await one(database(members, resolver)) == [[{"one": 1}]]
            else:
                with pytest.raises(DatabaseFailed) as failed:
                    await one(database(members, resolver))
                assert failed.value.report.kind.code == "tls_failed"
            assert resolved == [NAME]

    go(story)


def test_an_authority_that_is_not_known_is_not_believed(tmp_path: Path) -> None:
    async def story() -> None:
        tls, _ = certificate(NAME, tmp_path)
        async with postgres() as place, proxied(int(place.members["port"]), tls=tls) as proxy:
            members = {**place.members, "host": NAME, "port": proxy.port, "sslmode": "verify-full"}
            with pytest.raises(DatabaseFailed) as failed:
                await one(database(members, lambda host, port: ["127.0.0.1"]))
            assert failed.value.report.kind.code == "tls_failed"

    go(story)


def test_a_server_without_tls_is_refused_when_tls_is_wanted() -> None:
    async def story() -> None:
        async with postgres() as place:
            members = {**place.members, "host": NAME, "sslmode": "require"}
            with pytest.raises(DatabaseFailed):
                await one(database(members, lambda host, port: ["127.0.0.1"]))

    go(story)


def test_a_name_that_leads_inside_is_refused_unless_it_is_listed() -> None:
    async def story() -> None:
        async with postgres() as place:
            members = {**place.members, "host": NAME}
            for addresses in (["127.0.0.1"], ["8.8.8.8", "10.0.0.1"], ["169.254.169.254"], ["::1"]):
                with pytest.raises(Forbidden):
                    await one(database(members, lambda host, port, found=addresses: found, allow=()))  # type: ignore[misc]
            assert await one(database(members, lambda host, port: ["127.0.0.1"])) == [[{"one": 1}]]
            with pytest.raises(Forbidden):
                await one(database(members, lambda host, port: ["8.8.8.8"], allow=(), is_confined=True))

    go(story)


@pytest.mark.parametrize("is_probe", [False, True])
def test_a_server_that_says_nothing_costs_no_place_in_the_pool(monkeypatch: pytest.MonkeyPatch, is_probe: bool) -> None:
    monkeypatch.setattr(PostgresSession, "is_stale", lambda session: True)  # so that it is asked before it is used

    async def story() -> None:
        async with postgres() as place, proxied(int(place.members["port"])) as proxy:
            members = {**place.members, "port": proxy.port}
            quick = tool("quick", "SELECT 1 AS one", timeout_ms=200)
            limits = DatabaseUpstreams(pool_size=1)
            async with asking(tool("find", "SELECT 1 AS one"), quick, members=members, limits=limits) as app:
                await gives_back(app, "find")
                proxy.passing.clear()
                if is_probe:
                    run = executor_of(app).prepare(tool_of(app, "quick"))
                    with pytest.raises(ExecutionFailed, match="in time"):
                        await run.probe(Context("doctor", "ann", None, ""))
                else:
                    assert (await refused(app, "quick"))[0] == "timeout"
                proxy.passing.set()
                assert (await gives_back(app, "find"))["rows"] == [{"one": 1}]

    go(story)


def test_a_role_logs_in_with_a_token_signed_for_that_host_and_user() -> None:
    """AML-69: `iam-role` has no password. A server that asks for one in clear text sees the token; RDS itself is not here."""

    async def story() -> None:
        sent: list[bytes] = []

        async def server(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
            size = int.from_bytes(await reader.readexactly(4))
            await reader.readexactly(size - 4)
            writer.write(b"R" + (8).to_bytes(4) + (3).to_bytes(4))  # AuthenticationCleartextPassword
            head = await reader.readexactly(5)
            sent.append(await reader.readexactly(int.from_bytes(head[1:]) - 4))
            writer.close()

        listening = await asyncio.start_server(server, "127.0.0.1", 0)
        port = listening.sockets[0].getsockname()[1]
        where = {"host": "127.0.0.1", "port": port, "database": "d", "username": "app", "region": "eu-west-1"}
        credentials = {"scheme": "iam-role", **where, "sslmode": "disable"}
        environment = {"AWS_ACCESS_KEY_ID": "AKIDEXAMPLE", "AWS_SECRET_ACCESS_KEY": "canary-aws-secret"}
        async with asking(
            tool("find", "SELECT 1", credentials=credentials), members={}, environment=environment
        ) as app:
            assert (await refused(app, "find"))[0] == "dependency_unavailable"
        listening.close()
        token = sent[0].rstrip(b"\0").decode()
        assert token.startswith(f"127.0.0.1:{port}/?Action=connect&DBUser=app&")
        assert "eu-west-1%2Frds-db%2Faws4_request" in token
        assert "X-Amz-Signature=" in token
        assert "canary-aws-secret" not in token

    go(story)
