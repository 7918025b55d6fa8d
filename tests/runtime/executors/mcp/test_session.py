"""Sessions with MCP servers: which revision is agreed on, and that nothing is offered which nobody could wait for."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from mcp_types.version import HANDSHAKE_PROTOCOL_VERSIONS, MODERN_PROTOCOL_VERSIONS

from ferrule.runtime.executors.mcp.upstream import REVISIONS
from ferrule.testing import memory_app
from tests.runtime.executors.mcp.http_tools import LOCAL, called, definition
from tests.runtime.executors.mcp.imported_apps import ended, far_app, play, program, refs_of
from tests.runtime.executors.mcp.servers import HttpServer


@pytest.mark.parametrize("revision", ["2024-11-05", "2025-03-26", "2025-06-18", "2025-11-25"])
def test_every_older_revision_is_spoken(tmp_path: Path, revision: str) -> None:
    async def story() -> None:
        async with far_app(program(tmp_path, "odd", revision)) as app:
            result = await ended(app, "text")
            assert result.status == "succeeded", result.error
            assert result.content[0]["text"] == "plain words"
            assert (await refs_of(app, result))[0]["mcp_protocol_version"] == revision

    play(story)


def test_what_a_server_asks_of_its_client_is_refused_and_its_call_goes_on(tmp_path: Path) -> None:
    async def story() -> None:
        async with far_app(program(tmp_path, "odd", "2025-11-25")) as app:
            result = await ended(app, "asks")
            assert result.status == "succeeded", result.error
            answers = [json.loads(line) for line in (tmp_path / "answers").read_text().splitlines()]
            assert {answer["id"] for answer in answers} == {"ask-0", "ask-1", "ask-2"}
            assert all("error" in answer for answer in answers)
            offered = json.loads((tmp_path / "offered").read_text().splitlines()[-1])
            assert offered["params"]["capabilities"] == {}

    play(story)


@pytest.mark.parametrize(
    ("path", "wanted", "spoken"),
    [
        ("/mcp", "", "2026-07-28"),
        ("/mcp", "2026-07-28", "2026-07-28"),
        ("/mcp", "2025-11-25", "2025-11-25"),
        ("/mcp", "2025-06-18", "2025-06-18"),
        ("/mcp", "2025-03-26", "2025-03-26"),
        ("/mcp", "2024-11-05", "2024-11-05"),
        ("/sse", "2024-11-05", "2024-11-05"),
        ("/sse", "2025-03-26", "2025-03-26"),
        ("/sse", "", "2026-07-28"),
    ],
)
def test_the_revision_that_is_wanted_or_the_newest_is_spoken(
    official: HttpServer, path: str, wanted: str, spoken: str
) -> None:
    async def story() -> None:
        async with memory_app(definitions=definition(official.url(path), revision=wanted), settings=LOCAL) as app:
            result = await ended(app, "echo", {"text": "hi"})
            assert result.status == "succeeded", result.error
            ref = (await refs_of(app, result))[0]
            assert ref["mcp_protocol_version"] == spoken
            has_session = path == "/mcp" and spoken != "2026-07-28"
            assert ("mcp_session_id" in ref) == has_session

    play(story)


def test_a_revision_that_nobody_knows_is_not_replaced_by_another(official: HttpServer) -> None:
    """AML-52, AT-277: the message tells which can be asked for."""

    async def story() -> None:
        result = await called(official.url(), revision="1999-01-01")
        assert result.error is not None
        assert (result.error.error_class, result.error.error_code) == ("setup_required", "protocol_version")
        assert "2024-11-05" in result.error.message

    assert set(REVISIONS) == {*HANDSHAKE_PROTOCOL_VERSIONS, *MODERN_PROTOCOL_VERSIONS}
    play(story)
