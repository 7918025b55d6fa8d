"""Functions of Google Cloud and Azure, with the clouds of `tests/infra/clouds`: who is shown what, and what comes back."""

from __future__ import annotations

import json
import threading
from collections.abc import Iterator
from typing import Any

import pytest

from tests.infra.clouds.far import Asked, Far, Reply, far
from tests.infra.clouds.google import Google, google
from tests.infra.clouds.microsoft import FUNCTION, Azure, microsoft
from tests.runtime.executors.lambda_.tools import function_tool
from tests.runtime.executors.queue.tools import account, calling, eventually, probed, refs, run
from tests.spec.scene import played

NAME = "projects/acme/locations/europe-west1/functions/broker"
STRICT = {"type": "object", "properties": {"text": {"type": "string"}}, "required": ["text"]}


@pytest.fixture
def gcp() -> Iterator[Google]:
    with google() as made:
        made.function_answer = {"text": "from google"}
        yield made


@pytest.fixture
def azure() -> Iterator[Azure]:
    with microsoft() as made:
        made.function_answer = {"text": "from azure"}
        yield made


def google_env(gcp: Google) -> dict[str, str]:
    return {"ACCOUNT": json.dumps(gcp.account()), "CLOUDSDK_API_ENDPOINT_OVERRIDES_CLOUDFUNCTIONS": f"{gcp.url}/"}


def azure_env(azure: Azure) -> dict[str, str]:
    return {**azure.environment(), "ACCOUNT": json.dumps(azure.account())}


@pytest.mark.parametrize("name", [NAME, "projects/acme/functions/broker"])
def test_a_function_of_google_is_looked_up_once_and_shown_a_token_for_itself(gcp: Google, name: str) -> None:
    @played
    async def story() -> None:
        async with calling(
            function_tool("ask", "gcp", name, credentials=account(), output=STRICT), env=google_env(gcp)
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


@played
async def test_a_probe_finds_a_function_and_does_not_call_it(gcp: Google, azure: Azure) -> None:
    async with calling(function_tool("ask", "gcp", NAME, credentials=account()), env=google_env(gcp)) as app:
        assert "127.0.0.1" in await probed(app, "ask")
        assert "/fn" not in gcp.far.paths()
    async with calling(function_tool("ask", "azure", FUNCTION, credentials=account()), env=azure_env(azure)) as app:
        assert "with a key" in await probed(app, "ask")
        assert "/api/broker" not in azure.far.paths()


@played
async def test_a_function_of_azure_by_its_path_gets_its_key(azure: Azure) -> None:
    async with calling(
        function_tool("ask", "azure", FUNCTION, credentials=account(), output=STRICT), env=azure_env(azure)
    ) as app:
        result = await run(app, "ask", {"text": "x"})
        assert result.structured_content == {"text": "from azure"}, result.error
        called = next(asked for asked in azure.far.asked if asked.path == "/api/broker")
        assert called.headers["x-functions-key"] == "the-function-key"
        assert "the-function-key" not in str(result)


@played
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


@played
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


class Functions:
    """A function that a test plays."""

    def __init__(self) -> None:
        self.reply = Reply(200, {"text": "ok"})
        self.gate = threading.Event()
        self.gate.set()
        self.far: Far

    def answer(self, asked: Asked) -> Reply:
        self.gate.wait(20)
        return self.reply

    def tool(self, **said: Any) -> str:
        said = {"credentials": {"scheme": "none"}, "x-url": f"{self.far.url}/fn", **said}
        return function_tool("ask", "gcp", NAME, **said)


@pytest.fixture
def there() -> Iterator[Functions]:
    made = Functions()
    with far(made.answer) as server:
        made.far = server
        yield made
        made.gate.set()


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
    @played
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


@played
async def test_an_event_is_acknowledged_before_the_function_is_through(there: Functions) -> None:
    """AML-51"""
    there.gate.clear()
    async with calling(there.tool(invocation_type="Event", output=STRICT)) as app:
        result = await run(app, "ask")
        assert result.structured_content == {"status": "accepted", "invocation_id": result.invocation_id}
        await eventually(lambda: len(there.far.asked) == 1)
        there.gate.set()


@played
async def test_an_event_that_is_refused_at_once_is_a_failure(there: Functions) -> None:
    there.reply = Reply(404, b"")
    async with calling(there.tool(invocation_type="Event")) as app:
        result = await run(app, "ask")
        assert result.error is not None
        assert result.error.native_error_ref == "http:404"


@played
async def test_binary_goes_as_it_is_and_comes_back_in_base64(there: Functions) -> None:
    """AML-50"""
    blob = {"type": "object", "properties": {"data": {"type": "string", "contentEncoding": "base64"}}}
    there.reply = Reply(200, b"\xff\x00\x01")
    async with calling(there.tool(payload_format="raw", input=blob, output=blob)) as app:
        result = await run(app, "ask", {"data": "AAH/"})
        assert there.far.asked[0].body == b"\x00\x01\xff"
        assert there.far.asked[0].headers["content-type"] == "application/octet-stream"
        assert result.structured_content == {"data": "/wAB"}
        refused = await run(app, "ask", {"data": "%%"})
        assert refused.error is not None
        assert refused.error.error_class == "invalid_arguments"


@played
async def test_an_answer_that_is_no_json_is_a_failure(there: Functions) -> None:
    there.reply = Reply(200, b"<html>")
    async with calling(there.tool()) as app:
        result = await run(app, "ask")
        assert result.error is not None
        assert result.error.error_code == "result_unreadable"


@played
async def test_an_address_that_is_not_public_is_refused(there: Functions) -> None:
    async with calling(there.tool(), allow=()) as app:
        result = await run(app, "ask")
        assert result.error is not None
        assert (result.error.error_class, result.error.error_code) == ("policy_blocked", "address_forbidden")
    assert not there.far.asked


@pytest.mark.parametrize(("provider", "name"), [("gcp", "projects/x/functions/y/z"), ("azure", "/subscriptions/x")])
def test_what_names_no_function_is_a_matter_of_setup(provider: str, name: str) -> None:
    @played
    async def story() -> None:
        async with calling(function_tool("ask", provider, name)) as app:
            result = await run(app, "ask")
            assert result.error is not None
            assert result.error.error_class == "setup_required"

    story()
