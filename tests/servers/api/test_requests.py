"""Requests that are not as they must be: every one gets a proper problem, and nothing happens."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from ferrule.model.serving import LimitSettings
from ferrule.servers.api.requests import choose_media_type, preference_of
from ferrule.servers.asgi import HttpRequest
from tests.driven import driven
from tests.servers.api.api import api

JSON = "application/json"


@driven
async def test_bodies_that_are_not_as_they_must_be_are_refused(tmp_path: Path) -> None:
    cases: tuple[tuple[bytes, str, str | None], ...] = (
        (b"", "invalid_json", None),
        (b"{", "invalid_json", None),
        (b'{"tool": "add"} x', "invalid_json", None),
        (b'\xff{"tool": "add"}', "invalid_json", None),
        (b'{"tool": "\xff"}', "invalid_json", None),
        (b"[]", "invalid_request", ""),
        (b"null", "invalid_request", ""),
        (b"{}", "invalid_request", "/tool"),
        (b'{"tool": 1}', "invalid_request", "/tool"),
        (b'{"tool": ""}', "invalid_request", "/tool"),
        (b'{"tool": "add", "color": 1}', "invalid_request", "/color"),
        (b'{"tool": "add", "priority": 1.5}', "invalid_request", "/priority"),
        (b'{"tool": "add", "priority": true}', "invalid_request", "/priority"),
        (b'{"tool": "add", "timeout_seconds": 0}', "invalid_request", "/timeout_seconds"),
        (b'{"tool": "add", "client": ["everything"]}', "invalid_request", "/client/0"),
        (b'{"tool": "add", "tool": "pay"}', "repeated_member", ""),
        (b'{"tool": "add", "arguments": {"a": 1, "a": 2}}', "repeated_member", ""),
        (b'{"tool": "add", "arguments": ' + b"[" * 200 + b"]" * 200 + b"}", "too_deep", None),
        (b'{"tool": "add", "arguments": ' + b"[" * 100_000 + b"]" * 100_000 + b"}", "too_deep", None),
        (b"[" * 100_000, "invalid_request", ""),
    )
    async with api(tmp_path) as here:
        for body, code, pointer in cases:
            reply = await here.ask("ada", "POST", "/v1/calls", body, Content_Type=JSON)
            problem = reply.json()
            assert (reply.status, problem["code"]) == (400, code), body[:60]
            if pointer is not None:
                assert [one["pointer"] for one in problem["errors"]] == [pointer], body[:60]
            assert "Traceback" not in problem["detail"]
        assert (await here.ask("ada", "GET", "/v1/invocations")).json()["items"] == []


@driven
async def test_a_member_that_is_wrong_is_named_with_what_to_write_instead(tmp_path: Path) -> None:
    cases: tuple[tuple[str, Any, str, str], ...] = (
        ("calls", {"tool": "add", "args": {}}, "/args", "there is no member 'args' here; did you mean 'arguments'?"),
        ("calls", {"arguments": {}}, "/tool", "the member 'tool' is missing; add it"),
        ("calls", {"tool": 7}, "/tool", "'tool' must be a text, and is a whole number"),
        ("calls", [], "", "it must be an object, and is a list"),
        ("calls", {"tool": "add", "a/b - at `$.x`": 1}, "/a~1b - at `$.x`", "there is no member 'a/b - at `$.x`' here; known:"),
        ("batches", {"calls": [{"tol": "add"}]}, "/calls/0/tol", "there is no member 'tol' here; did you mean 'tool'?"),
        ("calls", {"tool": "add", "z" * 5000: 1}, "", f"there is no member '{'z' * 60}…' here; known: tool, "),
        ("search", {"query": "x", "zzz": 1}, "/zzz", "there is no member 'zzz' here; known: query, limit"),
    )  # fmt: skip
    async with api(tmp_path) as here:
        for path, body, pointer, said in cases:
            problem = (await here.ask("ada", "POST", f"/v1/{path}", body)).json()
            (wrong,) = problem["errors"]
            assert (wrong["pointer"], problem["code"]) == (pointer, "invalid_request")
            assert wrong["detail"].startswith(said)
            assert problem["detail"] == f"the body is not as it must be: {wrong['detail']}"
        query = (await here.ask("ada", "GET", "/v1/tools?limmit=3")).json()
        assert query["detail"] == "there is no parameter 'limmit' here; did you mean 'limit'?"


@driven
async def test_a_pointer_leads_into_lists(tmp_path: Path) -> None:
    async with api(tmp_path) as here:
        reply = await here.ask("ada", "POST", "/v1/batches", {"calls": [{"tool": "add"}, {"tool": 7}]})
        assert reply.json()["errors"][0]["pointer"] == "/calls/1/tool"


@driven
async def test_only_json_is_taken(tmp_path: Path) -> None:
    async with api(tmp_path) as here:
        body = b'{"tool": "add", "arguments": {"a": 1, "b": 2}}'
        for kind in (
            "text/plain",
            "application/x-www-form-urlencoded",
            "application/json; charset=latin-1",
            "",
            "json",
        ):
            reply = await here.ask("ada", "POST", "/v1/calls", body, Content_Type=kind)
            assert (reply.status, reply.json()["code"]) == (415, "unsupported_media_type"), kind
        for kind in ("application/json; charset=utf-8", 'Application/JSON;charset="UTF-8"'):
            assert (await here.ask("ada", "POST", "/v1/calls", body, Content_Type=kind)).status == 200
        packed = await here.ask("ada", "POST", "/v1/calls", body, Content_Type=JSON, Content_Encoding="gzip")
        assert packed.status == 415


@driven
async def test_large_bodies_are_refused(tmp_path: Path) -> None:
    async with api(tmp_path, limits=LimitSettings(body_bytes=1000)) as here:
        reply = await here.call("ada", "add", {"a": "x" * 2000})
        assert (reply.status, reply.json()["code"]) == (413, "too_large")
        assert (await here.ask("ada", "GET", "/v1/tools", b"x" * 2000)).status == 413


@driven
async def test_answers_come_in_a_form_that_is_taken(tmp_path: Path) -> None:
    async with api(tmp_path) as here:
        for kind, status in (("text/html", 406), ("application/json;q=0", 406), ("*/*;q=0.1", 200), ("application/*", 200),
                             ("text/html, application/json;q=0.2", 200)):  # fmt: skip
            assert (await here.ask("ada", "GET", "/v1/tools", Accept=kind)).status == status, kind


def test_events_are_chosen_only_where_they_are_named() -> None:
    offered = (JSON, "text/event-stream")

    def liked(said: str) -> str | None:
        scope: Any = {"method": "GET", "path": "/", "headers": [(b"accept", said.encode())]}
        return choose_media_type(HttpRequest(scope, None), offered)  # type: ignore[arg-type]

    assert liked("*/*") == JSON
    assert liked("text/event-stream") == offered[1]
    assert liked("text/event-stream, */*") == offered[1]
    assert liked("application/json, text/event-stream") == JSON
    assert liked("application/json;q=0.5, text/event-stream") == offered[1]
    assert liked("image/png") is None
    assert liked("text/event-stream;q=nan, application/json;q=0.1") == JSON


def test_preferences_nobody_knows_are_ignored() -> None:
    def said(*texts: str) -> tuple[bool, float | None]:
        scope: Any = {"method": "GET", "path": "/", "headers": [(b"prefer", text.encode()) for text in texts]}
        found = preference_of(HttpRequest(scope, None))  # type: ignore[arg-type]
        return found.is_async, found.wait

    assert said("respond-async") == (True, None)
    assert said('Wait="10"; x=1, handling=lenient', "respond-async") == (True, 10.0)
    assert said("wait=-1") == said("wait=1e9") == said("wait") == said("=;,") == (False, None)
    assert said("wait=1, wait=2") == (False, 1.0)


@driven
async def test_a_request_keeps_the_id_it_came_with(tmp_path: Path) -> None:
    async with api(tmp_path) as here:
        for status, path in ((200, "/v1/tools"), (404, "/v1/tools/none"), (400, "/v1/tools?x=1"), (403, "/v1/catalog")):
            reply = await here.ask("ada", "GET", path, X_Request_Id="mine-1")
            assert (reply.status, reply.headers["x-request-id"]) == (status, "mine-1")
        for wrong in ("a b", "x" * 200, "", "é"):
            reply = await here.ask("ada", "GET", "/v1/tools", X_Request_Id=wrong)
            assert reply.headers["x-request-id"].startswith("req_")


@driven
async def test_a_failure_of_ours_tells_nothing(tmp_path: Path, caplog: Any, monkeypatch: Any) -> None:
    async with api(tmp_path) as here:

        def broken(*args: Any) -> None:
            raise RuntimeError("the password is swordfish")

        monkeypatch.setattr(here.stand.app.store, "list_disabled", broken)
        reply = await here.ask("oda", "GET", "/v1/catalog", X_Request_Id="mine-2")
        assert (reply.status, reply.json()["code"]) == (500, "internal_error")
        assert "swordfish" not in reply.body.decode()
        assert "mine-2" in caplog.text
        assert "swordfish" in caplog.text
