"""Prompts (section 20)."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any, Literal

import pytest

import ferrule
from ferrule.servers.auth.callers import Caller
from tests.definitions.compiler.definitions import shop, write
from tests.servers.mcp.direct_client import REVISIONS, McpClient, RpcFailure, connected_client, in_loop
from tests.servers.mcp.published_schemas import check_against_schema

LINK = {"type": "resource_link", "uri": "docs://a", "name": "a"}


@ferrule.prompt
def simple() -> str:
    """Says hello."""
    return "Hello"


@ferrule.prompt("with-arguments", title="With arguments")
def with_arguments(topic: str, words: int = 10, tone: Literal["kind", "plain"] = "kind") -> str:
    """Writes about something.

    Args:
        topic: What it is about.
    """
    return f"{words} {tone} words about {topic}"


@ferrule.prompt
def several() -> Any:
    """Says many things."""
    resource = {"uri": "docs://a", "text": "inside"}
    return {
        "description": "As it turned out",
        "messages": [
            {"role": "user", "content": ["one", {"type": "image", "data": b"abc", "mimeType": "image/png"}]},
            {"role": "assistant", "content": {"type": "resource", "resource": resource}},
            LINK,
        ],
    }


@ferrule.prompt
def long() -> str:
    """Says too much for a result."""
    return "word " * 50_000


@ferrule.prompt
def wrong() -> Any:
    """Gives what is no message."""
    return [{"role": "system", "content": "x"}]


@ferrule.prompt
async def asks(context: ferrule.Context) -> Any:
    """Asks first."""
    schema = {"type": "object", "properties": {"context": {"type": "string"}}, "required": ["context"]}
    params = {"message": "What about?", "requestedSchema": schema}
    return context.ask_client({"user_context": {"method": "elicitation/create", "params": params}})


@asks.resume
async def _told(state: bytes, answer: dict[str, Any]) -> str:
    return f"About {answer['user_context']['content']['context']}"


EVERYTHING = (simple, with_arguments, several, long, wrong, asks)


@in_loop
async def test_prompts_are_listed_with_their_arguments_and_are_no_tools(tmp_path: Path) -> None:
    """MCP-203."""
    async with connected_client(tmp_path, tools=EVERYTHING) as client:
        listed = {one["name"]: one for one in await client.list_all("prompts/list", "prompts")}
        assert list(listed) == ["simple", "with-arguments", "several", "long", "wrong", "asks"]
        assert listed["with-arguments"] == {
            "name": "with-arguments",
            "title": "With arguments",
            "description": "Writes about something.",
            "arguments": [
                {"name": "topic", "description": "What it is about.", "required": True},
                {"name": "words", "required": False},
                {"name": "tone", "required": False},
            ],
        }
        assert (await client.ask("tools/list"))["tools"] == []
        with pytest.raises(RpcFailure):
            await client.ask("tools/call", name="simple")


@pytest.mark.parametrize("revision", REVISIONS)
@in_loop
async def test_messages_are_those_of_the_revision(tmp_path: Path, revision: str) -> None:
    """MCP-204, MCP-206: one block each; links are texts where there are none."""
    async with connected_client(tmp_path, tools=EVERYTHING) as client:
        client = client.with_revision(revision)
        for name, arguments in (("simple", None), ("with-arguments", {"topic": "x"}), ("several", {}), ("long", {})):
            given = {} if arguments is None else {"arguments": arguments}
            check_against_schema(revision, "GetPromptResult", await client.ask("prompts/get", name=name, **given))
        result = await client.ask("prompts/get", name="several")
        assert result["description"] == "As it turned out"
        contents = [message["content"] for message in result["messages"]]
        assert [message["role"] for message in result["messages"]] == ["user", "user", "assistant", "user"]
        assert contents[:2] == [
            {"type": "text", "text": "one"},
            {"type": "image", "data": "YWJj", "mimeType": "image/png"},
        ]
        assert contents[2]["resource"] == {"uri": "docs://a", "mimeType": "text/plain", "text": "inside"}
        assert contents[3] == (LINK if revision != "2025-03-26" else {"type": "text", "text": "a: docs://a"})


@in_loop
async def test_arguments_are_texts_and_mean_what_the_function_takes(tmp_path: Path) -> None:
    async with connected_client(tmp_path, tools=EVERYTHING) as client:
        arguments = {"topic": "tea", "words": "3", "tone": "plain"}
        result = await client.ask("prompts/get", name="with-arguments", arguments=arguments)
        assert result["messages"][0]["content"]["text"] == "3 plain words about tea"
        assert len((await client.ask("prompts/get", name="long"))["messages"][0]["content"]["text"]) == 250_000


@pytest.mark.parametrize(
    ("name", "arguments"),
    [
        ("nothing", {}),
        ("with-arguments", {}),
        ("with-arguments", {"topic": "x", "tone": "rude"}),
        ("with-arguments", {"topic": "x", "other": "y"}),
        ("with-arguments", {"topic": 3}),
        ("with-arguments", []),
    ],
)
@in_loop
async def test_what_does_not_fit_is_refused(tmp_path: Path, name: str, arguments: Any) -> None:
    """MCP-205."""
    async with connected_client(tmp_path, tools=EVERYTHING) as client:
        with pytest.raises(RpcFailure) as failed:
            await client.ask("prompts/get", name=name, arguments=arguments)
        assert failed.value.code == -32602


@in_loop
async def test_a_function_that_gives_no_messages_fails_its_call(tmp_path: Path) -> None:
    async with connected_client(tmp_path, tools=EVERYTHING) as client:
        with pytest.raises(RpcFailure) as failed:
            await client.ask("prompts/get", name="wrong")
        assert failed.value.code == -32603


@in_loop
async def test_a_prompt_may_ask_its_client_first(tmp_path: Path) -> None:
    """MCP-216, MCP-223."""
    async with connected_client(tmp_path, tools=EVERYTHING) as client:
        client.features = frozenset({"elicitation"})
        asked = await client.ask("prompts/get", name="asks")
        assert asked["inputRequests"]["user_context"]["method"] == "elicitation/create"
        answer = {"user_context": {"action": "accept", "content": {"context": "cats"}}}
        with pytest.raises(RpcFailure):
            state = asked["requestState"] + "-TAMPERED"
            await client.ask("prompts/get", name="asks", requestState=state, inputResponses=answer)
        done = await client.ask("prompts/get", name="asks", requestState=asked["requestState"], inputResponses=answer)
        assert done["messages"][0]["content"]["text"] == "About cats"
        client.features = frozenset()
        with pytest.raises(RpcFailure) as failed:
            await client.ask("prompts/get", name="asks")
        assert (failed.value.code, failed.value.data) == (-32021, {"requiredCapabilities": {"elicitation": {}}})


SYSTEM = "You help people with orders.\nBe brief."
MANIFEST = f"""
apiVersion: adl.inference-gateway.com/v1
kind: Agent
metadata: {{name: desk, description: Helps at the desk., version: 1.0.0}}
spec:
  capabilities: {{streaming: false, pushNotifications: false, stateTransitionHistory: false}}
  agent: {{provider: openai, model: m, systemPrompt: {json.dumps(SYSTEM)}}}
  server: {{port: 8080}}
  language: {{go: {{module: example.com/desk, version: "1.24"}}}}
  tools: []
