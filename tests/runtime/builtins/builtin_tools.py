"""Built-in tools for tests: one at a time with settings of its own, or a whole app with an agent file that enables them."""

from __future__ import annotations

import asyncio
import json
from collections.abc import AsyncIterator, Iterator
from contextlib import asynccontextmanager, contextmanager
from pathlib import Path
from typing import Any

import pytest

from ferrule.app.app import App
from ferrule.contracts.executor import Context, ExecutionFailed
from ferrule.infra.network.client import Client
from ferrule.infra.network.guard import Guard
from ferrule.model.builtin_tools import BUILTIN_TOOLS
from ferrule.model.failure import ErrorClass
from ferrule.model.tool import Tool, raw
from ferrule.runtime.builtins.executor import BuiltinExecutor
from ferrule.testing import memory_app

ALLOW_ALL = '[[rules]]\nid = "all"\ndecision = "allow"\ntool = "*"\n'


def tool(builtin_id: str, **config: Any) -> Tool:
    """A built-in tool as an agent file compiles to it."""
    builtin = BUILTIN_TOOLS[builtin_id]
    return Tool(
        tool_id=f"shop.{builtin_id}", namespace="shop", name=builtin_id, description=builtin.description,
        lifecycle="available", tool_kind=builtin.kind, dialect="adl", input_schema=raw(builtin.schema),
        payload=raw({"tool": {"id": builtin_id}, "config": {"enabled": True, **config}}),
    )  # fmt: skip


def run(root: Path, builtin_id: str, config: dict[str, Any] | None = None, /, *, context: Context | None = None,
        guard: Guard | None = None,
        environment: dict[str, str] | None = None, options: dict[str, Any] | None = None, **arguments: Any) -> Any:  # fmt: skip
    """What one call of a built-in tool gives, preflight and all. Raises ExecutionFailed."""

    async def story() -> Any:
        client = Client(guard or Guard())
        executor = BuiltinExecutor(root, environment or {}, lambda: client, **(options or {}))
        try:
            prepared: Any = executor.prepare(tool(builtin_id, **(config or {})))
            prepared.preflight(dict(arguments))
            return await prepared(arguments, context or Context("inv_1", "ann", None, "default"))
        finally:
            await executor.aclose()
            await client.aclose()

    return asyncio.run(story())


def no_client() -> Client:
    """What tools are given that do not reach the network."""
    raise AssertionError("nobody asks")


@contextmanager
def expect_refusal(error_class: ErrorClass, code: str | None = None, match: str | None = None) -> Iterator[None]:
    """Expects a failure of a class, with a code."""
    with pytest.raises(ExecutionFailed, match=match) as failed:
        yield
    assert failed.value.error_class == error_class, failed.value.message
    if code is not None:
        assert failed.value.code == code, failed.value.message


def write_manifest(**tools: dict[str, Any]) -> str:
    """An agent file with these built-in tools and their settings."""
    return json.dumps(
        {
            "apiVersion": "adl.inference-gateway.com/v1",
            "kind": "Agent",
            "metadata": {"name": "shop", "description": "Sells", "version": "2.0.1"},
            "spec": {
                "capabilities": {"streaming": True, "pushNotifications": False, "stateTransitionHistory": False},
                "server": {"port": 80},
                "language": {"go": {"module": "m", "version": "1"}},
                "tools": [{"id": name} for name in tools],
                "config": {"tools": tools},
            },
        }
    )


@asynccontextmanager
async def app_with_builtins(root: Path, environment: dict[str, str] | None = None, /, *, network_allow: tuple[str, ...] = (),
               policy: str = ALLOW_ALL, **tools: dict[str, Any]) -> AsyncIterator[App]:  # fmt: skip
    """An app whose agent `shop` has these built-in tools."""
    client = Client(Guard(network_allow))
    executor = BuiltinExecutor(root, environment or {}, lambda: client)
    async with memory_app(
        definitions={"agent.yaml": write_manifest(**tools)}, policy=policy, executors=[executor]
    ) as app:
        yield app
    await client.aclose()
