"""Tokens of Google Cloud, from an address that checks signatures."""

from __future__ import annotations

import asyncio
import json
from pathlib import Path
from typing import Any

import pytest

from ferrule.contracts.executor import ExecutionFailed
from ferrule.infra import drivers
from ferrule.infra.clouds.gcp import CLOUD_PLATFORM, Gcp
from tests.infra.clouds.far import Reply
from tests.infra.clouds.fixtures import Learned, in_event_loop, local_client
from tests.infra.clouds.google import Google

_ISSUED = {"issued_token_type": "urn:ietf:params:oauth:token-type:access_token", "token_type": "Bearer"}


@in_event_loop
async def test_a_service_account_gets_a_token_once(gcp: Google) -> None:
    """AML-68."""
    learned = Learned()
    here = Gcp(local_client(), {}, learned)
    tokens = await asyncio.gather(*(here.access_token(gcp.account()) for _ in range(20)))
    assert len(set(tokens)) == 1 and len(gcp.far.asked) == 1
    assert gcp.tokens[tokens[0]]["scope"] == CLOUD_PLATFORM
    assert tokens[0] in learned and gcp.account()["private_key"] in learned
    other = await here.access_token(gcp.account(), ["https://www.googleapis.com/auth/pubsub"])
    assert gcp.tokens[other]["scope"].endswith("pubsub")


@in_event_loop
async def test_an_identity_token_is_for_one_audience(gcp: Google) -> None:
    here = Gcp(local_client(), {}, Learned())
    token = await here.identity_token(gcp.account(), "https://one.example")
    assert gcp.tokens[token]["target_audience"] == "https://one.example"
    assert await here.identity_token(gcp.account(), "https://two.example") != token


@in_event_loop
async def test_a_token_that_soon_ends_is_not_kept_and_a_refused_one_is_forgotten(gcp: Google) -> None:
    gcp.lasts = 60
    here = Gcp(local_client(), {}, Learned())
    assert await here.access_token(gcp.account()) != await here.access_token(gcp.account())
    gcp.lasts = 3600
    first = await here.access_token(gcp.account())
    assert first == await here.access_token(gcp.account())
    here.forget()
    assert first != await here.access_token(gcp.account())


@in_event_loop
async def test_the_process_runs_as_the_account_in_the_file_it_names(gcp: Google, tmp_path: Path) -> None:
    here = Gcp(local_client(), gcp.environment(tmp_path / "key.json"), Learned())
    assert "scope" in gcp.tokens[await here.access_token()]
    assert "target_audience" in gcp.tokens[await here.identity_token(None, "https://one.example")]


@in_event_loop
async def test_other_files_are_read_by_the_library(
    gcp: Google, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Workload identity: the library exchanges what it finds by itself, in a thread."""
    gcp.far.answer = lambda asked: Reply(200, {"access_token": "ya29.of-a-workload", "expires_in": 3600, **_ISSUED})
    file, subject = tmp_path / "adc.json", tmp_path / "subject"
    subject.write_text("a.workload.token")
    workload = {
        "type": "external_account",
        "audience": "//iam.googleapis.com/projects/1/locations/global/workloadIdentityPools/p/providers/q",
        "subject_token_type": "urn:ietf:params:oauth:token-type:jwt",
        "token_url": f"{gcp.url}/sts",
        "credential_source": {"file": str(subject)},
    }
    file.write_text(json.dumps(workload))
    learned = Learned()
    monkeypatch.setenv("GOOGLE_APPLICATION_CREDENTIALS", str(file))
    monkeypatch.setenv("GOOGLE_CLOUD_PROJECT", "acme")
    here = Gcp(local_client(), {"GOOGLE_APPLICATION_CREDENTIALS": str(file)}, learned)
    assert await here.access_token() == "ya29.of-a-workload"
    assert "ya29.of-a-workload" in learned
    (asked,) = gcp.far.asked
    assert asked.path == "/sts" and asked.form["subject_token"] == "a.workload.token"


@pytest.mark.parametrize("status", [400, 401, 403])
@in_event_loop
async def test_a_key_that_is_not_accepted_is_a_refused_credential(gcp: Google, status: int) -> None:
    gcp.far.answer = lambda asked: Reply(status, {"error": "invalid_grant", "error_description": "canary"})
    with pytest.raises(ExecutionFailed) as caught:
        await Gcp(local_client(), {}, Learned()).access_token(gcp.account())
    assert (caught.value.error_class, caught.value.code) == ("credential_missing", "credential_refused")
    assert "canary" not in str(caught.value)


@in_event_loop
async def test_a_busy_token_address_is_a_passing_trouble(gcp: Google) -> None:
    gcp.far.answer = lambda asked: Reply(429, {}, {"Retry-After": "7"})
    with pytest.raises(ExecutionFailed) as caught:
        await Gcp(local_client(), {}, Learned()).access_token(gcp.account())
    assert (caught.value.error_class, caught.value.retry_after) == ("rate_limited", 7.0)


@pytest.mark.parametrize(
    "key", ["", "no key at all", "-----BEGIN PRIVATE KEY-----\ncanary\n-----END PRIVATE KEY-----\n"]
)
@in_event_loop
async def test_a_private_key_that_cannot_be_read_is_not_quoted(gcp: Google, key: str) -> None:
    with pytest.raises(ExecutionFailed) as caught:
        await Gcp(local_client(), {}, Learned()).access_token({**gcp.account(), "private_key": key})
    assert caught.value.code == "credential_shape" and caught.value.__cause__ is None
    assert "canary" not in str(caught.value) and not gcp.far.asked


@in_event_loop
async def test_a_token_address_inside_our_network_is_not_reached(gcp: Google) -> None:
    with pytest.raises(ExecutionFailed) as caught:
        await Gcp(local_client("elsewhere.example"), {}, Learned()).access_token(gcp.account())
    assert caught.value.code == "address_forbidden" and not gcp.far.asked


@in_event_loop
async def test_a_missing_library_is_told_with_how_to_get_it(gcp: Google, monkeypatch: pytest.MonkeyPatch) -> None:
    def gone(module: str) -> Any:
        raise ImportError(module)

    monkeypatch.setattr(drivers, "import_module", gone)
    with pytest.raises(ExecutionFailed, match=r"pip install 'ferrule\[gcp\]'"):
        await Gcp(local_client(), {}, Learned()).access_token(gcp.account())
