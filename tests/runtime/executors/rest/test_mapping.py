"""What `x-` keys of a transport do: explicit places, headers, forms, files."""

from __future__ import annotations

import base64
import json
from email import policy
from email.parser import BytesParser
from typing import Any
from urllib.parse import parse_qsl

import pytest

from tests.runtime.executors.rest.server import Seen, Server, Wire, answer, json_answer, settings
from tests.runtime.executors.rest.tools import ANY, context, run_of, told

OK = json_answer({"ok": True})
ATTACHMENT = {
    "type": "object",
    "properties": {
        "transfer": {"type": "string", "enum": ["inline", "ref"]},
        "filename": {"type": "string"},
        "mime_type": {"type": "string"},
        "max_size_bytes": {"type": "integer"},
        "content": {"type": "string", "contentEncoding": "base64"},
        "url": {"type": "string", "format": "uri"},
    },
    "required": ["transfer", "filename", "mime_type", "max_size_bytes"],
}


def inline(data: bytes, name: str = "a.bin", media_type: str = "application/pdf", most: int = 1000) -> dict[str, Any]:
    content = base64.b64encode(data).decode()
    return {"transfer": "inline", "filename": name, "mime_type": media_type, "max_size_bytes": most, "content": content}


def by_ref(url: str, most: int = 1000) -> dict[str, Any]:
    return {"transfer": "ref", "filename": "r.txt", "mime_type": "text/plain", "max_size_bytes": most, "url": url}


def parts_of(seen: Seen) -> list[tuple[str, str | None, str, bytes]]:
    """Name, file name, media type and bytes of each part."""
    head = f"Content-Type: {seen.headers['content-type']}\r\n\r\n".encode()
    message = BytesParser(policy=policy.HTTP).parsebytes(head + seen.body)
    found = []
    for part in message.iter_parts():
        name = part.get_param("name", header="content-disposition")
        found.append((str(name), part.get_filename(), part.get_content_type(), part.get_payload(decode=True)))
    return found  # type: ignore[return-value]  # payloads of leaves are bytes


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


def test_a_form_is_written_as_browsers_do() -> None:
    async def story(call: Any, server: Server) -> None:
        await call({"a": "b c&d=é", "list": [1, True], "none": None, "o": {"k": 1}})
        seen = server.seen[0]
        assert seen.headers["content-type"] == "application/x-www-form-urlencoded"
        pairs = parse_qsl(seen.body.decode("ascii"), strict_parsing=True)
        assert pairs == [("a", "b c&d=é"), ("list", "1"), ("list", "true"), ("o", '{"k":1}')]

    told(story, OK, "POST /x", kind="action", takes={"a": ANY}, x_body="form")


def test_inline_attachments_become_files_of_a_multipart_body() -> None:
    """AML-33: the bytes come with the arguments; names cannot break out of their part."""

    async def story(call: Any, server: Server) -> None:
        name = 'evil".txt\r\nX-Evil: 1'
        await call(
            {
                "title": "ünï\r\n--",
                "meta": {"k": 1},
                "file": inline(b"\0\xff--", name),
                "more": [inline(b"1"), inline(b"2")],
            }
        )
        seen = server.seen[0]
        parts = parts_of(seen)
        assert [(part[0], part[2], part[3]) for part in parts] == [
            ("title", "text/plain", "ünï\r\n--".encode()),
            ("meta", "application/json", b'{"k":1}'),
            ("file", "application/pdf", b"\0\xff--"),
            ("pages", "application/pdf", b"1"),
            ("pages", "application/pdf", b"2"),
        ]
        assert parts[2][1] == "evil%22.txt%0D%0AX-Evil: 1"
        assert b"\r\nX-Evil" not in seen.body

    takes = {"title": ANY, "meta": ANY, "file": ATTACHMENT, "more": {"type": "array", "items": ATTACHMENT}}
    mapping = {"more": {"in": "file", "name": "pages"}}
    told(story, OK, "POST /x", kind="action", takes=takes, x_body="multipart", x_mapping=mapping)


def test_an_attachment_in_a_json_body_stays_the_object_it_is() -> None:
    async def story(call: Any, server: Server) -> None:
        file = inline(b"abc")
        await call({"file": file})
        assert json.loads(server.seen[0].body) == {"file": file}
        result = await call({"file": inline(b"x" * 11, most=10)})
        assert result.error.error_class == "invalid_arguments"
        result = await call({"file": {**inline(b""), "content": "no base64!"}})
        assert result.error.error_class == "invalid_arguments"
        assert len(server.seen) == 1

    told(story, OK, "POST /x", kind="action", takes={"file": ATTACHMENT})


