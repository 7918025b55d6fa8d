"""REST tools for tests: definitions, and the short way from a definition to its result."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable, Mapping
from typing import Any

from ferrule.contracts.executor import Context
from ferrule.model.persistence import ResultSettings
from ferrule.model.result import Result
from ferrule.model.retry import RetrySettings
from ferrule.settings import Settings
from ferrule.testing import memory_app
from tests.runtime.executors.definitions import OBJECT, aml_file
from tests.runtime.executors.rest.server import BOUND, Answering, Server, json_answer, serving, settings

ALLOW = '[[rules]]\nid = "all"\ndecision = "allow"\ntool = "*"\n'


def definition(
    endpoint: str,
    *,
    base_url: str,
    takes: Mapping[str, Any] | None = None,
    gives: Mapping[str, Any] | None = None,
    kind: str = "retrieval",
    tool_id: str = "the-tool",
    credentials: Mapping[str, Any] | None = None,
    error_codes: Mapping[str, Any] | None = None,
    **transport: Any,
) -> str:
    """An AML file, as JSON within its front matter. `transport`: with `x_` for `x-`."""
    extra = {
        (f"x-{name[2:].replace('_', '-')}" if name.startswith("x_") else name): value
        for name, value in transport.items()
    }
    schema = {"type": "object", **({"properties": dict(takes)} if takes is not None else {})}
    reached = {
        "type": "rest-api",
        "base_url": base_url,
        "endpoint": endpoint,
        "credentials": credentials or {"scheme": "none"},
        **extra,
    }
    return aml_file(tool_id, reached, kind=kind, takes=schema, gives=gives or OBJECT, error_codes=error_codes)


ANY: dict[str, Any] = {}
"""A schema for anything."""

Story = Callable[[Any, Server], Awaitable[None]]


def told(
    story: Story,
    answering: Answering | list[bytes] | bytes,
    endpoint: str = "GET /x",
    *,
    here: Settings | None = None,
    environment: Mapping[str, str] | None = None,
    retries: RetrySettings | None = None,
    results: ResultSettings | None = None,
    base_path: str = "",
    **tool: Any,
) -> None:
    """Tell a story of one tool: `story(call, server)`, where `await call({…})` gives the result."""

    async def main() -> None:
        async with asyncio.timeout(BOUND), serving(answering) as server:
            text = definition(endpoint, base_url=server.url + base_path, **tool)
            async with memory_app(
                definitions={"tools/the-tool.tool.md": text},
                settings=here or settings(),
                environment=environment or {},
                policy=ALLOW,
                retries=retries,
                results=results,
            ) as app:
                surface = app.surface()

                async def call(arguments: dict[str, Any] | None = None, **options: Any) -> Result:
                    found = await surface.call("the-tool", arguments or {}, wait=10, **options)
                    assert isinstance(found, Result), found
                    return found

                call.app, call.surface = app, surface  # type: ignore[attr-defined]  # for the few stories that want more
                await story(call, server)

    asyncio.run(main())


def run_of(app: Any, tool_id: str = "the-tool") -> Any:
    """The tool's own runner."""
    tool = app.surface().surface.entries[tool_id].tool
    return app.find_executor(tool).prepare(tool)


def context(**facts: Any) -> Context:
    return Context("inv_1", "ann", None, "default", **facts)


def sent(endpoint: str, arguments: dict[str, Any], **transport: Any) -> Server:
    """The server after one call."""
    kept: list[Server] = []

    async def story(call: Any, server: Server) -> None:
        result = await call(arguments)
        assert result.error is None, result.error
        kept.append(server)

    kind = "retrieval" if endpoint.startswith("GET") else "action"
    told(story, json_answer({"ok": True}), endpoint, kind=kind, takes=dict.fromkeys(arguments, ANY), **transport)
    return kept[0]
