"""The whole story on disk: a call parks, its process ends, the reply comes, and another process finishes the call."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path

import pytest

import ferrule
from ferrule.model.result import Result
from tests.infra.clouds.amazon import KEYS, REGION, amazon
from tests.runtime.executors.queue.sqs_queues import Queues
from tests.runtime.executors.queue.tools import eventually
from tests.spec.running_app import run_async

CALLS = """
import asyncio, sys
import ferrule

async def main():
    async with ferrule.open(sys.argv[1]) as app:
        pending = await app.surface(principal="ann").call("ask", {"text": "hello"})
        print(pending.invocation_id)

asyncio.run(main())
"""


@run_async
async def test_a_reply_ends_a_call_that_another_process_made(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    with amazon() as aws:
        queues = Queues(aws)
        for name, value in {**KEYS, "AWS_REGION": REGION}.items():
            monkeypatch.setenv(name, value)
        (tmp_path / "tools").mkdir()
        (tmp_path / "tools" / "ask.tool.md").write_text(queues.ask())
        (tmp_path / "ferrule.toml").write_text('namespace = "test"\n[network]\nallow = ["127.0.0.1"]\n')
        (tmp_path / "policy.toml").write_text('mode = "trusted"\n')
        done = subprocess.run(
            [sys.executable, "-c", CALLS, str(tmp_path)], capture_output=True, text=True, timeout=30, check=False
        )
        assert done.returncode == 0, done.stderr
        call = done.stdout.strip()
        assert json.loads(queues.taken()["Body"]) == {"text": "hello"}
        queues.answer("{not json", call)
        queues.answer({"text": "while nobody was there"}, call)
        queues.answer({"text": "twice"}, call)
        async with ferrule.open(tmp_path) as app:
            result = await app.result(call, wait=15)
            assert isinstance(result, Result)
            assert result.structured_content == {"text": "while nobody was there"}
            await eventually(lambda: queues.left() == 0)
        (aside,) = (tmp_path / ".ferrule" / "set-aside").glob("*.json")
        assert "no JSON" in json.loads(aside.read_text())["reason"]
