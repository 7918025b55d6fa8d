"""What answers become: JSON, text, files, nothing; and what stops them from becoming anything."""

from __future__ import annotations

import gzip
from typing import Any

import pytest

from ferrule.model.persistence import ResultSettings
from tests.runtime.executors.rest.server import Seen, Server, Wire, answer, bomb, json_answer, settings
from tests.runtime.executors.rest.tools import ANY, context, run_of, told

LIST = {"type": "object", "properties": {"items": {"type": "array"}}, "required": ["items"]}


@pytest.mark.parametrize(
    ("media_type", "body", "value"),
    [
        ("application/json", b'{"a":1}', {"a": 1}),
        ("application/json; charset=utf-8", '{"a":"é"}'.encode(), {"a": "é"}),
        ("application/json;charset=ISO-8859-1", '{"a":"é"}'.encode("latin-1"), {"a": "é"}),
        ("application/json", b"\xef\xbb\xbf" + b'{"a":1}', {"a": 1}),
        ("application/json", '{"a":1}'.encode("utf-16"), {"a": 1}),
        ("application/vnd.api+json", b'{"a":123456789012345678901234567890}', {"a": 123456789012345678901234567890}),
        ("", b' {"a":1}', {"a": 1}),
    ],
)
def test_json_is_a_value(media_type: str, body: bytes, value: Any) -> None:
    async def story(call: Any, server: Server) -> None:
        result = await call()
        assert result.structured_content == value, result.error

    told(story, answer(200, body, media_type=media_type))


@pytest.mark.parametrize(
    "body",
    [b"<html>", b'{"a":1', b"{'a':1}", b'{"a":NaN}', b"\xff\xff{}", b"[" * 100_000, b'{"a":1e999}', b'"\xff"', b"{}{}"],
)
def test_json_that_is_none_is_a_clear_failure(body: bytes) -> None:
    async def story(call: Any, server: Server) -> None:
        result = await call()
        assert (result.error.error_class, result.error.error_code) == ("execution_failed", "broken_json")
        assert "127.0.0.1" in result.error.message
        assert len(server.seen) == 1

    told(story, answer(200, body))


@pytest.mark.parametrize(
    ("media_type", "body", "text"),
    [
        ("text/plain", b"hello", "hello"),
        ("text/plain; charset=iso-8859-1", b"\xe9", "é"),
        ('text/html; charset="windows-1252"', b"\x80", "€"),
        ("text/csv", "\ufeffa;b".encode(), "a;b"),
        ("application/xml", b"<a/>", "<a/>"),
        ("application/x-ndjson", b'{"a":1}\n{"a":2}\n', '{"a":1}\n{"a":2}\n'),
        ("text/plain; charset=idna", b"ok \xff", "ok \ufffd"),
        ("text/plain; charset=unicode_escape", rb"\n", r"\n"),
        ("", b"just words", "just words"),
    ],
)
def test_text_is_shown_as_it_is_and_is_a_member_of_the_output(media_type: str, body: bytes, text: str) -> None:
    async def story(call: Any, server: Server) -> None:
        result = await call()
        assert result.status == "succeeded", result.error
        assert result.content[0]["text"] == text
        assert result.structured_content == {"text": text}

    told(story, answer(200, body, media_type=media_type))


def test_text_where_an_object_was_promised_is_no_success() -> None:
    """AT-87: a page that asks for a login is not a list of orders."""

    async def story(call: Any, server: Server) -> None:
        result = await call()
        assert result.error.error_code == "result_mapping_failed"

    told(story, answer(200, b"<html>please log in</html>", media_type="text/html"), gives=LIST)


def test_bytes_are_stored_as_a_file() -> None:
    async def story(call: Any, server: Server) -> None:
        result = await call()
        assert result.status == "succeeded", result.error
        assert await call.surface.payload(result.native_output_ref) == b"\x89PNG\0" * 50_000
        assert "image/png" in str(result.content)
        assert "report_1.png" in str(result.content)

    headers = {"Content-Disposition": 'attachment; filename="../../report:1.png"'}
    told(story, answer(200, b"\x89PNG\0" * 50_000, headers, media_type="image/png"))


