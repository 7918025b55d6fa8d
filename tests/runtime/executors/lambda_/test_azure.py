"""Functions of Azure: by their path with a key, by their address with a key or a token for nobody else."""

from __future__ import annotations

import json

from tests.infra.clouds.microsoft import FUNCTION, Azure
from tests.runtime.executors.lambda_.tools import REQUIRED, azure_env, function_tool
from tests.runtime.executors.queue.tools import account, calling, run
from tests.spec.running_app import run_async


@run_async
async def test_a_function_of_azure_by_its_path_gets_its_key(azure: Azure) -> None:
    async with calling(
        function_tool("ask", "azure", FUNCTION, credentials=account(), output=REQUIRED), env=azure_env(azure)
    ) as app:
        result = await run(app, "ask", {"text": "x"})
        assert result.structured_content == {"text": "from azure"}, result.error
        called = next(asked for asked in azure.far.asked if asked.path == "/api/broker")
        assert called.headers["x-functions-key"] == "the-function-key"
        assert "the-function-key" not in str(result)


@run_async
async def test_a_function_of_azure_by_its_address(azure: Azure) -> None:
    url = f"{azure.url}/api/broker"
    keyed = {**azure_env(azure), "KEYED": json.dumps({"function_key": "the-function-key"})}
    tools = (
        function_tool("token", "azure", url, credentials=account()),
        function_tool("keyed", "azure", url, credentials=account("KEYED")),
        function_tool("role", "azure", url),
        function_tool("plain", "azure", url, credentials={"scheme": "none"}),
    )
    async with calling(*tools, env=keyed) as app:
        for name in ("token", "keyed", "role"):
            assert (await run(app, name)).structured_content == {"text": "from azure"}, name
        result = await run(app, "plain")
        assert result.error is not None
        assert (result.error.error_class, result.error.error_code) == ("credential_missing", "credential_refused")


@run_async
async def test_a_token_for_microsoft_itself_is_not_shown_to_a_strangers_address(azure: Azure) -> None:
    said = {"credentials": account(), "x-audience": "https://management.azure.com"}
    async with calling(
        function_tool("ask", "azure", "https://functions.example.com/api/x", **said), env=azure_env(azure)
    ) as app:
        result = await run(app, "ask")
        assert result.error is not None
        assert result.error.error_class == "setup_required"
    async with calling(
        function_tool("ask", "azure", "http://functions.example.com/api/x", credentials=account()), env=azure_env(azure)
    ) as app:
        result = await run(app, "ask")
        assert result.error is not None
        assert result.error.error_code == "address_forbidden"


@run_async
async def test_a_name_that_is_no_function_is_a_matter_of_setup() -> None:
    async with calling(function_tool("ask", "azure", "/subscriptions/x")) as app:
        result = await run(app, "ask")
        assert result.error is not None
        assert result.error.error_class == "setup_required"
