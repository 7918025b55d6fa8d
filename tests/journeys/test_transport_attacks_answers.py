"""Answers from where none may come: a question of a system, a task of a person and an approval are answered by nobody else."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from ferrule.app.app import App
from ferrule.errors import AccessError
from ferrule.model.approval import APPROVE, CALL, Identity
from ferrule.model.result import Pending, Result
from ferrule.model.upstreams import CacheUpstreams
from ferrule.runtime.approval.key import ApprovalKey, make_callback_token
from ferrule.settings import NetworkSettings, Settings
from ferrule.testing import memory_app
from tests.contracts.transports.fake_upstream import aml
from tests.infra.clouds.far import Asked, Reply, far
from tests.runtime.executors.human.human_tool import POLICY, SETTINGS, asked, person
from tests.runtime.executors.human.human_tool import definition as human
from tests.runtime.executors.mcp.imported_apps import far_app, play, program
from tests.runtime.executors.rest.tools import definition
from tests.spec.running_app import run_async

AGENT = Identity("ann", "mcp:1", frozenset({APPROVE, CALL}))
FAR_FUTURE = 4_000_000_000_000_000
GOOD = {"verdict": "pay"}


async def _refused_everywhere(app: App, call: str, answer: Any, tokens: list[str]) -> None:
    """Nobody but a person may answer: not the caller, no queue, no token."""
    with pytest.raises(AccessError):
        await app.inbox(AGENT).answer(call, answer)
    for channel in ("queue:https://q.example/replies", "mcp:1", "callback", ""):
        if tokens or channel != "callback":
            assert await app.deliver(call, answer, channel) != "taken", channel
    for token in tokens:
        assert await app.answer_callback(token, answer) == "refused", token
    assert isinstance(await app.result(call), Pending)


def test_the_question_of_a_server_is_answered_by_people_only(tmp_path: Path) -> None:
    async def story() -> None:
        async with far_app(program(tmp_path)) as app:
            waiting = await app.surface(principal="ann", channel="mcp:1").call("ask", {"amount": 42})
            assert isinstance(waiting, Pending), waiting
            own = make_callback_token(app._parts.key, waiting.invocation_id, FAR_FUTURE)  # even one that was made here
            await _refused_everywhere(app, waiting.invocation_id, {"name": "Ada"}, [own])

    play(story)


@run_async
async def test_a_task_takes_no_token_of_another_call_key_or_time() -> None:
    tokens: list[str] = []

    def hear(one: Asked) -> Reply:
        tokens.append(json.loads(one.body)["callback"]["token"])
        return Reply(201)

    with far(hear) as server:
        files = {"tools/review-claim.tool.md": human(server.url)}
        async with memory_app(definitions=files, settings=SETTINGS, policy=POLICY) as app:
            first, second = await asked(app), await asked(app)
            stranger = make_callback_token(ApprovalKey.generate(), second, FAR_FUTURE)
            late = make_callback_token(app._parts.key, second, 1)
            torn = tokens[1][:-4] + ("AAAA" if tokens[1][-4:] != "AAAA" else "BBBB")
            for bad in (stranger, late, torn, tokens[1] + "A", tokens[1].swapcase(), "frc_", "", "x" * 10_000):
                assert await app.answer_callback(bad, GOOD) == "refused", bad
            with pytest.raises(AccessError):
                await app.inbox(AGENT).answer(second, GOOD)
            for channel in ("queue:https://q.example/replies", "mcp:1", ""):
                assert await app.deliver(second, GOOD, channel) != "taken", channel
            assert await app.answer_callback(tokens[0], GOOD) == "taken"
            assert await app.answer_callback(tokens[0], {"verdict": "refuse"}) == "duplicate"
            assert isinstance(await app.result(second), Pending), "its own token was never shown"
            assert (await person(app, "ben").answer(second, GOOD)).result is not None
            finished = await app.result(first, wait=10)
            assert isinstance(finished, Result) and finished.structured_content == GOOD


@run_async
async def test_an_approval_is_given_by_no_channel_of_answers() -> None:
    with far(lambda one: Reply(200, {}, {"Content-Type": "application/json"})) as server:
        tool = definition("POST /pay", base_url=server.url, tool_id="pay-out", kind="action")
        settings = Settings(network=NetworkSettings(allow=("127.0.0.1",)))
        async with memory_app(definitions={"tools/pay-out.tool.md": tool}, settings=settings) as app:
            waiting = await app.surface(principal="ann", channel="mcp:1").call("pay-out", {})
            assert isinstance(waiting, Pending), waiting
            own = make_callback_token(app._parts.key, waiting.invocation_id, FAR_FUTURE)
            for answer in ({"approved": True}, True, "allow", {"decision": "allow"}):
                for channel in ("queue:https://q.example/replies", "callback", "mcp:1", ""):
                    assert await app.deliver(waiting.invocation_id, answer, channel) != "taken"
                assert await app.answer_callback(own, answer) != "taken"
            with pytest.raises(AccessError):
                await app.inbox(AGENT).approve(waiting.invocation_id)
            assert isinstance(await app.result(waiting.invocation_id), Pending)
        assert not server.asked


@run_async
async def test_what_was_kept_is_given_to_nobody_once_its_tool_is_turned_off() -> None:
    with far(lambda one: Reply(200, {"text": "kept"}, {"Content-Type": "application/json"})) as server:
        transport = f"  type: rest-api\n  base_url: {server.url}\n  endpoint: GET /x\n  credentials: {{scheme: none}}"
        settings = Settings(network=NetworkSettings(allow=("127.0.0.1",)), cache=CacheUpstreams(ttl_seconds=600))
        files = {"tools/look-up.tool.md": aml("look-up", transport, kind="retrieval")}
        async with memory_app(definitions=files, settings=settings, policy='mode = "trusted"') as app:
            surface = app.surface()
            for _ in range(2):
                assert (await _ended(surface, "look-up")).error is None
            assert len(server.asked) == 1
            tool_id = surface.surface.entries["look-up"].tool.tool_id
            await app.disable(tool_id, by="owner", reason="it is wrong")
            for each in (surface, app.surface()):
                result = await _ended(each, "look-up")
                assert result.error is not None
                assert result.structured_content is None


async def _ended(surface: Any, name: str) -> Result:
    found = await surface.call(name, {})
    assert isinstance(found, Result), found
    return found
