"""Secrets by reference: fetched late, once for each run and time, forgotten when refused (AML-67 to AML-72)."""

from __future__ import annotations

import asyncio
import json
from typing import Any

import pytest

from ferrule.contracts.executor import ExecutionFailed
from ferrule.contracts.secrets import SecretUnavailable
from ferrule.model.credentials import BadCredentials, SecretRef, read_credentials
from tests.infra.clouds.fixtures import in_event_loop
from tests.infra.credentials.counting_store import VaultSetup, make_context, make_credentials

ENV = SecretRef(source="env", name="KEY")


@in_event_loop
async def test_a_secret_is_fetched_once_for_a_run_and_anew_for_another() -> None:
    """AML-72."""
    on = VaultSetup(KEY="one")
    assert [await on.vault.secret(ENV, make_context()) for _ in range(5)] == ["one"] * 5
    assert on.store.asked == 1
    on.store.values["KEY"] = "two"
    assert await on.vault.secret(ENV, make_context()) == "one"
    assert await on.vault.secret(ENV, make_context("r2")) == "two"
    assert on.store.asked == 2


@in_event_loop
async def test_a_long_run_reads_it_again_after_its_time() -> None:
    on = VaultSetup(KEY="one", cache_seconds=60)
    assert await on.vault.secret(ENV, make_context()) == "one"
    on.store.values["KEY"] = "two"
    on.now = 59.0
    assert await on.vault.secret(ENV, make_context()) == "one"
    on.now = 61.0
    assert await on.vault.secret(ENV, make_context()) == "two"


@in_event_loop
async def test_a_hundred_calls_at_once_ask_once_and_one_canceled_call_hurts_nobody() -> None:
    on = VaultSetup(KEY="one")
    on.store.may_answer.clear()
    calls = [asyncio.create_task(on.vault.secret(ENV, make_context())) for _ in range(100)]
    while not on.store.asked:
        await asyncio.sleep(0)
    calls[0].cancel()
    await asyncio.sleep(0)
    on.store.may_answer.set()
    found = await asyncio.gather(*calls, return_exceptions=True)
    assert found[1:] == ["one"] * 99 and isinstance(found[0], asyncio.CancelledError)
    assert on.store.asked == 1


@in_event_loop
async def test_what_was_refused_is_read_anew_in_every_run() -> None:
    on = VaultSetup(KEY="old")
    said = make_credentials(scheme="bearer-token")
    contexts = [make_context("r1"), make_context("r2")]
    assert [(await on.vault.headers(said, each))["Authorization"] for each in contexts] == ["Bearer old"] * 2
    on.store.values["KEY"] = "rotated"
    on.vault.forget_refused(said, contexts[0])
    assert [(await on.vault.headers(said, each))["Authorization"] for each in contexts] == ["Bearer rotated"] * 2


@in_event_loop
async def test_a_member_and_the_whole_are_one_fetch_and_are_refused_together() -> None:
    """AML-67."""
    on = VaultSetup(KEY='{"a": "first", "b": "second", "n": 7}')
    a, b, n = (make_credentials(scheme="api-key", header="X-Key", key=key) for key in "abn")
    assert [(await on.vault.headers(each, make_context()))["X-Key"] for each in (a, b, n)] == ["first", "second", "7"]
    assert on.store.asked == 1
    on.vault.forget_refused(b, make_context())
    await on.vault.headers(a, make_context())
    assert on.store.asked == 2


@pytest.mark.parametrize(
    "value", ["no json", "[1]", '"text"', "{}", '{"other": "x"}', '{"k": ""}', '{"k": {}}', '{"k": null}']
)
@in_event_loop
async def test_a_member_that_is_not_there_is_told_without_the_secret(value: str) -> None:
    """AML-67."""
    on = VaultSetup(KEY=value)
    with pytest.raises(ExecutionFailed) as caught:
        await on.vault.secret(SecretRef(source="env", name="KEY", key="k"), make_context())
    assert (caught.value.error_class, caught.value.code) == ("credential_missing", "credential_shape")
    assert "'KEY'" in str(caught.value) and "other" not in str(caught.value)


@pytest.mark.parametrize("scheme", ["bearer-token", "service-account"])
@in_event_loop
async def test_a_token_goes_into_authorization(scheme: str) -> None:
    """AML-66, AML-70."""
    on = VaultSetup(KEY=" t0ken\n")
    assert await on.vault.headers(make_credentials(scheme=scheme), make_context()) == {"Authorization": "Bearer t0ken"}


