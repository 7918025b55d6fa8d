"""A client of OXP servers: calls, retries, credentials, requirements and refusals (OXP-33 to OXP-42, OXP-45, OXP-49)."""

from __future__ import annotations

import asyncio
import logging
import time
from typing import Any

import jwt
import pytest

from ferrule.app.doctor.doctor import Doctor
from ferrule.contracts.executor import Context
from ferrule.infra.credentials.oauth_records import OAuthProvider
from ferrule.model.credentials import Handed, SecretRef
from ferrule.model.result import Pending, Result
from ferrule.runtime.pipeline.call import CallOptions
from ferrule.settings import SecretSettings
from tests.driven import driven
from tests.infra.clouds.far import Reply, far
from tests.runtime.executors.oxp.upstream import ECHO, Server, done, failed, using
from tests.servers.oxp.written import definition

NAME = "Echo_Text"


async def result(app: Any, arguments: dict[str, Any] | None = None, **options: Any) -> Result:
    found = await app.surface(principal="ada").call(NAME, arguments or {"text": "hi"}, **options)
    assert isinstance(found, Result)
    return found


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


@pytest.mark.parametrize(
    "both",
    [done("ok", error={"message": "it broke"}), {**failed(), "value": "ok"}, done(error={"message": "it broke"})],
)
def test_a_response_that_succeeded_and_failed_at_once_is_none(both: dict[str, Any]) -> None:
    """OXP-31"""

    @driven
    async def story() -> None:
        with far(Server(both)) as remote:
            async with using(remote.url) as app:
                found = await result(app)
        assert found.error is not None
        assert found.error.error_code == "bad_answer"
        assert "ok" not in found.text.split()

    story()


@driven
async def test_a_member_that_is_null_says_nothing() -> None:
    """OXP-31: some servers write every member."""
    with far(Server(done("ok", error=None), {**failed(), "value": None})) as remote:
        async with using(remote.url) as app:
            found = [await result(app) for _ in range(2)]
    assert [one.error and one.error.error_code for one in found] == [None, "upstream_failed"]


@driven
async def test_a_failure_that_may_not_be_retried_is_told_once(caplog: pytest.LogCaptureFixture) -> None:
    """OXP-33, OXP-34, OXP-36: `can_retry` is false unless it is said."""
    with far(server := Server(failed(developer_message="for logs", additional_prompt_content="use less"))) as remote:
        async with using(remote.url) as app:
            with caplog.at_level(logging.INFO):
                found = await result(app)
    assert found.error is not None
    assert (len(server.calls), found.error.error_code) == (1, "upstream_failed")
    assert "it broke" in found.text and "use less" in found.text
    assert "for logs" in caplog.text
    assert "for logs" not in str(found.to_record())


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


@pytest.mark.parametrize(
    ("reply", "error_class", "code"),
    [
        (Reply(400, {"message": "no such tool"}), "execution_failed", "upstream_refused"),
        (Reply(401), "credential_missing", "credential_refused"),
        (Reply(403), "permission_denied", "upstream_denied"),
        (Reply(404, {"message": "not here"}), "execution_failed", "endpoint_not_found"),
        (Reply(405), "execution_failed", "endpoint_not_found"),
        (Reply(413), "invalid_arguments", "too_long"),
        (
            Reply(422, {"message": "bad", "parameter_errors": {"text": "too long"}}),
            "invalid_arguments",
            "upstream_invalid",
        ),
        (Reply(429, {"message": "slow down"}), "rate_limited", "upstream_busy"),
        (Reply(500), "dependency_unavailable", "upstream_broken"),
        (Reply(302), "execution_failed", "bad_answer"),
        (Reply(200, b"no json"), "execution_failed", "bad_answer"),
        (Reply(200, {"result": {"success": False}}), "execution_failed", "bad_answer"),
        (Reply(200, done("bare")), "execution_failed", "bad_answer"),
    ],
    ids=lambda value: str(getattr(value, "status", value)),
)
@driven
async def test_what_each_status_means(reply: Reply, error_class: str, code: str) -> None:
    """OXP-23, OXP-35"""
    with far(Server(reply)) as remote:
        async with using(remote.url, attempts=1) as app:
            found = await result(app)
    assert found.error is not None
    assert (found.error.error_class, found.error.error_code) == (error_class, code)


@driven
async def test_parameter_errors_reach_the_model() -> None:
    """OXP-35"""
    with far(Server(Reply(422, {"message": "bad", "parameter_errors": {"text": "too long"}}))) as remote:
        async with using(remote.url) as app:
            assert "text: too long" in (await result(app)).text


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
async def test_an_api_key_is_shown_and_forgotten_when_it_is_refused() -> None:
    """OXP-44"""
    key = {"api_key": SecretRef("env", name="UP_KEY")}
    with far(server := Server(done("ok"))) as remote:
        async with using(remote.url, server=key, environment={"UP_KEY": "key-0123456789"}) as app:
            found = await result(app)
    assert found.text == "ok"
    assert {headers["oxp-api-key"] for headers in server.headers} == {"key-0123456789"}


@driven
async def test_every_request_has_a_signed_token_of_its_own() -> None:
    """OXP-45: HS256, with an end that servers take."""
    secret = "a-shared-secret-of-more-than-32-bytes-for-tests"
    way = {"jwt_secret": SecretRef("env", name="UP_SECRET"), "jwt_audience": "there"}
    with far(server := Server(done("ok"))) as remote:
        async with using(remote.url, server=way, environment={"UP_SECRET": secret}) as app:
            assert (await result(app)).text == "ok"
    token = server.headers[-1]["authorization"].removeprefix("Bearer ")
    claims = jwt.decode(token, secret, algorithms=["HS256"], audience="there")
    assert 0 < claims["exp"] - time.time() <= 900


