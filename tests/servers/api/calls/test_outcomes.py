"""The outcome of a call as a client sees it: failures, pointers to refused members, and hidden tools like unknown ones."""

from __future__ import annotations

import re
from pathlib import Path

from tests.driven import driven
from tests.servers.api.api import api


@driven
async def test_a_tool_that_ran_and_failed_is_no_http_error(tmp_path: Path) -> None:
    async with api(tmp_path) as here:
        reply = await here.call("ada", "fail")
        assert reply.status == 200
        assert reply.json()["result"]["is_error"] is True
        assert reply.json()["result"]["error"]["error_class"] == "execution_failed"


@driven
async def test_refused_arguments_name_the_member_by_a_pointer(tmp_path: Path) -> None:
    async with api(tmp_path) as here:
        reply = await here.call("ada", "add", {"a": "x"})
        problem = reply.json()
        assert reply.status == 422
        assert (problem["code"], problem["error_class"]) == ("schema_validation_failed", "schema_validation_failed")
        assert {"/arguments/b", "/arguments/a"} == {one["pointer"] for one in problem["errors"]}
        assert problem["result"]["is_error"] is True
        assert problem["request_id"] == reply.headers["x-request-id"]
        long = await here.call("ada", "add", {"a": "x" * 70_000})
        assert [one["pointer"] for one in long.json()["errors"]] == ["/arguments"]  # looked through once, not twice
        assert "'b' is missing" in long.json()["detail"]


@driven
async def test_a_hidden_tool_is_called_like_an_unknown_one_then_and_ever_after(tmp_path: Path) -> None:
    """DECISIONS 2: over an authenticated edge a hidden tool is answered exactly like an unknown one."""
    async with api(tmp_path) as here:
        told = []
        for name in ("secret_tool", "nothing_tool"):
            reply = await here.call("ada", name, {"x": 1, "note": "hunter2"}, X_Request_Id="same")
            call = reply.json()["invocation_id"]
            looks = [reply]
            for path in (
                "calls/{}",
                "calls/{}/events",
                "invocations/{}",
                "invocations/{}/explain",
                "invocations/{}/events",
            ):
                looks.append(await here.ask("ada", "GET", "/v1/" + path.format(call), X_Request_Id="same"))
            looks.append(await here.ask("ada", "GET", "/v1/invocations?limit=1", X_Request_Id="same"))
            looks.append(await here.ask("ada", "GET", "/v1/invocations?words=hunter2", X_Request_Id="same"))
            batch = await here.ask("ada", "POST", "/v1/batches", {"calls": [{"tool": name}]}, X_Request_Id="same")
            told.append([_plain(look.body.decode(), call, name) for look in looks] + [str(batch.status)])
            assert reply.status == 404
            assert reply.json()["error_class"] == "unknown_tool"
        assert told[0] == told[1]
        assert "hunter2" not in str(told)
        seen = await here.ask("oda", "GET", "/v1/invocations?tool=secret_tool")
        assert seen.json()["items"][0]["tool_id"] == "shop.secret_tool", "who oversees sees what was tried"


def _plain(text: str, call: str, name: str) -> str:
    """An answer without what differs between any two calls."""
    text = text.replace(call, "CALL").replace(call.replace("inv_", "res_"), "RESULT").replace(name, "NAME")
    return re.sub(r"20\d\d-[-0-9T:.]+Z|cursor=\d+|\"seq\":\d+|inv_[0-9a-f]{24}", "…", text)
