"""Tools that ask their client, and approvals through it: by answers that ask (section 22), or over a stream (section 21)."""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from pathlib import Path
from typing import Any

import msgspec
import pytest

import ferrule
from ferrule.contracts.executor import Context, Waiting
from ferrule.model.approval import APPROVE, CALL, Identity
from ferrule.servers.auth.callers import Caller
from ferrule.servers.mcp.methods.client_input import UNUSABLE, get_seal
from ferrule.servers.mcp.wire.messages import INTERNAL_ERROR, RpcError, features_of
from tests.servers.mcp.direct_client import McpClient, RpcFailure, connected_client, in_loop
from tests.servers.mcp.published_schemas import check_against_schema

MODERN, S11, S6, S3 = "2026-07-28", "2025-11-25", "2025-06-18", "2025-03-26"
NAME = {"type": "object", "properties": {"name": {"type": "string", "minLength": 1}}, "required": ["name"]}
FORM: dict[str, Any] = {"elicitation": {"form": {}}}
EVERYTHING: dict[str, Any] = {"elicitation": {"form": {}, "url": {}}, "sampling": {"tools": {}}, "roots": {}}
RUNS = {"greeted": 0}


def form(message: str = "Your name?") -> dict[str, Any]:
    return {"method": "elicitation/create", "params": {"message": message, "requestedSchema": NAME}}


SAMPLE: dict[str, Any] = {
    "method": "sampling/createMessage",
    "params": {"messages": [{"role": "user", "content": {"type": "text", "text": "Hi"}}], "maxTokens": 5},
}
ROOTS: dict[str, Any] = {"method": "roots/list"}
URL: dict[str, Any] = {
    "method": "elicitation/create",
    "params": {"mode": "url", "message": "Log in", "url": "https://example.com/login"},
}
ASKED = {"form": form(), "sampling": SAMPLE, "roots": ROOTS, "url": URL}
NAMED = {"action": "accept", "content": {"name": "Ada"}}
SAID = {"role": "assistant", "content": {"type": "text", "text": "Hello"}, "model": "m"}


@ferrule.tool(read_only=True)
def greet(context: Context, twice: bool = False) -> Waiting:
    """Greet somebody, after asking who it is."""
    return context.ask_client({"name": form()}, state=b"twice" if twice else b"once")


@greet.resume
def greet_on(state: bytes, answer: Any, context: Context) -> Any:
    if state == b"twice":
        return context.ask_client({"surname": form("And your surname?")}, state=b"once")
    RUNS["greeted"] += 1
    key = "name" if "name" in answer else "surname"
    given = answer[key]
    return f"Hello, {given['content']['name']}!" if given["action"] == "accept" else f"({given['action']})"


@ferrule.tool(read_only=True)
def ask_for(context: Context, what: list[str]) -> Waiting:
    """Ask for certain things."""
    return context.ask_client({each: ASKED[each] for each in what}, state=b"x")


@ask_for.resume
def ask_for_on(state: bytes, answer: Any, context: Context) -> str:
    return ",".join(sorted(answer))


@ferrule.tool(approval_required=True)
def pay(amount: int) -> str:
    """Pay."""
    return f"paid {amount}"


TOOLS = [greet, ask_for, pay]


def able(client: McpClient, capabilities: dict[str, Any]) -> McpClient:
    """The same client, which declares more."""
    client.features = features_of(capabilities)
    return client


async def call(client: McpClient, name: str, arguments: dict[str, Any] | None = None, **more: Any) -> dict[str, Any]:
    found: dict[str, Any] = await client.ask("tools/call", name=name, arguments=arguments or {}, **more)
    if client.revision == MODERN:
        check_against_schema(
            MODERN, "InputRequiredResult" if found["resultType"] == "input_required" else "CallToolResult", found
        )
    return found


async def refusal(
    client: McpClient, name: str, arguments: dict[str, Any] | None = None, **more: Any
) -> tuple[int, str]:
    with pytest.raises(RpcFailure) as failed:
        await call(client, name, arguments, **more)
    return failed.value.code, str(failed.value)


