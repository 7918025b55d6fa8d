"""Shapes of service accounts: what each system needs, and how a wrong one is told (AML-68, AML-69)."""

from __future__ import annotations

import json
from typing import Any

import pytest

from ferrule.contracts.executor import ExecutionFailed
from ferrule.infra.credentials.shapes import required_members
from ferrule.model.credentials import read_credentials
from tests.infra.clouds.fixtures import in_event_loop
from tests.infra.credentials.counting_store import VaultSetup, make_context, make_credentials


@pytest.mark.parametrize(
    ("transport", "which", "scheme", "expected"),
    [
        ("lambda", "aws", "service-account", {"access_key_id", "secret_access_key"}),
        ("message-queue", "gcp", "service-account", {"type", "project_id", "private_key", "client_email"}),
        ("message-queue", "azure", "service-account", {"tenant_id", "client_id", "client_secret"}),
        ("message-queue", "kafka", "service-account", set()),
        ("database", "postgresql", "service-account", {"host", "port", "database", "username", "password"}),
        ("database", "mysql", "service-account", {"host", "port", "database", "username", "password"}),
        ("database", "mssql", "service-account", {"host", "port", "database", "username", "password"}),
        ("database", "bigquery", "service-account", {"project"}),
        ("database", "snowflake", "service-account", {"account", "warehouse", "username", "password"}),
        ("database", "rds-data-api", "service-account", {"cluster_arn", "database", "username", "password"}),
        ("database", "postgresql", "iam-role", {"host", "port", "database", "username"}),
        ("database", "rds-data-api", "iam-role", {"cluster_arn", "database"}),
        ("database", "bigquery", "iam-role", {"project"}),
        ("lambda", "aws", "iam-role", set()),
        ("rest-api", "", "service-account", set()),
    ],
)
def test_what_each_system_needs(transport: str, which: str, scheme: str, expected: set[str]) -> None:
    """AML-68, AML-69."""
    assert set(required_members(transport, which, scheme)) == expected


GOOD = {"host": "h", "port": 5432, "database": "d", "username": "u", "password": "canary-pw"}


@pytest.mark.parametrize(
    ("change", "said"),
    [
        ({"host": None}, "lack 'host'"),
        ({"host": "", "password": None}, "lack 'host', 'password'"),
        ({"port": 0}, "'port' that is no number"),
        ({"port": "x"}, "'port' that is no number"),
        ({"port": True}, "'port' that is no number"),
        ({"port": 70_000}, "'port' that is no number"),
        ({"password": 12345}, "'password' that is no text"),
        ({"username": ["u"]}, "'username' that is no text"),
    ],
)
@in_event_loop
async def test_a_wrong_shape_is_told_in_one_line_without_a_value(change: dict[str, Any], said: str) -> None:
    """AML-68: a runtime credential error."""
    on = VaultSetup(KEY=json.dumps({**GOOD, **change}))
    with pytest.raises(ExecutionFailed, match=said) as caught:
        await on.vault.members(
            make_credentials(scheme="service-account"), make_context(), required_members("database", "postgresql")
        )
    assert (caught.value.error_class, caught.value.code) == ("credential_missing", "credential_shape")
    assert "canary" not in str(caught.value) and "\n" not in str(caught.value)


@in_event_loop
async def test_a_good_shape_is_given_with_a_port_that_is_a_number_and_a_key_chooses_the_inner_object() -> None:
    """AML-68."""
    inner = {**GOOD, "port": "5432"}
    on = VaultSetup(KEY=json.dumps({"db": inner, "as_text": json.dumps(inner)}))
    for key in ("db", "as_text"):
        said = make_credentials(scheme="service-account", key=key)
        found = await on.vault.members(said, make_context(), required_members("database", "postgresql"))
        assert found == GOOD


@in_event_loop
async def test_a_google_account_has_to_be_one() -> None:
    """AML-68."""
    on = VaultSetup(
        KEY=json.dumps({"type": "authorized_user", "project_id": "p", "private_key": "k", "client_email": "e"})
    )
    with pytest.raises(ExecutionFailed, match="'service_account'"):
        await on.vault.members(
            make_credentials(scheme="service-account"), make_context(), required_members("lambda", "gcp")
        )


@in_event_loop
async def test_a_role_of_a_database_says_where_it_is_and_asks_nobody() -> None:
    """AML-69."""
    on = VaultSetup()
    said = read_credentials(
        {"scheme": "iam-role", "host": "h", "port": 1, "database": "d", "username": "u", "region": "r"}
    )
    found = await on.vault.members(said, make_context(), required_members("database", "mysql", "iam-role"))
    assert found == {"host": "h", "port": 1, "database": "d", "username": "u", "region": "r"}
    assert not on.store.asked
    with pytest.raises(ExecutionFailed, match="lack 'host'"):
        await on.vault.members(read_credentials({"scheme": "iam-role", "port": 1}), make_context(), ["host"])
