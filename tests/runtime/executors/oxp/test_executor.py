"""A client of OXP servers: calls, retries, credentials, requirements and refusals (OXP-33 to OXP-42, OXP-45, OXP-49)."""

from __future__ import annotations

import asyncio
import time
from typing import Any

import pytest

from ferrule.app.doctor.doctor import Doctor
from ferrule.contracts.executor import Context
from ferrule.infra.credentials.oauth_records import OAuthProvider
from ferrule.model.credentials import CallSecrets
from ferrule.model.result import Pending, Result
from ferrule.runtime.pipeline.call import RunOptions
from tests.driven import driven
from tests.infra.clouds.far import Reply, far
from tests.runtime.executors.oxp.upstream import BOUND, ECHO, NAME, NEEDY, Server, done, failed, result, using
from tests.servers.oxp.written import definition


@driven
async def test_a_call_is_made_as_the_protocol_has_it() -> None:
    """OXP-26, OXP-28, OXP-29, OXP-37"""
    with far(server := Server(done({"said": "hi"}))) as remote:
        async with using(remote.url) as app:
            found = await result(app)
    assert found.structured_content == {"said": "hi"}
    (call,) = server.calls
    assert set(call) == {"call_id", "tool_id", "input", "trace_id"}
    assert (call["tool_id"], call["input"]) == ("Echo.Text@1.0.0", {"text": "hi"})
    assert call["call_id"] == found.invocation_id


@driven
async def test_no_value_is_no_output() -> None:
    """OXP-32"""
    with far(Server(done())) as remote:
        async with using(remote.url) as app:
            found = await result(app)
    assert found.status == "succeeded"
    assert found.structured_content is None


@driven
async def test_a_value_that_breaks_its_promise_is_not_passed_on() -> None:
    """OXP-32"""
    typed = {**ECHO, "output_schema": {"type": "integer"}}
    with far(Server(done("seven"), tools=[typed])) as remote:
        async with using(remote.url, typed) as app:
            found = await result(app)
    assert found.is_error


@driven
async def test_a_failure_that_may_be_retried_is_after_the_wait_it_asks_for() -> None:
    """OXP-36: under another id, for the server has stored the first answer."""
    with far(server := Server(failed(can_retry=True, retry_after_ms=120), done("ok"))) as remote:
        async with using(remote.url) as app:
            began = time.monotonic()
            found = await result(app)
            took = time.monotonic() - began
    assert found.text == "ok"
    assert took >= 0.12
    assert len(set(server.call_ids)) == 2
    assert all(one.startswith(found.invocation_id) for one in server.call_ids)


@driven
async def test_attempts_are_bounded() -> None:
    """OXP-36"""
    with far(server := Server(failed(can_retry=True, retry_after_ms=0))) as remote:
        async with using(remote.url, attempts=3) as app:
            found = await result(app)
    assert (found.is_error, len(server.calls)) == (True, 3)


@driven
async def test_a_wait_that_is_too_long_is_not_waited() -> None:
    """OXP-36"""
    with far(server := Server(failed(can_retry=True, retry_after_ms=3_600_000))) as remote:
        async with using(remote.url, timeout_seconds=5.0) as app:
            found = await result(app)
    assert found.error is not None
    assert (len(server.calls), found.error.retry_after) == (1, 3600.0)


@driven
async def test_a_server_in_trouble_is_asked_again_for_the_same_call() -> None:
    """OXP-28: nobody knows whether it ran, so that its id stays the same."""
    with far(server := Server(Reply(503, {"message": "no"}), Reply(500, b"oops"), done("ok"))) as remote:
        async with using(remote.url) as app:
            found = await result(app)
    assert found.text == "ok"
    assert len(set(server.call_ids)) == 1 and len(server.call_ids) == 3


@driven
async def test_a_call_that_waits_for_a_person_there_goes_on_in_the_background() -> None:
    """OXP-36: asked about under the same id until it has ended."""
    waits = failed(can_retry=True, retry_after_ms=30, pending=True, invocation_id="inv_there")
    with far(server := Server(waits, waits, done("approved"))) as remote:
        async with using(remote.url) as app:
            surface = app.surface(principal="ada")
            first = await surface.call(NAME, {"text": "hi"})
            assert isinstance(first, Pending)
            found = await surface.result(first.invocation_id, wait=20)
    assert isinstance(found, Result)
    assert found.text == "approved"
    assert set(server.call_ids) == {first.invocation_id}


