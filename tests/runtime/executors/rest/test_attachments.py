"""Files among the arguments: their bytes come with them or are fetched, within bounds and from nowhere else."""

from __future__ import annotations

import json
from typing import Any

import pytest

from tests.runtime.executors.rest.files import ATTACHMENT, by_ref, inline, parts_of
from tests.runtime.executors.rest.server import Seen, Server, Wire, answer, json_answer, settings
from tests.runtime.executors.rest.tools import ANY, told

OK = json_answer({"ok": True})


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