def test_a_ref_attachment_is_fetched_and_sent() -> None:
    """AML-33: from the tool's own origin, or a listed host."""

    async def serve(seen: Seen, wire: Wire) -> bytes:
        return answer(200, b"from there", media_type="text/plain") if seen.method == "GET" else OK

    async def story(call: Any, server: Server) -> None:
        await call({"file": by_ref(f"{server.url}/files/1?sig=x")})
        fetched, sent = server.seen
        assert (fetched.method, fetched.target) == ("GET", "/files/1?sig=x")
        assert "authorization" not in fetched.headers
        assert sent.headers["authorization"] == "Bearer sesame"
        assert parts_of(sent) == [("file", "r.txt", "text/plain", b"from there")]
        result = await call({"file": by_ref(f"{server.url}/files/1", most=3)})
        assert result.error.error_class == "invalid_arguments"
        assert [seen.method for seen in server.seen] == ["GET", "POST", "GET"]

    bearer = {"scheme": "bearer-token", "source": "env", "name": "TOKEN"}
    told(
        story, serve, "POST /x", kind="action", takes={"file": ATTACHMENT}, x_body="multipart",
        credentials=bearer, environment={"TOKEN": "sesame"},
    )  # fmt: skip


@pytest.mark.parametrize(
    "url", ["http://localhost:9/x", "http://169.254.169.254/latest", "http://example.com/x", "file:///etc/passwd"]
)
def test_a_ref_attachment_from_anywhere_else_is_not_fetched(url: str) -> None:
    async def story(call: Any, server: Server) -> None:
        result = await call({"file": by_ref(url)})
        assert result.error.error_class in ("policy_blocked", "invalid_arguments")
        assert server.seen == []

    told(story, OK, "POST /x", kind="action", takes={"file": ATTACHMENT}, x_body="multipart")


def test_a_file_that_cannot_be_fetched_is_told_as_such() -> None:
    async def serve(seen: Seen, wire: Wire) -> bytes:
        return answer(404)

    async def story(call: Any, server: Server) -> None:
        result = await call({"file": by_ref(f"{server.url}/gone")})
        assert (result.error.error_class, result.error.error_code) == ("invalid_arguments", "attachment_unavailable")
        assert len(server.seen) == 1

    told(story, serve, "PUT /x", kind="action", takes={"file": ATTACHMENT}, x_body="binary")


def test_files_are_bounded_by_the_settings_too() -> None:
    async def story(call: Any, server: Server) -> None:
        result = await call({"file": inline(b"x" * 101)})
        assert result.error.error_class == "invalid_arguments"
        assert server.seen == []

    here = settings(max_attachment_bytes=100)
    told(story, OK, "POST /x", kind="action", takes={"file": ATTACHMENT}, x_body="multipart", here=here)


def test_text_and_bytes_as_the_whole_body() -> None:
    async def text(call: Any, server: Server) -> None:
        await call({"note": "☃", "id": "x"})
        seen = server.seen[0]
        assert (seen.target, seen.body.decode(), seen.headers["content-type"]) == (
            "/x?id=x",
            "☃",
            "text/plain; charset=utf-8",
        )

    async def binary(call: Any, server: Server) -> None:
        await call({"file": inline(b"\0\1", media_type="image/png")})
        assert (server.seen[0].body, server.seen[0].headers["content-type"]) == (b"\0\1", "image/png")

    async def encoded(call: Any, server: Server) -> None:
        await call({"data": base64.b64encode(b"\0\2").decode()})
        assert (server.seen[0].body, server.seen[0].headers["content-type"]) == (b"\0\2", "application/x-own")

    told(
        text,
        OK,
        "POST /x",
        kind="action",
        takes={"note": ANY, "id": ANY},
        x_body="text",
        x_mapping={"note": {"in": "body"}},
    )
    told(binary, OK, "PUT /x", kind="action", takes={"file": ATTACHMENT}, x_body="binary")
    told(
        encoded, OK, "PUT /x", kind="action", takes={"data": {"type": "string", "contentEncoding": "base64"}},
        x_body="binary", x_headers={"Content-Type": "application/x-own"},
    )  # fmt: skip


def test_one_argument_can_be_the_whole_json_body() -> None:
    async def story(call: Any, server: Server) -> None:
        await call({"items": [1, {"a": 2}], "id": 3})
        assert server.seen[0].target == "/x/3"
        assert server.seen[0].body == b'[1,{"a":2}]'
        await call({"items": None, "id": 3})
        assert server.seen[1].body == b"null"
        await call({"id": 3})
        assert (server.seen[2].body, server.seen[2].headers.get("content-type")) == (b"", None)

    mapping = {"items": {"in": "body", "whole": True}}
    told(story, OK, "PUT /x/{id}", kind="action", takes={"items": ANY, "id": ANY}, x_mapping=mapping)


def test_delete_with_a_body_and_post_without_one() -> None:
    async def delete(call: Any, server: Server) -> None:
        await call({"a": 1})
        assert (server.seen[0].target, server.seen[0].body) == ("/x", b'{"a":1}')

    async def post(call: Any, server: Server) -> None:
        await call({"a": 1})
        assert (server.seen[0].target, server.seen[0].body) == ("/x?a=1", b"")

    told(delete, OK, "DELETE /x", kind="action", takes={"a": ANY}, x_body="json")
    told(post, OK, "POST /x", kind="action", takes={"a": ANY}, x_body="none")


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
