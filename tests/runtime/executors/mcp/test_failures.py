"""What goes wrong with MCP servers: statuses and errors of the protocol are no failures of the tool's own."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.runtime.executors.mcp.http_tools import called
from tests.runtime.executors.mcp.imported_apps import ended, far_app, play, program
from tests.runtime.executors.mcp.servers import HttpServer


@pytest.mark.parametrize(
    ("status", "error_class", "code"),
    [
        (401, "credential_missing", "credential_refused"),
        (403, "permission_denied", "upstream_denied"),
        (404, "execution_failed", "endpoint_not_found"),
        (418, "execution_failed", None),
        (429, "rate_limited", None),
        (500, "dependency_unavailable", None),
        (503, "dependency_unavailable", None),
    ],
)
def test_what_a_status_means(official: HttpServer, status: int, error_class: str, code: str | None) -> None:
    async def story() -> None:
        codes = f"error_codes:\n  {status}:\n    meaning: It is Tuesday.\n    agent_action: Come back on Wednesday.\n"
        result = await called(official.url(f"/status/{status}"), error_codes=codes)
        assert result.error is not None
        assert result.error.error_class == error_class
        assert code is None or result.error.error_code == code
        assert result.error.native_error_ref == f"http:{status}"
        assert "Come back on Wednesday" in result.error.message
        if status == 429:
            assert result.error.retry_after == 7

    play(story)


def test_a_tool_that_is_not_there_is_told_apart_from_bad_arguments(official: HttpServer) -> None:
    async def story() -> None:
        result = await called(official.url(), name="nowhere")
        assert result.error is not None
        assert result.error.error_class == "execution_failed"

    play(story)


def test_a_failing_tool_and_a_failing_protocol_are_two_things(tmp_path: Path) -> None:
    """AT-196."""

    async def story() -> None:
        async with far_app(program(tmp_path)) as app:
            failed = await ended(app, "fails")
            assert failed.error is not None
            assert (failed.error.error_class, failed.error.native_error_ref) == ("execution_failed", "mcp:isError")
            assert "canary-7f3a9c51e2" in str(failed.content)
        async with far_app(program(tmp_path, "odd", "2025-06-18")) as app:
            broken = await ended(app, "error")
            assert broken.error is not None
            assert (broken.error.error_class, broken.error.native_error_ref) == ("dependency_unavailable", "mcp:-32603")
            refused = await ended(app, "unknown")
            assert refused.error is not None
            assert (refused.error.error_class, refused.error.native_error_ref) == ("invalid_arguments", "mcp:-32602")
            assert "canary" not in refused.error.message + broken.error.message

    play(story)