@in_loop
async def test_a_question_is_an_answer_and_its_answer_another_request(tmp_path: Path) -> None:
    """MCP-216 to MCP-219, MCP-226: two rounds, each with a state of its own."""
    async with connected_client(tmp_path, tools=TOOLS) as client:
        able(client, FORM)
        first = await call(client, "greet", {"twice": True})
        assert first["inputRequests"] == {"name": form()}
        second = await call(
            client, "greet", {"twice": True}, inputResponses={"name": NAMED}, requestState=first["requestState"]
        )
        assert list(second["inputRequests"]) == ["surname"]
        assert second["requestState"] != first["requestState"]
        last = await call(
            client, "greet", {"twice": True}, inputResponses={"surname": NAMED}, requestState=second["requestState"]
        )
        assert last["content"][0]["text"] == "Hello, Ada!"
        assert last["resultType"] == "complete"


@in_loop
async def test_a_retry_is_asked_again_only_for_what_it_declares_itself(tmp_path: Path) -> None:
    """MCP-27, MCP-218: what the request before it declared does not count; the call still waits."""
    async with connected_client(tmp_path, tools=TOOLS) as client:
        able(client, FORM)
        state = (await call(client, "greet"))["requestState"]
        code, _ = await refusal(able(client, {}), "greet", inputResponses={}, requestState=state)
        assert code == -32021
        last = await call(client, "greet", inputResponses={"name": NAMED}, requestState=state)
        assert last["content"][0]["text"] == "Hello, Ada!"


@pytest.mark.parametrize("action", ["accept", "decline", "cancel"])
@in_loop
async def test_a_person_may_say_no_or_nothing(tmp_path: Path, action: str) -> None:
    """MCP-211."""
    async with connected_client(tmp_path, tools=TOOLS) as client:
        able(client, FORM)
        asked = await call(client, "greet")
        answer = {**NAMED, "action": action} if action == "accept" else {"action": action}
        result = await call(client, "greet", inputResponses={"name": answer}, requestState=asked["requestState"])
        assert result["content"][0]["text"] == ("Hello, Ada!" if action == "accept" else f"({action})")


@pytest.mark.parametrize(
    ("declared", "what", "needed"),
    [
        ({}, ["form"], {"elicitation": {}}),
        ({}, ["sampling"], {"sampling": {}}),
        ({"elicitation": {"url": {}}}, ["form", "url"], {"elicitation": {}}),
        ({"elicitation": {}}, ["url"], {"elicitation": {"url": {}}}),
        ({"elicitation": {}}, ["form", "sampling", "roots"], {"sampling": {}, "roots": {}}),
    ],
    ids=range(5),
)
@in_loop
async def test_a_client_is_asked_only_for_what_this_request_declares(
    tmp_path: Path, declared: dict[str, Any], what: list[str], needed: dict[str, Any]
) -> None:
    """MCP-27, MCP-109, MCP-121, MCP-218: else -32021 with what is missing, and the call has ended."""
    async with connected_client(tmp_path, tools=TOOLS) as client:
        able(client, EVERYTHING)
        assert (await call(client, "ask_for", {"what": what}))["resultType"] == "input_required"
        able(client, declared)
        with pytest.raises(RpcFailure) as failed:
            await call(client, "ask_for", {"what": what})
        assert (failed.value.code, failed.value.data) == (-32021, {"requiredCapabilities": needed})
        assert len(await client.server.app.store.open_calls("needs_input")) == 1  # the first one, which may be answered


@in_loop
async def test_a_retry_that_cannot_be_asked_the_next_question_ends_the_call(tmp_path: Path) -> None:
    """MCP-27, MCP-218: what the first request declared does not count for the second."""
    async with connected_client(tmp_path, tools=TOOLS) as client:
        able(client, FORM)
        asked = await call(client, "greet", {"twice": True})
        able(client, {})
        code, _ = await refusal(
            client, "greet", {"twice": True}, inputResponses={"name": NAMED}, requestState=asked["requestState"]
        )
        assert code == -32021
        assert not await client.server.app.store.open_calls("needs_input")


