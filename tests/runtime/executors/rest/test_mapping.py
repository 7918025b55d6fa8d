"""What `x-` keys of a transport do: explicit places, headers, forms, files."""

from __future__ import annotations

import json
from typing import Any

import pytest

from tests.runtime.executors.rest.server import Seen, Server, Wire, answer, json_answer
from tests.runtime.executors.rest.tools import ANY, context, run_of, told

OK = json_answer({"ok": True})


def test_arguments_go_where_the_mapping_says() -> None:
    async def story(call: Any, server: Server) -> None:
        await call({"order": "o/1", "tenant": "acme", "token": "t&t", "customer": 7, "note": "hi", "dry": True})
        seen = server.seen[0]
        assert seen.target == "/orders/o%2F1?pageToken=t%26t"
        assert seen.headers["x-tenant"] == "acme"
        assert json.loads(seen.body) == {"customer": {"id": 7, "note": "hi"}, "dry": True}

    told(
        story,
        OK,
        "POST /orders/{id}",
        kind="action",
        takes=dict.fromkeys(("order", "tenant", "token", "customer", "note", "dry"), ANY),
        x_mapping={
            "order": {"in": "path", "name": "id"},
            "tenant": {"in": "header", "name": "X-Tenant"},
            "token": {"in": "query", "name": "pageToken"},
            "customer": {"in": "body", "name": "/customer/id"},
            "note": {"in": "body", "name": "/customer/note"},
        },
    )


@pytest.mark.parametrize(
    ("style", "query"),
    [
        ("repeat", "v=a&v=b%2Cc&o=%7B%22k%22%3A1%7D"),
        ("comma", "v=a,b%2Cc&o=%7B%22k%22%3A1%7D"),
        ("space", "v=a%20b%2Cc&o=%7B%22k%22%3A1%7D"),
        ("pipe", "v=a%7Cb%2Cc&o=%7B%22k%22%3A1%7D"),
        ("json", "v=%5B%22a%22%2C%22b%2Cc%22%5D&o=%7B%22k%22%3A1%7D"),
        ("deep", "v=a&v=b%2Cc&o%5Bk%5D=1"),
    ],
)
def test_lists_and_objects_have_a_style(style: str, query: str) -> None:
    async def story(call: Any, server: Server) -> None:
        await call({"v": ["a", "b,c"], "o": {"k": 1}})
        assert server.seen[0].target == f"/x?{query}"

    mapping = {name: {"in": "query", "style": style} for name in ("v", "o")}
    told(story, OK, "GET /x", takes={"v": ANY, "o": ANY}, x_mapping=mapping)


def test_fixed_query_and_headers_may_hold_arguments_which_are_then_not_repeated() -> None:
    async def story(call: Any, server: Server) -> None:
        await call({"lang": "de", "user": "ann b", "q": "x"})
        seen = server.seen[0]
        assert seen.query == [
            ("format", "full"),
            ("n", "2"),
            ("tag", "a"),
            ("tag", "b"),
            ("who", "user:ann b"),
            ("q", "x"),
        ]
        assert seen.headers["accept-language"] == "de"
        assert seen.headers["x-fixed"] == "1"
        await call({"q": "x"})
        assert "accept-language" not in server.seen[1].headers
        assert server.seen[1].query == [("format", "full"), ("n", "2"), ("tag", "a"), ("tag", "b"), ("q", "x")]

    told(
        story,
        OK,
        "GET /x",
        takes=dict.fromkeys(("lang", "user", "q"), ANY),
        x_query={"format": "full", "n": 2, "tag": ["a", "b"], "who": "user:{user}"},
        x_headers={"Accept-Language": "{lang}", "X-Fixed": 1},
    )


@pytest.mark.parametrize("value", ["a\r\nX-Evil: 1", "a\nb", "\0", "☃", " padded", ["a\rb"], {"a": 1}])
def test_no_argument_breaks_out_of_a_header(value: Any) -> None:
    async def story(call: Any, server: Server) -> None:
        result = await call({"lang": value})
        assert result.error.error_class == "invalid_arguments"
        assert server.seen == []

    told(story, OK, "GET /x", takes={"lang": ANY}, x_headers={"X-Lang": "{lang}"})
    told(story, OK, "GET /x", takes={"lang": ANY}, x_mapping={"lang": {"in": "header", "name": "X-Lang"}})