def test_bytes_that_nobody_gave_a_type_are_stored_too() -> None:
    async def story(call: Any, server: Server) -> None:
        result = await call()
        assert result.status == "succeeded", result.error
        assert await call.surface.payload(result.native_output_ref) == b"\xff\xfe\0"[::-1]

    told(story, answer(200, b"\0\xfe\xff", media_type=""))


def test_a_stored_file_that_breaks_off_is_a_failure_and_frees_its_connection() -> None:
    async def serve(seen: Seen, wire: Wire) -> bytes | None:
        wire.writer.write(answer(200, b"x" * 1000, media_type="image/png", length=5000))
        await wire.writer.drain()
        return None

    async def story(call: Any, server: Server) -> None:
        for _ in range(3):
            result = await call()
            assert (result.error.error_class, result.error.error_code) == ("dependency_unavailable", "broken_answer")

    told(story, serve, here=settings(max_connections_per_host=1))


def test_a_stream_that_is_dropped_unread_frees_its_connection() -> None:
    async def story(call: Any, server: Server) -> None:
        run = run_of(call.app)
        for _ in range(3):
            output = await run({}, context())
            assert output.stream is not None
            del output

    told(story, answer(200, b"x" * 500_000, media_type="image/png"), here=settings(max_connections_per_host=1))


@pytest.mark.parametrize(
    ("status", "kind"), [(204, "retrieval"), (202, "retrieval"), (205, "action"), (200, "action"), (201, "action")]
)
def test_an_empty_answer_is_a_success_without_output(status: int, kind: str) -> None:
    async def story(call: Any, server: Server) -> None:
        result = await call()
        assert result.status == "succeeded", result.error
        assert result.content[0]["empty"] is True

    told(story, answer(status), "POST /x", kind=kind, gives=LIST)


def test_a_tool_that_reads_and_gets_nothing_has_not_kept_its_promise() -> None:
    async def story(call: Any, server: Server) -> None:
        assert (await call()).error.error_code == "result_mapping_failed"

    told(story, answer(200), gives=LIST)


def test_a_definition_may_say_that_nothing_comes() -> None:
    async def nothing(call: Any, server: Server) -> None:
        result = await call()
        assert result.status == "succeeded", result.error
        assert result.content[0]["empty"] is True

    async def something(call: Any, server: Server) -> None:
        assert (await call()).structured_content == {"items": [1]}

    told(nothing, answer(200), gives=LIST, x_response={"empty": True})
    told(something, json_answer({"items": [1]}), gives=LIST, x_response={"empty": True})


def test_head_gives_the_head() -> None:
    async def story(call: Any, server: Server) -> None:
        result = await call()
        headers = {"content-length": "0", "etag": '"1"'}
        assert result.structured_content == {"status": 200, "headers": headers}

    told(story, answer(200, headers={"ETag": '"1"', "Set-Cookie": "a=b"}), "HEAD /x")


def test_the_output_may_be_a_part_of_the_answer() -> None:
    async def nested(call: Any, server: Server) -> None:
        assert (await call()).structured_content == {"items": [2]}

    async def bare_list(call: Any, server: Server) -> None:
        assert (await call()).structured_content == {"items": [1, 2]}

    async def missing(call: Any, server: Server) -> None:
        assert (await call()).error.error_code == "answer_shape"

    async def mistyped(call: Any, server: Server) -> None:
        assert (await call()).structured_content == {"a": 1}

    async def named(call: Any, server: Server) -> None:
        assert (await call()).structured_content == {"page": "<p>"}

    data = json_answer({"data": {"a/b": [[1], [2]]}})
    told(nested, data, gives=LIST, x_response={"pointer": "/data/a~1b/1", "as": "items"})
    told(bare_list, json_answer([1, 2]), gives=LIST, x_response={"as": "items"})
    told(missing, data, x_response={"pointer": "/data/c"})
    told(mistyped, answer(200, b'{"a":1}', media_type="text/plain"), x_response={"type": "json"})
    told(named, answer(200, b"<p>", media_type="text/html"), x_response={"as": "page"})


