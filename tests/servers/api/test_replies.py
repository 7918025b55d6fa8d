"""Replies and problems: statuses, ETags, links, and the request a problem belongs to."""

from __future__ import annotations

from pathlib import Path

import pytest

from ferrule.model.failure import ERROR_CLASSES
from ferrule.servers.api.replies import STATUSES
from tests.driven import driven
from tests.servers.api.api import api


@driven
async def test_what_is_not_there_says_where_to_look(tmp_path: Path) -> None:
    async with api(tmp_path) as here:
        assert "/v1/docs tells what there is" in (await here.ask("ada", "GET", "/v1/toolz")).json()["detail"]
        for path, methods in (("calls", "POST"), ("switches/add", "PUT"), ("tools", "GET"), ("docs", "GET")):
            reply = await here.ask("ada", "DELETE", f"/v1/{path}")
            assert reply.status == 405
            assert reply.json()["detail"] == f"DELETE cannot be done here; this path takes {methods}"


@driven
async def test_every_problem_names_its_request(tmp_path: Path) -> None:
    async with api(tmp_path) as here:
        for status, who, method, path in (
            (401, "", "GET", "/v1/tools"),
            (401, "nobody", "GET", "/v1/tools"),
            (403, "ada", "GET", "/v1/catalog"),
            (403, "oda of acme", "GET", "/v1/catalog"),
            (404, "ada", "GET", "/v1/nothing"),
            (404, "ada", "GET", "/nothing"),
            (405, "ada", "GET", "/v1/calls"),
            (405, "", "POST", "/v1/openapi.json"),
            (400, "", "GET", "/v1/docs?x=1"),
        ):
            reply = await here.stand.ask(method, path, headers=here.headers(who, {"X_Request_Id": "mine-3"}))
            assert (reply.status, reply.json()["request_id"]) == (status, "mine-3"), path
            assert reply.headers["x-request-id"] == "mine-3"
        reply = await here.ask("", "GET", "/v1/docs")
        assert reply.headers["x-request-id"].startswith("req_")


@pytest.mark.parametrize("error_class", ERROR_CLASSES)
def test_every_error_class_is_a_refusal_or_an_outcome(error_class: str) -> None:
    """A refused call is a problem of the client's; how a call ended never is."""
    status = STATUSES.get(error_class)  # type: ignore[call-overload]
    assert status is None or 400 <= status < 500