@pytest.mark.parametrize(
    "given",
    [
        {},
        {"other": NAMED},
        {"name": {"action": "accept", "content": {"name": ""}}},
        {"name": {"action": "accept", "content": {"name": 5}}},
        {"name": {"action": "accept"}},
        {"name": {"action": "perhaps"}},
        {"name": {}},
    ],
    ids=range(7),
)
@in_loop
async def test_what_is_missing_or_does_not_fit_is_asked_once_more(tmp_path: Path, given: dict[str, Any]) -> None:
    """MCP-220, MCP-222: and the right answer still counts after that."""
    async with connected_client(tmp_path, tools=TOOLS) as client:
        able(client, FORM)
        asked = await call(client, "greet")
        again = await call(client, "greet", inputResponses=given, requestState=asked["requestState"])
        assert again["inputRequests"] == asked["inputRequests"]
        assert again["requestState"] != asked["requestState"]
        more = {"name": NAMED, "unknown": {"x": 1}, "other": 5}
        ended = await call(client, "greet", inputResponses=more, requestState=again["requestState"])  # MCP-221
        assert ended["content"][0]["text"] == "Hello, Ada!"


@pytest.mark.parametrize("given", [None, 5, "x", [], {"name": 12345}, {"name": None}, {"name": []}], ids=range(7))
@in_loop
async def test_answers_of_another_shape_are_an_error(tmp_path: Path, given: Any) -> None:
    """MCP-222."""
    async with connected_client(tmp_path, tools=TOOLS) as client:
        able(client, FORM)
        asked = await call(client, "greet")
        code, _ = await refusal(client, "greet", inputResponses=given, requestState=asked["requestState"])
        assert code == -32602


@in_loop
async def test_a_retry_without_its_state_is_a_first_call(tmp_path: Path) -> None:
    """MCP-227: it is asked again, and never taken for an answer."""
    async with connected_client(tmp_path, tools=TOOLS) as client:
        able(client, FORM)
        asked = await call(client, "greet")
        for more in ({}, {"requestState": None}):
            again = await call(client, "greet", inputResponses={"name": NAMED}, **more)
            assert again["resultType"] == "input_required"
            assert again["requestState"] != asked["requestState"]


@in_loop
async def test_a_state_counts_once_for_one_caller_and_one_request(tmp_path: Path) -> None:
    """MCP-223 to MCP-225, MCP-229, MCP-285: everything else is refused in one text, and does no harm."""
    async with connected_client(tmp_path, tools=TOOLS) as client:
        able(client, FORM)
        RUNS["greeted"] = 0
        asked = await call(client, "greet")
        state, answers = asked["requestState"], {"name": NAMED}
        strangers = [client.with_principal("bob"), client.with_principal("local", "elsewhere")]
        sibling = McpClient(client.server, Caller(Identity("local", "another token", frozenset({CALL}))), MODERN)
        for other in (*strangers, sibling):
            able(other, FORM)
            assert await refusal(other, "greet", inputResponses=answers, requestState=state) == (-32602, UNUSABLE)
        sealed = get_seal(client.server)
        opened = sealed.open(state)
        assert opened is not None
        forged = [
            f"{state}-TAMPERED",
            "nonsense",
            "",
            sealed.seal(msgspec.structs.replace(opened, expires_at=1)),
            sealed.seal(msgspec.structs.replace(opened, audience="elsewhere")),
            sealed.seal(msgspec.structs.replace(opened, method="prompts/get")),
            sealed.seal(msgspec.structs.replace(opened, round=opened.round + 1)),
            sealed.seal(msgspec.structs.replace(opened, invocation_id="inv_unknown")),
        ]
        for text in forged:
            assert await refusal(client, "greet", inputResponses=answers, requestState=text) == (-32602, UNUSABLE)
        assert (await refusal(client, "greet", {"twice": False}, inputResponses=answers, requestState=state))[
            0
        ] == -32602
        assert (await refusal(client, "greet", inputResponses=answers, requestState=5))[0] == -32602
        ended = await call(client, "greet", inputResponses=answers, requestState=state)
        assert ended["content"][0]["text"] == "Hello, Ada!"
        assert await refusal(client, "greet", inputResponses=answers, requestState=state) == (-32602, UNUSABLE)
        assert RUNS["greeted"] == 1