def test_an_argument_nobody_declared_does_not_overrule_the_definition() -> None:
    async def in_the_query(call: Any, server: Server) -> None:
        for name in ("tenant", "fmt", "q", "pageToken"):
            result = await call({name: "evil"})
            assert result.error.error_class == "invalid_arguments"
        assert server.seen == []
        await call({"other": "fine"})
        assert server.seen[0].query == [("tenant", "acme"), ("fmt", "full"), ("other", "fine")]

    async def in_the_body(call: Any, server: Server) -> None:
        assert (await call({"customer": {"id": 1}})).error.error_class == "invalid_arguments"
        await call({"id": 7, "/customer/role": "admin"})
        assert json.loads(server.seen[0].body) == {"customer": {"id": 7}, "/customer/role": "admin"}

    mapping = {"token": {"in": "query", "name": "pageToken"}}
    told(
        in_the_query, OK, "GET /x?tenant=acme&q={text}", takes={"text": ANY, "token": ANY}, x_query={"fmt": "full"},
        x_mapping=mapping,
    )  # fmt: skip
    told(
        in_the_body,
        OK,
        "POST /x",
        kind="action",
        takes={"id": ANY},
        x_mapping={"id": {"in": "body", "name": "/customer/id"}},
    )


WRONG: list[tuple[str, str, dict[str, Any]]] = [
    ("GET /x", "no body", {"x_body": "json"}),
    ("GET /x", "no body", {"x_mapping": {"a": {"in": "body"}}}),
    ("POST /x", "multipart", {"x_mapping": {"a": {"in": "file"}}, "x_body": "json"}),
    ("POST /x", "one argument", {"x_body": "text"}),
    ("POST /x", "Content-Type", {"x_body": "multipart", "x_headers": {"Content-Type": "text/plain"}}),
    ("POST /x", "has no place", {"x_mapping": {"a": {"in": "path"}}}),
    ("POST /x", "whole body", {"x_mapping": {"a": {"in": "body", "whole": True}}}),
    ("GET /x?{a}", "name of a parameter", {}),
    ("GET /x#y", "'#'", {}),
    ("GET /x?a=1", "another name", {}),
    ("POST /x", "another name", {"x_mapping": {"a": {"in": "body", "name": "b"}}}),
    ("GET /x", "carried", {"x_headers": {"Host": "evil.example"}}),
    ("GET /x", "carried", {"x_headers": {"Transfer-Encoding": "chunked"}}),
    ("GET /x", "carried", {"x_mapping": {"a": {"in": "header", "name": "content-length"}}}),
    ("GET /x", "credentials", {"x_headers": {"Authorization": "Bearer {a}"}}),
    ("GET /x", "credentials", {"x_mapping": {"a": {"in": "header", "name": "X-KEY"}}}),
    ("GET /x", "argument", {"x_headers": {"Cookie": "{a}"}}),
    ("GET /x", "no name of a header", {"x_headers": {"X Bad": "1"}}),
    ("GET /x", "characters", {"x_headers": {"X-Bad": "a\r\nb"}}),
    ("GET /x", "x-probe", {"x_probe": "POST /x"}),
    ("GET /x", "in", {"x_mapping": {"a": {"in": "fragment"}}}),
    ("GET /x", "carried", {"x_idempotency_header": "Host"}),
]


@pytest.mark.parametrize(("endpoint", "word", "transport"), WRONG)
def test_a_transport_that_cannot_be_meant_is_told_to_its_author(
    endpoint: str, word: str, transport: dict[str, Any]
) -> None:
    async def story(call: Any, server: Server) -> None:
        result = await call({"a": "1"})
        assert result.error.error_class == "setup_required"
        assert word in result.error.message
        assert "the-tool" in result.error.message
        assert server.seen == []

    key = {"scheme": "api-key", "header": "X-Key", "source": "env", "name": "KEY"}
    told(story, OK, endpoint, takes={"a": ANY, "b": ANY}, credentials=key, environment={"KEY": "k"}, **transport)


def test_a_probe_sends_what_the_definition_calls_harmless_and_nothing_else() -> None:
    async def serve(seen: Seen, wire: Wire) -> bytes:
        return (
            answer(503)
            if seen.headers.get("x-key") == "down"
            else answer(200 if seen.target == "/v1/health?deep=1" else 404)
        )

    async def story(call: Any, server: Server) -> None:
        run = run_of(call.app)
        told_then = await run.probe(context())
        assert "127.0.0.1 answers" in told_then
        assert [(seen.method, seen.target) for seen in server.seen] == [("GET", "/v1/health?deep=1")]
        assert server.seen[0].headers["x-key"] == "k"

    key = {"scheme": "api-key", "header": "X-Key", "source": "env", "name": "KEY"}
    told(
        story, serve, "POST /x", kind="action", base_path="/v1", x_probe="GET /health?deep=1",
        credentials=key, environment={"KEY": "k"},
    )  # fmt: skip
