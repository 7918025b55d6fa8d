"""One OXP server: what it is shown, and that its tools are compared with what was accepted before anything is sent."""

from __future__ import annotations

import time
from typing import Any

import jwt

from ferrule.model.credentials import SecretRef
from tests.driven import driven
from tests.infra.clouds.far import Reply, far
from tests.runtime.executors.oxp.upstream import ECHO, Server, done, result, using


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