@in_loop
async def test_of_two_retries_at_once_the_tool_hears_one(tmp_path: Path) -> None:
    """MCP-225."""
    async with connected_client(tmp_path, tools=TOOLS) as client:
        able(client, FORM)
        RUNS["greeted"] = 0
        state = (await call(client, "greet"))["requestState"]
        retries = [call(client, "greet", inputResponses={"name": NAMED}, requestState=state) for _ in range(5)]
        await asyncio.gather(*retries, return_exceptions=True)
        assert RUNS["greeted"] == 1


@in_loop
async def test_another_process_takes_the_answer(tmp_path: Path) -> None:
    """MCP-219: nothing is held in memory between the two."""
    async with connected_client(tmp_path, tools=TOOLS) as client:
        state = (await call(able(client, FORM), "greet"))["requestState"]
    async with connected_client(tmp_path, tools=TOOLS) as other:
        result = await call(able(other, FORM), "greet", inputResponses={"name": NAMED}, requestState=state)
        assert result["content"][0]["text"] == "Hello, Ada!"


# Sessions


class Person:
    """A session's client, which answers what it is asked."""

    def __init__(self, answer: Callable[[str, Any], Any]) -> None:
        self._answer = answer
        self.asked: list[tuple[str, Any]] = []

    async def tell(self, text: bytes) -> None: ...

    async def ask(self, method: str, params: Any) -> Any:
        self.asked.append((method, params))
        return self._answer(method, params)


async def in_session(
    client: McpClient, revision: str, capabilities: dict[str, Any], person: Person, name: str, **arguments: Any
) -> dict[str, Any]:
    one = able(client.with_revision(revision), capabilities)
    one.back = person  # type: ignore[assignment]
    result: dict[str, Any] = await one.ask("tools/call", name=name, arguments=arguments)
    check_against_schema(revision, "CallToolResult", result)
    return result


@pytest.mark.parametrize("revision", [S11, S6])
@in_loop
async def test_a_session_is_asked_until_the_tool_knows_enough(tmp_path: Path, revision: str) -> None:
    """MCP-208, MCP-211."""
    async with connected_client(tmp_path, tools=TOOLS) as client:
        person = Person(lambda method, params: NAMED)
        result = await in_session(client, revision, FORM, person, "greet", twice=True)
        assert result["content"][0]["text"] == "Hello, Ada!"
        assert [params["message"] for _, params in person.asked] == ["Your name?", "And your surname?"]


@in_loop
async def test_a_session_is_asked_for_everything_in_its_own_words(tmp_path: Path) -> None:
    """MCP-207, MCP-210, MCP-213, MCP-214."""
    answers = {"sampling/createMessage": SAID, "roots/list": {"roots": []}}

    def answer(method: str, params: Any) -> Any:
        return answers.get(method) or ({"action": "accept"} if params.get("mode") == "url" else NAMED)

    async with connected_client(tmp_path, tools=TOOLS) as client:
        person = Person(answer)
        result = await in_session(client, S11, EVERYTHING, person, "ask_for", what=["form", "sampling", "roots", "url"])
        assert result["content"][0]["text"] == "form,roots,sampling,url"
        asked = {method + (params or {}).get("mode", ""): params for method, params in person.asked}
        assert asked["roots/list"] is None
        assert asked["elicitation/createurl"]["elicitationId"]


