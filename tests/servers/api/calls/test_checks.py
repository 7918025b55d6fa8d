"""Checks over HTTP: what a call would lack, what the policy would say, and that nothing happens."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from tests.driven import driven
from tests.servers.api.api import Api, api


async def check(here: Api, who: str, tool: str, arguments: Any = None, **more: Any) -> dict[str, Any]:
    body = {"tool": tool, **({} if arguments is None else {"arguments": arguments}), **more}
    reply = await here.ask(who, "POST", "/v1/checks", body)
    assert reply.status == 200, reply.body
    found: dict[str, Any] = reply.json()
    return found


@driven
async def test_what_fits_is_accepted_and_decided(tmp_path: Path) -> None:
    async with api(tmp_path) as here:
        state = await check(here, "ada", "add", {"a": 1, "b": 2})
        assert (state["is_accepted"], state["errors"], state["message"]) == (True, [], "")
        assert state["decision"]["behavior"] == "allow"


@driven
async def test_each_wrong_argument_is_told_at_its_place_in_the_words_of_a_call(tmp_path: Path) -> None:
    async with api(tmp_path) as here:
        state = await check(here, "ada", "add", {"a": "x", "c": 1})
        assert {one["pointer"] for one in state["errors"]} == {"/arguments/a", "/arguments/b", "/arguments/c"}
        called = (await here.call("ada", "add", {"a": "x", "c": 1})).json()
        assert (state["message"], state["code"]) == (called["detail"], called["code"])
        assert all(one["detail"] in called["detail"] for one in state["errors"])
        assert state["errors"] == called["errors"]
        assert state["decision"] is None


@driven
async def test_what_would_be_mended_is_said(tmp_path: Path) -> None:
    async with api(tmp_path) as here:
        state = await check(here, "ada", "add", {"a": "1", "b": 2})
        assert (state["is_accepted"], state["changed_fields"]) == (True, ["a"])


@driven
async def test_an_ask_says_who_would_be_asked_and_asks_nobody(tmp_path: Path) -> None:
    async with api(tmp_path) as here:
        state = await check(here, "ada", "pay", {"amount": 5})
        assert (state["decision"]["behavior"], state["decision"]["people"]) == ("ask", 1)
        assert state["decision"]["expires_seconds"] == 24 * 3600
        assert (await here.ask("owner", "GET", "/v1/approvals")).json()["items"] == []


@driven
async def test_a_check_leaves_no_call_behind(tmp_path: Path) -> None:
    async with api(tmp_path) as here:
        await check(here, "ada", "add", {"a": 1, "b": 2})
        await check(here, "ada", "add", {"a": "x"})
        assert (await here.ask("owner", "GET", "/v1/invocations")).json()["items"] == []
        assert (await here.call("ada", "add", {"a": 1, "b": 2})).status == 200


@driven
async def test_a_hidden_tool_is_checked_like_an_unknown_one(tmp_path: Path) -> None:
    async with api(tmp_path) as here:
        hidden, unknown = [
            (await here.ask("ada", "POST", "/v1/checks", {"tool": name})).json()
            for name in ("secret_tool", "no_tool_a")
        ]
        assert hidden["status"] == unknown["status"] == 404
        assert hidden["detail"].replace("secret_tool", "no_tool_a") == unknown["detail"]


@driven
async def test_a_check_takes_the_scope_of_a_call(tmp_path: Path) -> None:
    async with api(tmp_path) as here:
        assert (await here.ask("amy", "POST", "/v1/checks", {"tool": "add"})).status == 403
        assert (await here.ask("nobody", "POST", "/v1/checks", {"tool": "add"})).status == 401


@pytest.mark.parametrize("arguments", ([], "text", None, 3))
@driven
async def test_arguments_that_are_no_object_are_refused_as_a_whole(arguments: Any, tmp_path: Path) -> None:
    async with api(tmp_path) as here:
        reply = await here.ask("ada", "POST", "/v1/checks", {"tool": "add", "arguments": arguments})
        assert (reply.status, reply.json()["is_accepted"]) == (200, False)
        assert "they" in reply.json()["message"] or reply.json()["errors"]


@driven
async def test_another_version_than_was_read_is_a_conflict(tmp_path: Path) -> None:
    async with api(tmp_path) as here:
        body = {"tool": "add", "arguments": {"a": 1, "b": 2}, "digest": "sha256:other"}
        reply = await here.ask("ada", "POST", "/v1/checks", body)
        assert (reply.status, reply.json()["code"]) == (409, "tool_changed")
