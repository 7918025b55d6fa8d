"""Lambda functions that really run, behind the Invoke interface of `tests/runtime/executors/lambda_/runtime.py`."""

from __future__ import annotations

import asyncio
import json
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager

from ferrule.settings import NetworkSettings, Settings
from tests.contracts.transports.fake_upstream import CANARY, Behaviour, FakeUpstream, aml
from tests.infra.clouds.far import Answer, Asked, Reply
from tests.runtime.executors.lambda_.runtime import ARN, Lambda, local_lambda

FUNCTIONS = {
    "echo": "def handler(event, context):\n    return {'text': event.get('text')}",
    "slow": "import time\ndef handler(event, context):\n    time.sleep(30)\n    return {}",
    "fails": f"def handler(event, context):\n    raise ValueError('it says {CANARY}')",
    "big": "def handler(event, context):\n    return {'text': 'x' * 1_100_000 + 'the end of it'}",
    "empty": "def handler(event, context):\n    return None",
}
RETRIES = "  retry_policy: {max_attempts: 3, backoff_ms: 10}\n"


@asynccontextmanager
async def running_upstream() -> AsyncIterator[FakeUpstream]:
    """One function for each behaviour."""
    with local_lambda(**FUNCTIONS, flaky=FUNCTIONS["echo"]) as made:
        made.far.answer = _flaky(made)
        definitions: dict[Behaviour, str] = {
            name: aml(name, _transport(name)) for name in ("echo", "slow", "fails", "big", "empty")
        }
        definitions["flaky"] = aml("flaky", _transport("flaky") + RETRIES)
        definitions["refused"] = aml(
            "refused", _transport("echo", "{scheme: service-account, source: env, name: WRONG}")
        )
        definitions["unset"] = aml("unset", _transport("echo", "{scheme: service-account, source: env, name: UNSET}"))
        definitions["gone"] = aml("gone", _gone())
        wrong = {"access_key_id": "AKIAUNKNOWN", "secret_access_key": CANARY}
        yield FakeUpstream(
            definitions=definitions,
            settings=Settings(network=NetworkSettings(allow=("127.0.0.1",))),
            environment={**made.environment, "WRONG": json.dumps(wrong)},
            touched=lambda: len(made.invoked),
            begun=lambda: _begun(made),
            stopped=_never,
            without={"steps": "a function tells nothing before its result"},
            can_stop=False,
        )


def _transport(name: str, credentials: str = "{scheme: iam-role}") -> str:
    return (
        f"  type: lambda\n  provider: aws\n  function_id: {ARN}{name}\n  invocation_type: RequestResponse\n"
        f"  credentials: {credentials}\n"
    )


def _gone() -> str:
    return (
        "  type: lambda\n  provider: azure\n  function_id: http://127.0.0.1:1/api/gone\n  invocation_type: RequestResponse\n"
        "  credentials: {scheme: none}\n"
    )


def _flaky(made: Lambda) -> Answer:
    """Every other invocation of `flaky` is one too many."""
    answer, seen = made.answer, [0]

    def answered(asked: Asked) -> Reply:
        if "function%3Aflaky/invocations" in asked.path:
            seen[0] += 1
            if seen[0] % 2:
                return Reply(429, {"message": "Rate Exceeded"}, {"x-amzn-ErrorType": "TooManyRequestsException"})
        return answer(asked)

    return answered


async def _begun(made: Lambda) -> None:
    await asyncio.to_thread(made.begun.wait, 20)


async def _never() -> bool:
    return False
