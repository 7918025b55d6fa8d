"""Tools of definitions here that a server over HTTP runs, and the short way to what a call of one gives."""

from __future__ import annotations

from typing import Any

from ferrule.model.result import Result
from ferrule.settings import NetworkSettings, Settings
from ferrule.testing import memory_app
from tests.contracts.transports.fake_upstream import aml
from tests.runtime.executors.mcp.imported_apps import ended

LOCAL = Settings(network=NetworkSettings(allow=("127.0.0.1",)))


def definition(url: str, *, name: str = "echo", revision: str = "", kind: str = "retrieval", output: str = "",
               error_codes: str = "") -> dict[str, str]:  # fmt: skip
    """An AML file of a tool that a server runs."""
    lines = ["type: mcp", f'url: "{url}"', f"tool_name: {name}", "credentials: {scheme: none}"]
    lines += [f'protocol_version: "{revision}"'] if revision else []
    text = aml(name, "\n".join(f"  {line}" for line in lines), kind=kind, output=output, error_codes=error_codes)
    return {f"tools/{name}.tool.md": text}


async def called(url: str, settings: Settings = LOCAL, **options: Any) -> Result:
    """What a call came to."""
    name = options.get("name", "echo")
    async with memory_app(definitions=definition(url, **options), settings=settings) as app:
        return await ended(app, name, {"text": "hi"})