"""


@in_loop
async def test_what_an_agents_file_says_is_a_prompt(tmp_path: Path) -> None:
    """AML bodies and ADL's `systemPrompt`; whoever calls as an agent sees its own alone."""
    write(tmp_path, shop())
    (tmp_path / "desk.yaml").write_text(MANIFEST)
    async with connected_client(tmp_path, tools=[simple]) as client:
        listed = {one["name"]: one for one in await client.list_all("prompts/list", "prompts")}
        assert set(listed) == {"simple", "agent-helper", "agent-desk"}
        assert listed["agent-desk"] == {"name": "agent-desk", "title": "desk", "description": "Helps at the desk."}
        got = await client.ask("prompts/get", name="agent-desk")
        check_against_schema("2026-07-28", "GetPromptResult", got)
        assert got["messages"] == [{"role": "user", "content": {"type": "text", "text": SYSTEM}}]
        text = (await client.ask("prompts/get", name="agent-helper"))["messages"][0]["content"]["text"]
        assert text.startswith("# Purpose\n\n") and "# System behavior" in text and "# Rules" in text
        caller = Caller(client.caller.identity, agent="helper")
        helper = McpClient(client.server, caller)
        assert [one["name"] for one in await helper.list_all("prompts/list", "prompts")] == ["agent-helper"]
        with pytest.raises(RpcFailure) as failed:
            await helper.ask("prompts/get", name="agent-desk")
        assert failed.value.code == -32602
