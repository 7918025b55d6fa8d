"""Secrets by reference: fetched late, once for each run and time, forgotten when refused (AML-67 to AML-72)."""

from __future__ import annotations

import asyncio
import json
from typing import Any

import pytest

from ferrule.contracts.executor import Context, ExecutionFailed
from ferrule.contracts.secrets import SecretUnavailable
from ferrule.infra.credentials.shapes import required_members
from ferrule.infra.credentials.vault import CachedVault
from ferrule.model.credentials import BadCredentials, Credentials, SecretRef, read_credentials
from tests.infra.clouds.fixtures import Learned, played

ENV = SecretRef(source="env", name="KEY")


class Store:
    """A place of secrets that counts."""

    def __init__(self, **values: str) -> None:
        self.values = values
        self.asked = 0
        self.trouble: Exception | None = None
        self.may_answer = asyncio.Event()
        self.may_answer.set()

    def is_missing(self, ref: SecretRef) -> bool:
        return ref.name not in self.values

    async def fetch(self, ref: SecretRef) -> str:
        self.asked += 1
        await self.may_answer.wait()
        if self.trouble is not None:
            raise self.trouble
        return self.values[ref.name]


class Bench:
    """A vault over one such place, with a clock."""

    def __init__(self, *, cache_seconds: float = 300.0, **values: str) -> None:
        self.store = Store(**values)
        self.learned = Learned()
        self.now = 0.0
        self.vault = CachedVault(lambda name: self.store, self.learned, lambda: self.now, cache_seconds=cache_seconds)


def run(run_id: str = "r1") -> Context:
    return Context(invocation_id="i", principal="p", agent=None, tenant="", run_id=run_id)


def credentials(**written: Any) -> Credentials:
    return read_credentials({"source": "env", "name": "KEY", **written})


@played
async def test_a_secret_is_fetched_once_for_a_run_and_anew_for_another() -> None:
    """AML-72."""
    on = Bench(KEY="one")
    assert [await on.vault.secret(ENV, run()) for _ in range(5)] == ["one"] * 5
    assert on.store.asked == 1
    on.store.values["KEY"] = "two"
    assert await on.vault.secret(ENV, run()) == "one"
    assert await on.vault.secret(ENV, run("r2")) == "two"
    assert on.store.asked == 2


@played
async def test_a_long_run_reads_it_again_after_its_time() -> None:
    on = Bench(KEY="one", cache_seconds=60)
    assert await on.vault.secret(ENV, run()) == "one"
    on.store.values["KEY"] = "two"
    on.now = 59.0
    assert await on.vault.secret(ENV, run()) == "one"
    on.now = 61.0
    assert await on.vault.secret(ENV, run()) == "two"


@played
async def test_a_hundred_calls_at_once_ask_once_and_one_canceled_call_hurts_nobody() -> None:
    on = Bench(KEY="one")
    on.store.may_answer.clear()
    calls = [asyncio.create_task(on.vault.secret(ENV, run())) for _ in range(100)]
    while not on.store.asked:
        await asyncio.sleep(0)
    calls[0].cancel()
    await asyncio.sleep(0)
    on.store.may_answer.set()
    found = await asyncio.gather(*calls, return_exceptions=True)
    assert found[1:] == ["one"] * 99 and isinstance(found[0], asyncio.CancelledError)
    assert on.store.asked == 1


@played
async def test_what_was_refused_is_read_anew_in_every_run() -> None:
    on = Bench(KEY="old")
    said = credentials(scheme="bearer-token")
    contexts = [run("r1"), run("r2")]
    assert [(await on.vault.headers(said, each))["Authorization"] for each in contexts] == ["Bearer old"] * 2
    on.store.values["KEY"] = "rotated"
    on.vault.refused(said, contexts[0])
    assert [(await on.vault.headers(said, each))["Authorization"] for each in contexts] == ["Bearer rotated"] * 2