@driven
async def test_a_deadline_ends_the_waiting() -> None:
    """OXP-36"""
    gate = asyncio.Event()

    def slow(request: Any) -> Any:
        time.sleep(0.6)
        return done("late")

    with far(Server(slow)) as remote:
        async with using(remote.url) as app:
            found = await result(app, timeout_seconds=0.2)
    assert found.error is not None
    assert (found.error.error_class, gate.is_set()) == ("timeout", False)


@driven
async def test_what_a_tool_requires_goes_with_the_call_and_nothing_else() -> None:
    """OXP-38, OXP-39, OXP-40, OXP-42"""
    with far(server := Server(done("tok-0123456789 and post-0123456789"), tools=[NEEDY])) as remote:
        environment = {"POST": "post-0123456789"}
        async with using(remote.url, NEEDY, secrets=BOUND, environment=environment) as app:
            surface = app.surface(principal="ada", brings_credentials=True)
            options = RunOptions(handed=CallSecrets(google="tok-0123456789", other="unasked-0123456789"))
            found = await surface.call(NAME, {"text": "hi"}, options=options)
    assert server.calls[0]["context"] == {
        "authorization": [{"id": "google", "token": "tok-0123456789"}],
        "secrets": [{"id": "POST_KEY", "value": "post-0123456789"}],
        "user_id": "ada",
    }
    assert isinstance(found, Result)
    assert found.text == "[REDACTED] and [REDACTED]"


@driven
async def test_a_user_who_has_to_authorize_here_is_sent_there_first() -> None:
    """OXP-41: nothing is sent to the server before that."""
    google = OAuthProvider(client_id="c", authorization_url="https://id.example/a", token_url="https://id.example/t")
    with far(server := Server(done("ok"), tools=[NEEDY])) as remote:
        async with using(
            remote.url, NEEDY, secrets=BOUND, environment={"POST": "p" * 8}, oauth={"google": google}
        ) as app:
            found = await result(app)
    assert found.error is not None
    assert found.error.error_code == "authorization_required"
    assert "https://id.example/a" in found.text
    assert server.calls == []


@driven
async def test_versions_side_by_side_are_each_called_as_they_are() -> None:
    """OXP-30, OXP-50"""
    both = [ECHO, definition("Echo.Text@2.0.0", output={})]
    with far(server := Server(done("ok"), tools=both)) as remote:
        async with using(remote.url, *both) as app:
            await app.surface(principal="ada").call(NAME, {})
            await app.surface(principal="ada", pins={"up.Echo.Text": "1.0.0"}).call(NAME, {"text": "x"})
    assert [call["tool_id"] for call in server.calls] == ["Echo.Text@2.0.0", "Echo.Text@1.0.0"]


@driven
async def test_a_probe_tells_whether_it_would_work() -> None:
    """OXP-19"""
    with far(server := Server(done("ok"))) as remote:
        async with using(remote.url) as app:
            tool = app.catalog.versions("up.Echo.Text")[0].tool
            executor = app.find_executor(tool)
            assert executor is not None
            run: Any = executor.prepare(tool)
            assert "as accepted" in await run.probe(Context("probe", "ada", None, ""))
            server.health = 503
            with pytest.raises(Exception, match="not well"):
                await run.probe(Context("probe", "ada", None, ""))
    assert server.calls == []


@driven
async def test_a_probe_tells_of_an_authorization_that_a_call_would_miss() -> None:
    """OXP-38, OXP-41"""
    google = OAuthProvider(client_id="c", authorization_url="https://id.example/a", token_url="https://id.example/t")
    with far(server := Server(done("ok"), tools=[NEEDY])) as remote:
        async with using(
            remote.url, NEEDY, secrets=BOUND, environment={"POST": "p" * 8}, oauth={"google": google}
        ) as app:
            (one,) = await Doctor(app, principal="ada", seconds=5.0).examine(app.catalog.list_preferred())
    assert (one.health, one.code) == ("broken", "authorization_required")
    assert "ferrule connect google" in one.told
    assert server.calls == []


@driven
async def test_an_address_that_may_not_be_reached_is_not() -> None:
    with far(server := Server(done("ok"))) as remote:
        async with using(remote.url.replace("127.0.0.1", "127.0.0.2")) as app:
            found = await result(app)
    assert found.error is not None
    assert (found.error.error_code, server.calls) == ("address_forbidden", [])