@pytest.mark.parametrize("revision", [S11, S6, S3])
@in_loop
async def test_a_session_that_cannot_be_asked_fails_cleanly(tmp_path: Path, revision: str) -> None:
    """MCP-207: a result that says so; nobody waits."""
    async with connected_client(tmp_path, tools=TOOLS) as client:
        person = Person(lambda method, params: NAMED)
        result = await in_session(client, revision, {}, person, "greet")
        assert result["isError"] is True
        assert "elicitation" in result["content"][0]["text"]
        assert (person.asked, await client.server.app.store.open_calls("needs_input")) == ([], [])


def _refuse(method: str, params: Any) -> Any:
    raise RpcError(INTERNAL_ERROR, "the client did not answer in time")


@pytest.mark.parametrize(
    "answer", [_refuse, lambda method, params: {"action": "accept", "content": {}}, lambda m, p: 5], ids=range(3)
)
@in_loop
async def test_a_session_that_gives_no_answer_ends_the_call(tmp_path: Path, answer: Any) -> None:
    """MCP-211, MCP-215."""
    async with connected_client(tmp_path, tools=TOOLS) as client:
        result = await in_session(client, S11, FORM, Person(answer), "greet")
        assert result["isError"] is True
        assert not await client.server.app.store.open_calls("needs_input")


# Approvals


POLICY = '[[rules]]\nid = "pays"\ndecision = "ask"\ntool = "pay"\nchannels = ["loopback"]\n'


@in_loop
async def test_where_the_policy_names_the_channel_its_client_is_asked_for_the_approval(tmp_path: Path) -> None:
    """Only `accept` with an explicit `approve: true` lets the call run. What is shown is what would run."""
    (tmp_path / "policy.toml").write_text(POLICY)
    async with connected_client(tmp_path, tools=TOOLS, wait_seconds=0) as client:
        able(client, FORM)
        asked = await call(client, "pay", {"amount": 5})
        params = asked["inputRequests"]["approval"]["params"]
        assert '{"amount":5}' in params["message"]
        assert params["requestedSchema"]["required"] == ["approve"]
        yes = {"approval": {"action": "accept", "content": {"approve": True}}}
        assert (await refusal(client, "pay", {"amount": 6}, inputResponses=yes, requestState=asked["requestState"]))[
            0
        ] == -32602
        paid = await call(client, "pay", {"amount": 5}, inputResponses=yes, requestState=asked["requestState"])
        assert paid["content"][0]["text"] == "paid 5"
        assert await refusal(client, "pay", {"amount": 5}, inputResponses=yes, requestState=asked["requestState"]) == (
            -32602,
            UNUSABLE,
        )


@in_loop
async def test_nobody_is_asked_in_the_client_about_more_than_it_shows(tmp_path: Path) -> None:
    """An input that does not fit waits for the inbox, which shows all of it: padding hides nothing."""

    @ferrule.tool(name="pay")
    def pay_with_note(amount: int, note: str) -> str:
        """Pays."""
        return f"paid {amount}"

    (tmp_path / "policy.toml").write_text(POLICY)
    async with connected_client(tmp_path, tools=[pay_with_note], wait_seconds=0) as client:
        able(client, FORM)
        assert "inputRequests" in await call(client, "pay", {"amount": 5, "note": "x"})
        waits = await call(client, "pay", {"amount": 5, "note": "x" * 5000})
        assert waits["isError"] is True
        assert "inputRequests" not in waits