@driven
async def test_credentials_are_not_shown_without_encryption() -> None:
    """OXP-44: unless the host is listed."""
    from ferrule.infra.network.guard import Guard  # noqa: PLC0415
    from ferrule.infra.network.urls import parse_url  # noqa: PLC0415
    from ferrule.runtime.executors.identity import demand_trusted  # noqa: PLC0415

    with pytest.raises(Exception, match="must not be shown"):
        demand_trusted(Guard(()), parse_url("http://tools.example.com/oxp"), "it")


NEEDY = {
    **ECHO,
    "requirements": {
        "authorization": [{"id": "google", "oauth2": {"scopes": ["read"]}}],
        "secrets": [{"id": "POST_KEY"}],
        "user_id": True,
    },
}
BOUND = SecretSettings(env_file="", bindings={"POST_KEY": SecretRef("env", name="POST")})


@driven
async def test_what_a_tool_requires_goes_with_the_call_and_nothing_else() -> None:
    """OXP-38, OXP-39, OXP-40, OXP-42"""
    with far(server := Server(done("tok-0123456789 and post-0123456789"), tools=[NEEDY])) as remote:
        environment = {"POST": "post-0123456789"}
        async with using(remote.url, NEEDY, secrets=BOUND, environment=environment) as app:
            surface = app.surface(principal="ada", brings_credentials=True)
            options = CallOptions(handed=Handed(google="tok-0123456789", other="unasked-0123456789"))
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
async def test_a_user_who_has_to_authorize_at_the_server_is_sent_there() -> None:
    """OXP-41: where nobody here gives that token, the server says where to go."""
    challenge = {"id": "google", "url": "https://there.example/visit", "check_url": "https://there.example/check"}
    missing = {"message": "no", "missing_requirements": {"authorization": [{**challenge, "more": 1}], "user_id": True}}
    with far(server := Server(Reply(400, missing), tools=[NEEDY])) as remote:
        async with using(remote.url, NEEDY, secrets=BOUND, environment={"POST": "p" * 8}) as app:
            found = await app.surface(principal="ada", brings_credentials=True).call(NAME, {})
    assert isinstance(found, Result) and found.error is not None
    assert found.error.error_code == "authorization_required"
    assert found.structured_content == {"authorization": [challenge], "user_id": True}
    assert "https://there.example/visit" in found.text
    assert len(server.calls) == 1


@driven
async def test_what_a_server_misses_and_cannot_say_how_to_get_is_told_by_name() -> None:
    """OXP-41"""
    missing = {"message": "no", "missing_requirements": {"tokens": ["google", 5], "secrets": ["POST_KEY"]}}
    with far(Server(Reply(400, missing), tools=[NEEDY])) as remote:
        async with using(remote.url, NEEDY, secrets=BOUND, environment={"POST": "p" * 8}) as app:
            found = await app.surface(principal="ada", brings_credentials=True).call(NAME, {})
    assert isinstance(found, Result) and found.error is not None
    assert found.error.error_code == "upstream_requirements"
    assert found.structured_content == {"tokens": ["google"], "secrets": ["POST_KEY"]}


@driven
async def test_nothing_is_sent_to_a_tool_that_is_not_what_was_accepted() -> None:
    """OXP-50: a changed contract without a new version."""
    changed = {**ECHO, "description": "Sends your text to everybody."}
    with far(server := Server(done("ok"), tools=[changed])) as remote:
        async with using(remote.url) as app:
            found = await result(app)
    assert found.error is not None
    assert (found.error.error_code, server.calls) == ("upstream_changed", [])
    assert "description" in found.error.message


@driven
async def test_a_tool_that_is_gone_is_not_called() -> None:
    with far(server := Server(done("ok"), tools=[])) as remote:
        async with using(remote.url) as app:
            found = await result(app)
    assert found.error is not None
    assert (found.error.error_code, server.calls) == ("upstream_changed", [])


@driven
async def test_definitions_are_compared_once_in_a_while() -> None:
    with far(server := Server(done("ok"))) as remote:
        async with using(remote.url) as app:
            for _ in range(3):
                await result(app)
    assert (server.listed, len(server.calls)) == (1, 3)


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
            executor = app.executor_of(tool)
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
            (one,) = await Doctor(app, principal="ada", seconds=5.0).examine(app.catalog.preferred())
    assert (one.health, one.code) == ("broken", "authorization_required")
    assert "ferrule connect google" in one.told
    assert server.calls == []


@driven
async def test_the_shapes_of_later_drafts_are_read_where_that_is_wanted() -> None:
    """OXP-49"""
    later = {"id": "Echo.Text@1.0.0", "name": "x", "description": "Echoes.", "version": "1.0.0",
             "input_schema": {"type": "object", "properties": {"text": {"type": "string"}}}}  # fmt: skip

    def answer(asked: Any) -> Reply:
        if asked.path == "/oxp/tools":
            return Reply(200, {"items": [later]})
        return Reply(200, done("bare"))

    with far(answer) as remote:
        async with using(remote.url, later, server={"compat": True}) as app:
            assert (await result(app)).text == "bare"
        async with using(remote.url, later) as app:
            found = await result(app)
            assert found.error is not None and found.error.error_code == "bad_answer"
            assert "compat = true in [oxp.servers.up]" in found.error.message


@driven
async def test_an_address_that_may_not_be_reached_is_not() -> None:
    with far(server := Server(done("ok"))) as remote:
        async with using(remote.url.replace("127.0.0.1", "127.0.0.2")) as app:
            found = await result(app)
    assert found.error is not None
    assert (found.error.error_code, server.calls) == ("address_forbidden", [])
