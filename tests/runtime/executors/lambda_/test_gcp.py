"""Functions of Google Cloud: looked up by name, and shown a token for themselves."""

from __future__ import annotations

import json

import pytest

from tests.infra.clouds.google import Google
from tests.runtime.executors.lambda_.tools import NAME, REQUIRED, function_tool, google_env
from tests.runtime.executors.queue.tools import account, calling, refs, run
from tests.spec.running_app import run_async


@pytest.mark.parametrize("name", [NAME, "projects/acme/functions/broker"])
def test_a_function_of_google_is_looked_up_once_and_shown_a_token_for_itself(gcp: Google, name: str) -> None:
    @run_async
    async def story() -> None:
        async with calling(
            function_tool("ask", "gcp", name, credentials=account(), output=REQUIRED), env=google_env(gcp)
        ) as app:
            for text in ("one", "two"):
                result = await run(app, "ask", {"text": text})
                assert result.structured_content == {"text": "from google"}
            called = [asked for asked in gcp.far.asked if asked.path == "/fn"]
            assert [json.loads(asked.body) for asked in called] == [{"text": "one"}, {"text": "two"}]
            assert gcp.tokens[called[0].bearer]["target_audience"] == f"{gcp.url}/fn"
            assert sum(path.startswith("/v2/") for path in gcp.far.paths()) == 1
            assert called[1].headers["ferrule-invocation-id"] == result.invocation_id
            (ref,) = await refs(app, result.invocation_id)
            assert ref["source"] == "gcp_function"

    story()


@run_async
async def test_a_name_that_is_no_function_is_a_matter_of_setup() -> None:
    async with calling(function_tool("ask", "gcp", "projects/x/functions/y/z")) as app:
        result = await run(app, "ask")
        assert result.error is not None
        assert result.error.error_class == "setup_required"
