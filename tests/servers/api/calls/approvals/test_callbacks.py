"""Tasks that were posted are answered from outside by their token, and by nothing else."""

from __future__ import annotations

import asyncio
import json
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any

import pytest

from ferrule.access.keys import Access
from ferrule.app.app import App
from ferrule.contracts.receiver import Fate
from ferrule.model.result import Pending, Result
from ferrule.model.serving import ServeSettings
from ferrule.servers.api.calls import approvals
from ferrule.servers.auth.gate import gate_of
from ferrule.servers.caller_limits import FairTurnstile
from ferrule.servers.edge import Edge
from ferrule.servers.serving import build_root
from ferrule.testing import memory_app
from tests.driven import driven
from tests.runtime.executors.human.human_tool import POLICY, SETTINGS, asked, definition
from tests.runtime.executors.rest.server import answer, serving
from tests.servers.api.api import hold
from tests.servers.local_server import InProcessServer, Reply

FILE, GOOD = "tools/review-claim.tool.md", {"verdict": "pay", "note": "it is true"}


def _app(url: str) -> Any:
    return memory_app(definitions={FILE: definition(url)}, policy=POLICY, settings=SETTINGS)


@asynccontextmanager
async def posted(folder: Path) -> AsyncIterator[tuple[InProcessServer, str, str]]:
    """A server, the id of a call that waits for an answer, and the token that was posted with it."""
    settings = ServeSettings(auth=True)
    async with serving(answer(201)) as outside, _app(outside.url) as app:
        edge = Edge(app, settings, gate_of(settings, Access(folder)), FairTurnstile(settings.limits))
        call = await asked(app)
        yield InProcessServer(app, edge, build_root(edge)), call, json.loads(outside.seen[0].body)["callback"]["token"]
        await edge.aclose()


async def sent(stand: InProcessServer, body: object) -> Reply:
    reply = await stand.ask("POST", "/v1/answers", body)
    hold("POST", "/v1/answers", reply)
    return reply


@driven
async def test_a_token_answers_its_task_once(tmp_path: Path) -> None:
    async with posted(tmp_path) as (stand, call, token):
        unfit = await sent(stand, {"token": token, "value": {"verdict": "no"}})
        assert (unfit.status, unfit.json()["code"]) == (404, "not_taken")
        assert (await sent(stand, {"token": token, "value": GOOD})).json() == {"fate": "taken"}
        assert isinstance(await stand.app.result(call), Result)
        assert (await sent(stand, {"token": token, "value": GOOD})).json() == {"fate": "duplicate"}


@driven
async def test_no_answer_is_told_as_taken_before_anybody_knows(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(approvals, "_PATIENCE_SECONDS", 0.0)
    answer_callback = App.answer_callback

    async def answer_slowly(*given: Any, **more: Any) -> Fate:
        await asyncio.sleep(0.05)
        return await answer_callback(*given, **more)

    monkeypatch.setattr(App, "answer_callback", answer_slowly)
    async with posted(tmp_path) as (stand, call, token):
        unfit = await sent(stand, {"token": token, "value": {"verdict": "no"}})
        assert (unfit.status, unfit.json()["code"]) == (404, "not_taken")
        assert (await sent(stand, {"token": token, "value": GOOD})).json() == {"fate": "taken"}
        await stand.app.result(call, wait=5)
        assert (await sent(stand, {"token": token, "value": GOOD})).json() == {"fate": "duplicate"}


@driven
async def test_without_its_token_nobody_answers_a_task(tmp_path: Path) -> None:
    async with posted(tmp_path) as (stand, call, token):
        for wrong in (token[:-2] + "AA", "", "frc_", call, "x" * 900):
            reply = await sent(stand, {"token": wrong, "value": GOOD})
            assert (reply.status, reply.json()["code"]) == (404, "not_taken")
        bodies: tuple[Any, ...] = (
            {"token": token},
            {"value": GOOD},
            {"token": 1, "value": GOOD},
            [],
            {"token": "x" * 2000, "value": 1},
        )
        for body in bodies:
            assert (await sent(stand, body)).status == 400
        assert (await stand.ask("GET", "/v1/answers")).status == 405
        assert isinstance(await stand.app.result(call), Pending)
