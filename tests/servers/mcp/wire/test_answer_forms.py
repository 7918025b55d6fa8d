"""Which form of an answer a client takes, read from its Accept header, and which bodies are JSON."""

from __future__ import annotations

import pytest

from ferrule.servers.mcp.wire.answer_forms import is_json, read_accept


@pytest.mark.parametrize(
    ("accept", "json", "events"),
    [
        (None, True, True),
        ("", True, True),
        ("*/*", True, True),
        ("application/json, text/event-stream", True, True),
        ("application/json", True, False),
        ("text/event-stream", False, True),
        ("application/*", True, False),
        ("text/*", False, True),
        ("text/plain", False, False),
        ("application/json;q=0", False, False),
        ("*/*, application/json;q=0", False, True),
        ("*/*;q=0.1, text/*;q=0", True, False),
        ("Application/JSON; charset=utf-8 ; q=0.5", True, False),
        ("application/json;q=nonsense", True, False),
    ],
    ids=range(14),
)
def test_accept_is_read_as_it_is_meant(accept: str | None, json: bool, events: bool) -> None:
    """MCP-40."""
    assert read_accept(None if accept is None else accept.encode())[:2] == (json, events)


@pytest.mark.parametrize(
    ("accept", "is_preferred"),
    [
        ("application/json, text/event-stream", False),
        ("text/event-stream, application/json", True),
        ("text/event-stream;q=0.5, application/json", False),
        ("application/json;q=0.5, text/event-stream", True),
        ("*/*", False),
        ("text/event-stream, */*", False),
        ("text/event-stream", False),
        ("text/event-stream, application/json;q=0", False),
    ],
)
def test_whoever_names_a_stream_first_prefers_it(accept: str, is_preferred: bool) -> None:
    assert read_accept(accept.encode()).prefers_events is is_preferred


@pytest.mark.parametrize(
    ("given", "taken"),
    [
        ("application/json", True),
        ("application/json; charset=utf-8", True),
        ("Application/JSON", True),
        ("text/plain", False),
        ("application/jsonp", False),
        ("application/x-www-form-urlencoded", False),
        (None, False),
    ],
    ids=range(7),
)
def test_only_json_is_read(given: str | None, taken: bool) -> None:
    """MCP-41."""
    assert is_json(None if given is None else given.encode()) is taken
