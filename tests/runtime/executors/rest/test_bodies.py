"""RestRequest bodies: JSON, forms, parts, text and bytes, each with its media type."""

from __future__ import annotations

import base64
from typing import Any
from urllib.parse import parse_qsl

from tests.runtime.executors.rest.files import ATTACHMENT, inline, parts_of
from tests.runtime.executors.rest.server import Server, json_answer
from tests.runtime.executors.rest.tools import ANY, sent, told

OK = json_answer({"ok": True})


def test_a_form_is_written_as_browsers_do() -> None:
    async def story(call: Any, server: Server) -> None:
        await call({"a": "b c&d=é", "list": [1, True], "none": None, "o": {"k": 1}})
        seen = server.seen[0]
        assert seen.headers["content-type"] == "application/x-www-form-urlencoded"
        pairs = parse_qsl(seen.body.decode("ascii"), strict_parsing=True)
        assert pairs == [("a", "b c&d=é"), ("list", "1"), ("list", "true"), ("o", '{"k":1}')]

    told(story, OK, "POST /x", kind="action", takes={"a": ANY}, x_body="form")


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


def test_parts_of_a_multipart_body_say_what_they_are() -> None:
    mapping = {
        "note": {"in": "body", "content_type": "application/xml"},
        "meta": {"in": "body", "content_type": "application/vnd.x+json"},
        "tags": {"in": "body", "style": "json"},
        "ids": {"in": "body"},
        "photo": {"in": "file", "content_type": "image/png"},
    }
    takes = {**dict.fromkeys(("note", "meta", "tags", "ids"), ANY), "photo": ATTACHMENT}
    arguments = {
        "note": "<a/>",
        "meta": "t",
        "tags": [1, 2],
        "ids": [1, 2],
        "photo": inline(b"1", media_type="text/plain"),
    }

    async def story(call: Any, server: Server) -> None:
        await call(arguments)
        assert [(part[0], part[2], part[3]) for part in parts_of(server.seen[0])] == [
            ("note", "application/xml", b"<a/>"),
            ("meta", "application/vnd.x+json", b'"t"'),
            ("tags", "application/json", b"[1,2]"),
            ("ids", "text/plain", b"1"),
            ("ids", "text/plain", b"2"),
            ("photo", "image/png", b"1"),
        ]
        result = await call({"note": {"not": "text"}})
        assert result.error.error_class == "invalid_arguments"

    told(story, OK, "POST /x", kind="action", takes=takes, x_body="multipart", x_mapping=mapping)


def test_a_form_has_every_style() -> None:
    mapping = {
        "deep": {"in": "body", "style": "deep"},
        "form": {"in": "body", "style": "form"},
        "json": {"in": "body", "content_type": "application/json"},
        "open": {"in": "body", "style": "form-exploded"},
    }
    arguments = {"deep": {"a": {"b": 1}}, "form": {"c": 2}, "json": "t", "open": {"d": 3}}
    seen = sent("POST /x", arguments, x_body="form", x_mapping=mapping).seen[0]
    assert seen.body == b"deep%5Ba%5D%5Bb%5D=1&form=c,2&json=%22t%22&d=3"


def test_a_body_of_another_media_type_is_text_or_json_with_its_header() -> None:
    xml = sent("POST /x", {"body": "<a>é</a>"}, x_body="text", x_headers={"Content-Type": "application/xml"}).seen[0]
    assert (xml.headers["content-type"], xml.body.decode()) == ("application/xml", "<a>é</a>")
    kind = "application/merge-patch+json"
    patch = sent("PATCH /x", {"a": 1}, x_headers={"Content-Type": kind}).seen[0]
    assert (patch.headers["content-type"], patch.body) == (kind, b'{"a":1}')