def test_an_answer_over_the_limit_is_not_read() -> None:
    async def said(call: Any, server: Server) -> None:
        result = await call()
        assert result.status == "too_large"
        assert "max_response_bytes" in result.error.message

    async def endless(seen: Seen, wire: Wire) -> bytes | None:
        wire.writer.write(b"HTTP/1.1 200 OK\r\nContent-Type: application/json\r\nTransfer-Encoding: chunked\r\n\r\n")
        while not wire.writer.is_closing():
            wire.writer.write(b"400\r\n" + b"1" * 1024 + b"\r\n")
            await wire.writer.drain()
        return None

    async def file(seen: Seen, wire: Wire) -> bytes | None:
        wire.writer.write(b"HTTP/1.1 200 OK\r\nContent-Type: image/png\r\n\r\n")
        while not wire.writer.is_closing():
            wire.writer.write(b"x" * 1024)
            await wire.writer.drain()
        return None

    here = settings(max_response_bytes=10_000)
    told(said, answer(200, b"1" * 10_001), here=here)
    told(said, endless, here=here)
    told(said, file, here=here)


def test_packed_answers_are_unpacked_and_bombs_are_not() -> None:
    async def packed(call: Any, server: Server) -> None:
        assert "gzip" in server.seen[0].headers["accept-encoding"] if server.seen else True
        assert (await call()).structured_content == {"a": "x" * 1000}

    async def exploding(call: Any, server: Server) -> None:
        assert (await call()).status == "too_large"

    body = gzip.compress(b'{"a":"' + b"x" * 1000 + b'"}')
    told(packed, answer(200, body, {"Content-Encoding": "gzip"}))
    told(exploding, bomb(50_000_000), here=settings(max_response_bytes=1_000_000))
    told(exploding, bomb(50_000_000))


def test_large_json_stays_json() -> None:
    async def story(call: Any, server: Server) -> None:
        run = run_of(call.app)
        output = await run({}, context())
        assert len(output.value["items"]) == 100_000
        result = await call()
        assert result.status == "succeeded"
        whole = await call.surface.payload(result.native_output_ref)
        assert whole.endswith(b"99999]}")

    told(
        story, json_answer({"items": list(range(100_000))}), gives=LIST, results=ResultSettings(max_inline_chars=10_000)
    )


def test_each_call_keeps_what_the_other_side_calls_it() -> None:
    """AT-258: with the path as it is written; an argument, which may be secret, is not part of it."""

    async def story(call: Any, server: Server) -> None:
        for status in (200, 404):
            result = await call({"id": "s3cret", "q": "t0ken"})
            rows = await call.app.store.rows_of(result.invocation_id)
            (ref,) = [ref for row in rows for ref in row.segment().notes.get("native_refs", ())]
            assert ref["source"] == "http"
            assert ref["method"] == "GET"
            assert ref["url"] == f"{server.url}/v1/orders/{{id}}"
            assert (ref["server_url"], ref["path"]) == (f"{server.url}/v1", "/orders/{id}")
            assert (ref["status"], ref["request_id"], ref["traceparent"]) == (status, "r-7", "00-a-b-01")
            assert "s3cret" not in str(ref)
            assert "t0ken" not in str(ref)

    headers = {"X-Request-Id": "r-7", "traceparent": "00-a-b-01"}
    answers = [json_answer({}, 200, headers), json_answer({}, 404, headers)]
    told(story, answers, "GET /orders/{id}", takes={"id": ANY, "q": ANY}, base_path="/v1")
