"""Guardrails with providers that answer as a test wants: a real program, a real server, or a function."""

from __future__ import annotations

import sys
from collections.abc import Awaitable, Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import msgspec

from ferrule.contracts.hook import Hook, HookInput, HookOutput
from ferrule.runtime.hooks.guardrail_records import FiredRuns, GuardrailSettings
from ferrule.runtime.hooks.guardrail_set import build_guardrails
from tests.runtime.hooks.fake_provider import FakeProvider, local_client, running_provider

SECRET = "a secret that signs questions"
ENV = {"PATH": "/usr/bin:/bin", "GUARD_SECRET": SECRET}


def settings(**said: Any) -> GuardrailSettings:
    """A guardrail's settings, decoded as ferrule.toml is."""
    return msgspec.convert({"id": "watch", "at": ["tool_input"], **said}, GuardrailSettings)


def hooks_of(
    *said: GuardrailSettings,
    agents: Mapping[str, Any] | None = None,
    fired: FiredRuns | None = None,
    root: Path = Path(),
    env: Mapping[str, str] = ENV,
) -> tuple[Hook, ...]:
    files = {agent: {"guardrails": block} for agent, block in (agents or {}).items()}
    return build_guardrails(said, files, root, env, local_client, fired)


@contextmanager
def guardrail_over_http(answer: bytes, status: int = 200, **said: Any) -> Iterator[tuple[Hook, FakeProvider]]:
    """A guardrail over HTTP whose provider gives these bytes."""
    with running_provider(lambda body: answer, status) as server:
        (hook,) = hooks_of(settings(kind="http", url=server.url, secret_env="GUARD_SECRET", **said))
        yield hook, server


def program(root: Path, text: str) -> tuple[str, ...]:
    """A program that is asked: `told` is what it was told, `say(…)` its answer."""
    file = root / "provider.py"
    lines = (
        "import json, sys, time",
        "told = json.load(sys.stdin)",
        "say = lambda said: print(json.dumps(said))",
        text,
    )
    file.write_text("\n".join(lines))
    return (sys.executable, "-S", str(file))


def build_input(value: Any = None, *, agent: str | None = None, run_id: str = "run_1", result: Any = None) -> HookInput:
    given = {"city": "Bern"} if value is None else value
    return HookInput(
        "pre_tool_use" if result is None else "post_tool_use",
        "inv_1", "shop.search", "search", "ada", agent, given, result, run_id,
    )  # fmt: skip


def build_output_input(value: Any) -> HookInput:
    """A call whose tool gave this."""
    content = [{"type": "text", "text": value if isinstance(value, str) else msgspec.json.encode(value).decode()}]
    record: dict[str, Any] = {"status": "success", "content": content}
    if not isinstance(value, str):
        record["structured_content"] = value
    return build_input(result=record)


async def output(hook: Hook, given: HookInput | None = None) -> HookOutput:
    said = hook.run(given if given is not None else build_input())
    answer = await said if isinstance(said, Awaitable) else said
    return answer if answer is not None else HookOutput()
