"""What every engine is given: hosts that are read in one way only, and the tables that a live schema has."""

from __future__ import annotations

from types import SimpleNamespace
from typing import Any, cast

import pytest

from ferrule.infra.network.guard import Forbidden, Guard
from ferrule.runtime.executors.database.engine import (
    BadMembers,
    ConnectionSpec,
    LiveTable,
    QueryReport,
    group_columns,
    resolve_addresses,
    target_of,
)
from ferrule.runtime.executors.transport_services import TransportServices
from tests.runtime.executors.database.real_databases import asking, go, refused, tool


@pytest.mark.parametrize("host", ["", "a b", "/var/run/postgresql", "a,b", "x@y", "127.0.0.1,8.8.8.8", "host=/tmp"])
def test_hosts_that_are_none_are_refused(host: str) -> None:
    async def story() -> None:
        members = {"host": host, "port": 5432, "database": "d", "username": "u", "password": "p"}
        async with asking(tool("find", "SELECT 1"), members=members) as app:
            assert (await refused(app, "find"))[0] == "credential_missing"

    go(story)


@pytest.mark.parametrize(
    ("host", "port", "read"),
    [
        ("DB.Example.com", 5432, ("db.example.com", 5432)),
        (" db.example.com ", "3306", ("db.example.com", 3306)),
        ("10.0.0.7", 1, ("10.0.0.7", 1)),
        ("[::1]", 65535, ("::1", 65535)),
    ],
)
def test_a_host_is_read_in_one_way(host: str, port: Any, read: tuple[str, int]) -> None:
    target = target_of({"host": host, "port": port})
    assert (target.host, target.port) == read


@pytest.mark.parametrize("host", ["db.example.com:5432", "a:b", "[::1", "::1]x", "[[::1]]", "fe80::1%eth0/64"])
def test_an_address_with_colons_is_a_whole_one_or_none(host: str) -> None:
    with pytest.raises(BadMembers, match="'host' must be a host name or an address"):
        target_of({"host": host, "port": 5432})


def test_members_without_a_host_are_refused() -> None:
    with pytest.raises(BadMembers, match="'host'"):
        target_of({"port": 5432})


@pytest.mark.parametrize("port", [0, -1, 65536, "many", "", 5.5])
def test_ports_that_are_none_are_refused(port: Any) -> None:
    with pytest.raises(BadMembers, match="'port' a number"):
        target_of({"host": "db.example.com", "port": port})


def test_columns_are_gathered_by_their_tables() -> None:
    found = [("shop", "orders", "id"), ("shop", "lines", "sku"), ("shop", "orders", "total"), ("old", "orders", "id")]
    assert group_columns(found) == [
        LiveTable("shop", "orders", ("id", "total")),
        LiveTable("shop", "lines", ("sku",)),
        LiveTable("old", "orders", ("id",)),
    ]


def test_native_ids_add_up_for_one_call_alone() -> None:
    answer, other = QueryReport(), QueryReport()
    answer.add_refs(backend_pid=7)
    answer.add_refs(digest="sha256:a")
    assert (answer.ref, other.ref) == ({"backend_pid": 7, "digest": "sha256:a"}, {})


def spec(guard: Guard, *, is_confined: bool) -> ConnectionSpec:
    async def password() -> str:
        raise AssertionError("nobody logs in")

    around = cast(TransportServices, SimpleNamespace(guard=guard))
    return ConnectionSpec(members={}, services=around, is_confined=is_confined, password=password, label="DB")


def test_a_confined_agent_dials_listed_hosts_alone() -> None:
    target = target_of({"host": "db.example.com", "port": 5432})
    unlisted, listed = Guard((), lambda host, port: ["8.8.8.8"]), Guard(("db.example.com",), lambda host, port: ["::1"])
    assert resolve_addresses(spec(unlisted, is_confined=False), target) == ["8.8.8.8"]
    assert resolve_addresses(spec(listed, is_confined=True), target) == ["::1"]
    with pytest.raises(Forbidden):
        resolve_addresses(spec(unlisted, is_confined=True), target)
