"""An app whose functions run in processes of their own, and whether a process is still there."""

from __future__ import annotations

import os
from pathlib import Path
from typing import Any

from ferrule.app.app import App
from ferrule.model.result import Result
from ferrule.settings import FunctionSettings, Settings
from ferrule.testing import memory_app
from tests.runtime.functions import apart

TRUSTED = 'mode = "trusted"'


def isolated_app(*tools: Any, environment: dict[str, str] | None = None, **functions: Any) -> Any:
    """An app with these tools, or those of `apart.py`, whose children get this environment."""
    settings = Settings(functions=FunctionSettings(**functions))
    env = {"PATH": os.environ["PATH"], **(environment or {})}
    return memory_app(tools=tools or (apart,), policy=TRUSTED, settings=settings, environment=env)


async def call_tool(app: App, name: str, **arguments: Any) -> Result:
    """What a call by Ann came to."""
    result = await app.surface(principal="ann").call(f"apart.{name}", arguments)
    assert isinstance(result, Result), result
    return result


async def call_for_value(app: App, name: str, **arguments: Any) -> Any:
    """What a call that succeeds gives."""
    result = await call_tool(app, name, **arguments)
    assert result.error is None, result.error
    return result.structured_content


def is_alive(pid: int) -> bool:
    """True for a process that has not ended; one that only waits to be reaped has."""
    try:
        return Path(f"/proc/{pid}/stat").read_text(encoding="utf-8").rpartition(")")[2].split()[0] not in "ZX"
    except OSError:
        return False