@played
async def test_a_member_and_the_whole_are_one_fetch_and_are_refused_together() -> None:
    """AML-67."""
    on = Bench(KEY='{"a": "first", "b": "second", "n": 7}')
    a, b, n = (credentials(scheme="api-key", header="X-Key", key=key) for key in "abn")
    assert [(await on.vault.headers(each, run()))["X-Key"] for each in (a, b, n)] == ["first", "second", "7"]
    assert on.store.asked == 1
    on.vault.refused(b, run())
    await on.vault.headers(a, run())
    assert on.store.asked == 2


@pytest.mark.parametrize(
    "value", ["no json", "[1]", '"text"', "{}", '{"other": "x"}', '{"k": ""}', '{"k": {}}', '{"k": null}']
)
@played
async def test_a_member_that_is_not_there_is_told_without_the_secret(value: str) -> None:
    """AML-67."""
    on = Bench(KEY=value)
    with pytest.raises(ExecutionFailed) as caught:
        await on.vault.secret(SecretRef(source="env", name="KEY", key="k"), run())
    assert (caught.value.error_class, caught.value.code) == ("credential_missing", "credential_shape")
    assert "'KEY'" in str(caught.value) and "other" not in str(caught.value)


@pytest.mark.parametrize("scheme", ["bearer-token", "service-account"])
@played
async def test_a_token_goes_into_authorization(scheme: str) -> None:
    """AML-66, AML-70."""
    on = Bench(KEY=" t0ken\n")
    assert await on.vault.headers(credentials(scheme=scheme), run()) == {"Authorization": "Bearer t0ken"}


@played
async def test_a_key_goes_into_its_header_and_nothing_goes_where_nothing_is_said() -> None:
    """AML-65, AML-66."""
    on = Bench(KEY="k")
    assert await on.vault.headers(credentials(scheme="api-key", header="X-Api"), run()) == {"X-Api": "k"}
    for scheme in ("none", "iam-role"):
        assert await on.vault.headers(read_credentials({"scheme": scheme}), run()) == {}


@pytest.mark.parametrize("value", [" ", "a\r\nX-Evil: 1", "a\0b", "漢字"])
@played
async def test_a_secret_that_would_break_out_of_its_header_is_refused(value: str) -> None:
    on = Bench(KEY=value)
    with pytest.raises(ExecutionFailed) as caught:
        await on.vault.headers(credentials(scheme="bearer-token"), run())
    assert caught.value.code == "credential_shape" and (value.strip() or "canary") not in str(caught.value)


@played
async def test_the_redactor_knows_a_secret_before_anybody_gets_it() -> None:
    """AML-71: the whole, and every member that is no mere name."""
    secret = {"host": "db.example", "username": "app", "password": "p4ssw0rd", "deep": {"token": ["t1", {"x": "t2"}]}}
    on = Bench(KEY=json.dumps(secret))
    await on.vault.members(credentials(scheme="service-account"), run())
    assert {json.dumps(secret), "p4ssw0rd", "t1", "t2"} == on.learned.keys()
    assert set(on.learned.values()) == {"KEY"}


@played
async def test_a_member_that_is_a_number_is_a_secret_too() -> None:
    """AML-67, AML-71: it is shown as its text, and the redactor knows that."""
    on = Bench(KEY='{"pin": 7788990011}')
    shown = await on.vault.headers(credentials(scheme="bearer-token", key="pin"), run())
    assert shown == {"Authorization": "Bearer 7788990011"}
    assert "7788990011" in on.learned


@played
async def test_a_store_that_did_not_answer_is_asked_again_and_a_secret_that_is_not_there_is_final() -> None:
    """AML-72."""
    on = Bench(KEY="x")
    for trouble, error_class, is_retryable in (
        (
            SecretUnavailable("down", is_final=False, reference="http:503", retry_after=3.0),
            "dependency_unavailable",
            True,
        ),
        (SecretUnavailable("gone", reference="http:404"), "credential_missing", False),
    ):
        on.store.trouble = trouble
        with pytest.raises(ExecutionFailed) as caught:
            await on.vault.secret(ENV, run())
        assert (caught.value.error_class, caught.value.is_retryable) == (error_class, is_retryable)
        assert caught.value.native_error_ref == trouble.reference and caught.value.retry_after == trouble.retry_after
    on.store.trouble = None
    assert await on.vault.secret(ENV, run()) == "x"


