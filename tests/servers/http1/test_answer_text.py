"""Answers as they are written to a connection."""

from __future__ import annotations

import json

import pytest

from ferrule.servers.asgi import HttpAnswer
from ferrule.servers.http1.answer_text import head_text, refusal_text, whole_text

OK = HttpAnswer(200, b"hello", [(b"content-type", b"text/plain")])


def test_an_answer_has_its_status_its_headers_its_length_and_its_body() -> None:
    assert bytes(whole_text(OK, is_bodiless=False, is_kept=True)) == (
        b"HTTP/1.1 200 OK\r\ncontent-type: text/plain\r\ncontent-length: 5\r\n\r\nhello"
    )


def test_a_head_tells_the_length_of_the_body_that_it_leaves_out() -> None:
    text = bytes(whole_text(OK, is_bodiless=True, is_kept=True))
    assert text.endswith(b"content-length: 5\r\n\r\n")


@pytest.mark.parametrize("status", [204, 304])
def test_an_answer_that_never_has_a_body_has_no_length(status: int) -> None:
    assert b"content-length" not in whole_text(HttpAnswer(status, b"", []), is_bodiless=False, is_kept=True)


def test_the_last_answer_of_a_connection_says_so() -> None:
    assert b"\r\nconnection: close\r\n\r\n" in whole_text(OK, is_bodiless=False, is_kept=False)


def test_a_status_that_nobody_knows_is_written_all_the_same() -> None:
    assert bytes(head_text(799, [])) == b"HTTP/1.1 799 -\r\n"


@pytest.mark.parametrize(
    ("status", "code"), [(431, "head_too_large"), (503, "too_many_connections"), (400, "malformed_request")]
)
def test_what_never_became_a_request_is_refused_as_a_problem_with_an_id(status: int, code: str) -> None:
    head, _, body = refusal_text(status).partition(b"\r\n\r\n")
    told = json.loads(body)
    assert head.startswith(b"HTTP/1.1 %d " % status) and head.endswith(b"connection: close")
    assert (told["status"], told["code"]) == (status, code)
    assert f"x-request-id: {told['request_id']}".encode() in head
    assert (b"retry-after: 5" in head) is (status == 503)
