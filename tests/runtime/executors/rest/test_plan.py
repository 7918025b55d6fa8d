"""Where arguments go when the definition says nothing about it but `METHOD /path`, and that they stay there."""

from __future__ import annotations

import asyncio
import json
from typing import Any

import pytest
from hypothesis import example, given
from hypothesis import settings as hypothesis_settings
from hypothesis import strategies as st

from ferrule.model.result import Result
from ferrule.testing import memory_app
from tests.runtime.executors.rest.server import Server, json_answer, serving, settings
from tests.runtime.executors.rest.tools import ALLOW, ANY, definition, told

OK = json_answer({"ok": True})
TEXT = st.text(max_size=60).filter(
    lambda text: text.isascii() or not any("\ud800" <= letter <= "\udfff" for letter in text)
)
HOSTILE = [
    "../../admin",
    "..\\..\\admin",
    "a/b",
    "a?b=c&d=e",
    "#top",
    "%2e%2e",
    "%2F",
    " ",
    "x\r\nX-Evil: 1",
    "\0",
    "a;b=c",
    "//evil.example",
    "@evil.example",
    "ünï☃",
    "...",
    ". ",
    "{other}",
]


def played(endpoint: str, values: st.SearchStrategy[Any], check: Any, kind: str = "retrieval") -> None:
    """Call one tool with many values of `value`: `check(value, result, server)`."""
    with asyncio.Runner() as runner:
        server_of = serving(OK)
        server = runner.run(server_of.__aenter__())
        text = definition(endpoint, base_url=f"{server.url}/v1", takes={"value": ANY}, kind=kind)
        app_of = memory_app(
            definitions={"tools/the-tool.tool.md": text}, settings=settings(), policy=ALLOW, environment={}
        )
        surface = runner.run(app_of.__aenter__()).surface()

        @hypothesis_settings(max_examples=150, deadline=None)
        @given(values)
        def each(value: Any) -> None:
            server.seen.clear()
            result = runner.run(surface.call("the-tool", {"value": value}, wait=10))
            assert isinstance(result, Result)
            check(value, result, server)

        for hostile in HOSTILE:
            each = example(hostile)(each)
        try:
            each()
        finally:
            runner.run(app_of.__aexit__(None, None, None))
            runner.run(server_of.__aexit__(None, None, None))


def test_any_text_in_the_path_arrives_as_exactly_one_segment() -> None:
    """AML-41: no traversal, no second segment, no query and no fragment, whatever the argument is."""

    def check(value: str, result: Result, server: Server) -> None:
        if value in ("", ".", ".."):
            assert result.error is not None
            assert result.error.error_class == "invalid_arguments"
            assert server.seen == []
            return
        assert result.status == "succeeded", result.error
        assert server.seen[0].segments == ["v1", "orders", value, "lines"]
        assert "?" not in server.seen[0].target
        assert "x-evil" not in server.seen[0].headers

    played("GET /orders/{value}/lines", TEXT, check)


def test_any_text_in_the_query_arrives_as_it_was() -> None:
    def check(value: str, result: Result, server: Server) -> None:
        assert result.status == "succeeded", result.error
        assert server.seen[0].segments == ["v1", "orders"]
        assert server.seen[0].query == [("fixed", "a b"), ("value", value)]

    played("GET /orders?fixed=a%20b", TEXT, check)


def test_any_text_in_a_fixed_place_of_the_query_arrives_as_it_was() -> None:
    def check(value: str, result: Result, server: Server) -> None:
        assert result.status == "succeeded", result.error
        assert server.seen[0].query == [("v", "1"), ("q", f"is:{value}!"), ("last", "")]

    played("GET /search?v=1&q=is:{value}!&last=", TEXT, check)


JSON_VALUES = st.recursive(
    st.none() | st.booleans() | st.integers(-(2**63), 2**63) | st.floats(allow_nan=False, allow_infinity=False) | TEXT,
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(TEXT, inner, max_size=3),
    max_leaves=8,
)


def test_any_json_in_a_body_arrives_as_it_was() -> None:
    def check(value: Any, result: Result, server: Server) -> None:
        assert result.status == "succeeded", result.error
        assert json.loads(server.seen[0].body) == {"value": value}
        assert server.seen[0].headers["content-type"] == "application/json"

    played("POST /orders", JSON_VALUES, check, kind="action")


@pytest.mark.parametrize("method", ["GET", "HEAD", "DELETE"])
def test_arguments_of_methods_without_a_body_go_to_the_query(method: str) -> None:
    async def story(call: Any, server: Server) -> None:
        await call({"id": 7, "a": True, "b": 1.5, "c": 3.0, "d": None, "e": ["x", 2, None], "f": [], "g": {"k": [1]}})
        seen = server.seen[0]
        assert seen.method == method
        assert seen.segments == ["things", "7"]
        assert seen.query == [("a", "true"), ("b", "1.5"), ("c", "3"), ("e", "x"), ("e", "2"), ("g", '{"k":[1]}')]
        assert seen.body == b""
        assert "content-type" not in seen.headers

    told(story, OK, f"{method} /things/{{id}}", takes={"id": ANY}, kind="action")


@pytest.mark.parametrize("method", ["POST", "PUT", "PATCH"])
def test_arguments_of_other_methods_go_to_a_json_body_unless_the_path_has_them(method: str) -> None:
    async def story(call: Any, server: Server) -> None:
        await call({"id": "x", "amount": 5, "note": None})
        seen = server.seen[0]
        assert (seen.method, seen.target) == (method, "/base/things/x")
        assert json.loads(seen.body) == {"amount": 5, "note": None}

    told(story, OK, f"{method} /things/{{id}}", takes={"id": ANY, "amount": ANY}, kind="action", base_path="/base")


def test_a_body_is_sent_when_there_could_be_members_and_not_otherwise() -> None:
    async def empty_object(call: Any, server: Server) -> None:
        await call({"id": "x"})
        assert server.seen[0].body == b"{}"

    async def nothing(call: Any, server: Server) -> None:
        await call({"id": "x"})
        assert server.seen[0].body == b""
        assert "content-type" not in server.seen[0].headers

    told(empty_object, OK, "POST /things/{id}", takes={"id": ANY, "note": ANY}, kind="action")
    told(nothing, OK, "POST /things/{id}/close", takes={"id": ANY}, kind="action")


def test_a_query_of_the_base_url_is_sent_too() -> None:
    async def story(call: Any, server: Server) -> None:
        await call({"q": "x"})
        assert server.seen[0].target == "/v2/items?api-version=3&q=x"

    told(story, OK, "GET /items", takes={"q": ANY}, base_path="/v2?api-version=3")


def test_a_default_of_the_schema_is_not_sent() -> None:
    """AML-31: the runtime never injects it into a call."""

    async def story(call: Any, server: Server) -> None:
        await call({})
        assert server.seen[0].target == "/items"

    told(story, OK, "GET /items", takes={"limit": {"type": "integer", "default": 10}})


def test_calls_of_one_host_share_connections() -> None:
    async def story(call: Any, server: Server) -> None:
        for number in range(5):
            assert (await call({"n": number})).status == "succeeded"
        assert server.connections == 1

    told(story, OK, "GET /x", takes={"n": ANY})