@in_event_loop
async def test_a_key_goes_into_its_header_and_nothing_goes_where_nothing_is_said() -> None:
    """AML-65, AML-66."""
    on = VaultSetup(KEY="k")
    assert await on.vault.headers(make_credentials(scheme="api-key", header="X-Api"), make_context()) == {"X-Api": "k"}
    for scheme in ("none", "iam-role"):
        assert await on.vault.headers(read_credentials({"scheme": scheme}), make_context()) == {}


@pytest.mark.parametrize("value", [" ", "a\r\nX-Evil: 1", "a\0b", "漢字"])
@in_event_loop
async def test_a_secret_that_would_break_out_of_its_header_is_refused(value: str) -> None:
    on = VaultSetup(KEY=value)
    with pytest.raises(ExecutionFailed) as caught:
        await on.vault.headers(make_credentials(scheme="bearer-token"), make_context())
    assert caught.value.code == "credential_shape" and (value.strip() or "canary") not in str(caught.value)


@in_event_loop
async def test_the_redactor_knows_a_secret_before_anybody_gets_it() -> None:
    """AML-71: the whole, and every member that is no mere name."""
    secret = {"host": "db.example", "username": "app", "password": "p4ssw0rd", "deep": {"token": ["t1", {"x": "t2"}]}}
    on = VaultSetup(KEY=json.dumps(secret))
    await on.vault.members(make_credentials(scheme="service-account"), make_context())
    assert {json.dumps(secret), "p4ssw0rd", "t1", "t2"} == on.learned.keys()
    assert set(on.learned.values()) == {"KEY"}


@in_event_loop
async def test_a_member_that_is_a_number_is_a_secret_too() -> None:
    """AML-67, AML-71: it is shown as its text, and the redactor knows that."""
    on = VaultSetup(KEY='{"pin": 7788990011}')
    shown = await on.vault.headers(make_credentials(scheme="bearer-token", key="pin"), make_context())
    assert shown == {"Authorization": "Bearer 7788990011"}
    assert "7788990011" in on.learned


@in_event_loop
async def test_a_store_that_did_not_answer_is_asked_again_and_a_secret_that_is_not_there_is_final() -> None:
    """AML-72."""
    on = VaultSetup(KEY="x")
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
            await on.vault.secret(ENV, make_context())
        assert (caught.value.error_class, caught.value.is_retryable) == (error_class, is_retryable)
        assert caught.value.native_error_ref == trouble.reference and caught.value.retry_after == trouble.retry_after
    on.store.trouble = None
    assert await on.vault.secret(ENV, make_context()) == "x"


# What definitions say


@pytest.mark.parametrize("scheme", ["none", "iam-role", "oauth2"])
def test_a_source_that_a_scheme_does_not_use_is_nothing_a_tool_waits_for(scheme: str) -> None:
    """AML-66: extra members are a warning, no reason to refuse calls."""
    said = read_credentials(
        {"scheme": scheme, "source": "env", "name": "NOT_SET", "provider": "aws", "function_id": "f"}
    )
    assert said.ref is None and VaultSetup().vault.missing(said) == ()


@pytest.mark.parametrize(
    ("ref", "lacks"),
    [
        (SecretRef(source="env"), "'name'"),
        (SecretRef(source="aws_secrets_manager", name="x"), "'secret_id'"),
        (SecretRef(source="gcp_secret_manager", secret="x"), "'project'"),
        (SecretRef(source="azure_key_vault"), "'vault_url', 'secret_name'"),
    ],
)
@in_event_loop
async def test_a_reference_that_names_nothing_asks_nobody(ref: SecretRef, lacks: str) -> None:
    """AML-63."""
    on = VaultSetup()
    with pytest.raises(ExecutionFailed, match=lacks) as caught:
        await on.vault.secret(ref, make_context())
    assert caught.value.error_class == "setup_required" and not on.store.asked


def test_a_definition_may_choose_a_stage() -> None:
    said = make_credentials(scheme="bearer-token", **{"x-version-stage": "AWSPREVIOUS"})
    assert said.ref is not None and said.ref.version_stage == "AWSPREVIOUS"


@pytest.mark.parametrize(
    "written", [7, [], {"scheme": "basic"}, {"scheme": "api-key", "source": "vault"}, {"scheme": 7}]
)
def test_what_cannot_be_read_is_no_credentials(written: Any) -> None:
    """AML-58, AML-62."""
    with pytest.raises(BadCredentials):
        read_credentials(written)
