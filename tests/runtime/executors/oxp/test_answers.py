"""Answers of OXP servers: what each status and each error means, and that a server's words to its developers stay in the log."""

from __future__ import annotations

import logging
from typing import Any

import pytest

from ferrule.model.result import Result
from tests.driven import driven
from tests.infra.clouds.far import Reply, far
from tests.runtime.executors.oxp.upstream import BOUND, NAME, NEEDY, Server, done, failed, result, using


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