# Shapes of service accounts


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
@played
async def test_a_wrong_shape_is_told_in_one_line_without_a_value(change: dict[str, Any], said: str) -> None:
    """AML-68: a runtime credential error."""
    on = Bench(KEY=json.dumps({**GOOD, **change}))
    with pytest.raises(ExecutionFailed, match=said) as caught:
        await on.vault.members(credentials(scheme="service-account"), run(), required_members("database", "postgresql"))
    assert (caught.value.error_class, caught.value.code) == ("credential_missing", "credential_shape")
    assert "canary" not in str(caught.value) and "\n" not in str(caught.value)


@played
async def test_a_good_shape_is_given_with_a_port_that_is_a_number_and_a_key_chooses_the_inner_object() -> None:
    """AML-68."""
    inner = {**GOOD, "port": "5432"}
    on = Bench(KEY=json.dumps({"db": inner, "as_text": json.dumps(inner)}))
    for key in ("db", "as_text"):
        said = credentials(scheme="service-account", key=key)
        found = await on.vault.members(said, run(), required_members("database", "postgresql"))
        assert found == GOOD


@played
async def test_a_google_account_has_to_be_one() -> None:
    """AML-68."""
    on = Bench(KEY=json.dumps({"type": "authorized_user", "project_id": "p", "private_key": "k", "client_email": "e"}))
    with pytest.raises(ExecutionFailed, match="'service_account'"):
        await on.vault.members(credentials(scheme="service-account"), run(), required_members("lambda", "gcp"))


@played
async def test_a_role_of_a_database_says_where_it_is_and_asks_nobody() -> None:
    """AML-69."""
    on = Bench()
    said = read_credentials(
        {"scheme": "iam-role", "host": "h", "port": 1, "database": "d", "username": "u", "region": "r"}
    )
    found = await on.vault.members(said, run(), required_members("database", "mysql", "iam-role"))
    assert found == {"host": "h", "port": 1, "database": "d", "username": "u", "region": "r"}
    assert not on.store.asked
    with pytest.raises(ExecutionFailed, match="lack 'host'"):
        await on.vault.members(read_credentials({"scheme": "iam-role", "port": 1}), run(), ["host"])


# What definitions say


@pytest.mark.parametrize("scheme", ["none", "iam-role", "oauth2"])
def test_a_source_that_a_scheme_does_not_use_is_nothing_a_tool_waits_for(scheme: str) -> None:
    """AML-66: extra members are a warning, no reason to refuse calls."""
    said = read_credentials(
        {"scheme": scheme, "source": "env", "name": "NOT_SET", "provider": "aws", "function_id": "f"}
    )
    assert said.ref is None and Bench().vault.missing(said) == ()


@pytest.mark.parametrize(
    ("ref", "lacks"),
    [
        (SecretRef(source="env"), "'name'"),
        (SecretRef(source="aws_secrets_manager", name="x"), "'secret_id'"),
        (SecretRef(source="gcp_secret_manager", secret="x"), "'project'"),
        (SecretRef(source="azure_key_vault"), "'vault_url', 'secret_name'"),
    ],
)
@played
async def test_a_reference_that_names_nothing_asks_nobody(ref: SecretRef, lacks: str) -> None:
    """AML-63."""
    on = Bench()
    with pytest.raises(ExecutionFailed, match=lacks) as caught:
        await on.vault.secret(ref, run())
    assert caught.value.error_class == "setup_required" and not on.store.asked


def test_a_definition_may_choose_a_stage() -> None:
    said = credentials(scheme="bearer-token", **{"x-version-stage": "AWSPREVIOUS"})
    assert said.ref is not None and said.ref.version_stage == "AWSPREVIOUS"


@pytest.mark.parametrize(
    "written", [7, [], {"scheme": "basic"}, {"scheme": "api-key", "source": "vault"}, {"scheme": 7}]
)
def test_what_cannot_be_read_is_no_credentials(written: Any) -> None:
    """AML-58, AML-62."""
    with pytest.raises(BadCredentials):
        read_credentials(written)