@pytest.mark.parametrize(
    ("answer", "status"),
    [
        ({"action": "decline"}, "approval_rejected"),
        ({"action": "accept", "content": {"approve": False}}, "approval_rejected"),
        ({"action": "cancel"}, None),
        ({"action": "accept"}, None),
        ({"action": "accept", "content": {"approve": "true"}}, None),
        ({"action": "accept", "content": {"approve": 1}}, None),
        ({"approve": True}, None),
    ],
    ids=range(7),
)
@in_loop
async def test_anything_but_a_plain_yes_approves_nothing(
    tmp_path: Path, answer: dict[str, Any], status: str | None
) -> None:
    """A no ends the call; what says neither leaves it waiting."""
    (tmp_path / "policy.toml").write_text(POLICY)
    async with connected_client(tmp_path, tools=TOOLS, wait_seconds=0) as client:
        able(client, FORM)
        asked = await call(client, "pay", {"amount": 5})
        result = await call(
            client, "pay", {"amount": 5}, inputResponses={"approval": answer}, requestState=asked["requestState"]
        )
        assert result["isError"] is True
        waiting = await client.server.app.store.open_calls("awaiting_approval")
        assert len(waiting) == (0 if status else 1)
        if status:
            assert result["_meta"]["dev.ferrule/error"]["class"] == status
        else:
            assert result["_meta"]["dev.ferrule/state"] == "awaiting_approval"


@in_loop
async def test_where_the_policy_does_not_name_the_channel_nobody_is_asked_there(tmp_path: Path) -> None:
    """Nothing the model can reach approves: the caller's channel does not count unless the policy says so."""
    async with connected_client(tmp_path, tools=TOOLS, wait_seconds=0) as client:
        able(client, FORM)
        result = await call(client, "pay", {"amount": 5})
        assert result["_meta"]["dev.ferrule/state"] == "awaiting_approval"
        person = Person(lambda method, params: {"action": "accept", "content": {"approve": True}})
        again = await in_session(client, S11, FORM, person, "pay", amount=5)
        assert again["_meta"]["dev.ferrule/state"] == "awaiting_approval"
        assert person.asked == []


@in_loop
async def test_a_policy_that_wants_somebody_else_is_not_satisfied_by_the_caller(tmp_path: Path) -> None:
    """`not_requester` holds, whatever the client says."""
    (tmp_path / "policy.toml").write_text(POLICY + "not_requester = true\n")
    async with connected_client(tmp_path, tools=TOOLS, wait_seconds=0) as client:
        result = await call(able(client, FORM), "pay", {"amount": 5})
        assert result["_meta"]["dev.ferrule/state"] == "awaiting_approval"


@in_loop
async def test_a_session_is_asked_for_an_approval_on_its_stream(tmp_path: Path) -> None:
    """The same rule: only an explicit yes."""
    (tmp_path / "policy.toml").write_text(POLICY)
    async with connected_client(tmp_path, tools=TOOLS, wait_seconds=0) as client:
        yes = Person(lambda method, params: {"action": "accept", "content": {"approve": True}})
        paid = await in_session(client, S11, FORM, yes, "pay", amount=5)
        assert paid["content"][0]["text"] == "paid 5"
        no = Person(lambda method, params: {"action": "decline"})
        refused = await in_session(client, S6, FORM, no, "pay", amount=5)
        assert refused["_meta"]["dev.ferrule/error"]["class"] == "approval_rejected"
        silent = await in_session(client, S11, FORM, Person(_refuse), "pay", amount=5)
        assert silent["_meta"]["dev.ferrule/state"] == "awaiting_approval"


@in_loop
async def test_an_approval_from_elsewhere_ends_the_question(tmp_path: Path) -> None:
    """Whoever is quicker decides; the other finds that out."""
    (tmp_path / "policy.toml").write_text(POLICY)
    async with connected_client(tmp_path, tools=TOOLS, wait_seconds=0) as client:
        asked = await call(able(client, FORM), "pay", {"amount": 5})
        opened = await client.server.app.store.open_calls("awaiting_approval")
        inbox = client.server.app.inbox(Identity("owner", "console", frozenset({APPROVE})))
        await inbox.reject(opened[0].call, reason="no")
        yes = {"approval": {"action": "accept", "content": {"approve": True}}}
        assert (await refusal(client, "pay", {"amount": 5}, inputResponses=yes, requestState=asked["requestState"]))[
            0
        ] == -32602
