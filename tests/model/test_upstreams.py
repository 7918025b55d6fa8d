"""Settings of the systems behind tools: which tools a program runs, and what is refused."""

from __future__ import annotations

from typing import Any

import msgspec
import pytest

from ferrule.model.upstreams import McpProgram, Upstreams


@pytest.mark.parametrize(
    ("tool_id", "is_run"),
    [
        ("clerk.search", True),
        ("clerk.", True),
        ("clerk", False),
        ("Clerk.search", False),
        ("pay", True),
        ("pay.more", False),
    ],
)
def test_a_program_runs_the_tools_its_patterns_name(tool_id: str, is_run: bool) -> None:
    assert McpProgram(command=("serve",), tools=("clerk.*", "pay")).runs(tool_id) is is_run


@pytest.mark.parametrize(
    "written",
    [
        {"rest": {"max_response_bytes": 0}},
        {"rest": {"timeout": 5}},
        {"mcp": {"servers": {"a": {"address": "x"}}}},
        {"mcp": {"programs": {"a": {"command": ["serve"]}}}},
        {"mcp": {"timeout_seconds": 0}},
        {"oxp": {"servers": {"a": {}}}},
        {"oxp": {"servers": {"a": {"url": "https://a.example", "api_key": "written out"}}}},
        {"oxp": {"attempts": 0}},
        {"database": {"pool_size": 0}},
        {"queue": {"reply_seconds": 0}},
        {"human": {"remind_seconds": -1}},
        {"cache": {"tools": {"search": -1}}},
    ],
    ids=str,
)
def test_impossible_settings_are_refused(written: dict[str, Any]) -> None:
    with pytest.raises(msgspec.ValidationError):
        msgspec.convert(written, Upstreams)


def test_a_servers_key_is_a_reference_to_a_secret() -> None:
    written = {"oxp": {"servers": {"a": {"url": "https://a.example", "api_key": {"source": "env", "name": "KEY"}}}}}
    server = msgspec.convert(written, Upstreams).oxp.servers["a"]
    assert server.api_key is not None and server.api_key.label == "KEY"
    assert server.tools == ("*",)
