"""Functions of Google Cloud and Azure, with the clouds of `tests/infra/clouds`: who is shown what, and what comes back."""

from __future__ import annotations

import pytest

from tests.infra.clouds.far import Reply
from tests.infra.clouds.google import Google
from tests.infra.clouds.microsoft import FUNCTION, Azure
from tests.runtime.executors.lambda_.tools import NAME, REQUIRED, Functions, azure_env, function_tool, google_env
from tests.runtime.executors.queue.tools import account, calling, eventually, probed, run
from tests.spec.running_app import run_async


@run_async
async def test_a_probe_finds_a_function_and_does_not_call_it(gcp: Google, azure: Azure) -> None:
    async with calling(function_tool("ask", "gcp", NAME, credentials=account()), env=google_env(gcp)) as app:
        assert "127.0.0.1" in await probed(app, "ask")
        assert "/fn" not in gcp.far.paths()
    async with calling(function_tool("ask", "azure", FUNCTION, credentials=account()), env=azure_env(azure)) as app:
        assert "with a key" in await probed(app, "ask")
        assert "/api/broker" not in azure.far.paths()


@pytest.mark.parametrize(
    ("status", "expected"),
    [
        (500, ("execution_failed", "function_error")),
        (503, ("dependency_unavailable", "dependency_unavailable")),
        (429, ("rate_limited", "rate_limited")),
        (404, ("execution_failed", "execution_failed")),
        (403, ("permission_denied", "upstream_denied")),
        (422, ("invalid_arguments", "invalid_arguments")),
        (302, ("execution_failed", "execution_failed")),
    ],
)
def test_what_a_status_means(there: Functions, status: int, expected: tuple[str, str]) -> None:
    @run_async
    async def story() -> None:
        there.reply = Reply(status, b"words-canary", {"Retry-After": "9"})
        codes = {str(status): {"meaning": "It said no", "agent_action": "Ask a person"}}
        async with calling(there.tool(error_codes=codes)) as app:
            result = await run(app, "ask")
            assert result.error is not None
            assert (result.error.error_class, result.error.error_code) == expected
            assert result.error.native_error_ref == f"http:{status}"
            assert "Ask a person" in result.error.message
            assert "canary" not in result.error.message
            assert result.error.retry_after == 9.0

    story()


@run_async
async def test_an_event_is_acknowledged_before_the_function_is_through(there: Functions) -> None:
    """AML-51"""
    there.gate.clear()
    async with calling(there.tool(invocation_type="Event", output=REQUIRED)) as app:
        result = await run(app, "ask")
        assert result.structured_content == {"status": "accepted", "invocation_id": result.invocation_id}
        await eventually(lambda: len(there.far.asked) == 1)
        there.gate.set()


@run_async
async def test_an_event_that_is_refused_at_once_is_a_failure(there: Functions) -> None:
    there.reply = Reply(404, b"")
    async with calling(there.tool(invocation_type="Event")) as app:
        result = await run(app, "ask")
        assert result.error is not None
        assert result.error.native_error_ref == "http:404"


@run_async
async def test_an_address_that_is_not_public_is_refused(there: Functions) -> None:
    async with calling(there.tool(), allow=()) as app:
        result = await run(app, "ask")
        assert result.error is not None
        assert (result.error.error_class, result.error.error_code) == ("policy_blocked", "address_forbidden")
    assert not there.far.asked
