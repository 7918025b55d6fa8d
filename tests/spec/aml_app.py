"""AML tools with a transport, and an app that really calls their upstreams."""

from __future__ import annotations

import asyncio
import json
import threading
from collections.abc import AsyncIterator, Awaitable, Callable, Mapping
from contextlib import asynccontextmanager
from typing import Any

from ferrule.settings import NetworkSettings, Settings
from ferrule.testing import memory_app
from tests.spec.running_app import RecordingExecutor, RunningApp

LOCAL = Settings(network=NetworkSettings(allow=("127.0.0.1",)))
ALLOWED = '[[rules]]\nid = "all"\ndecision = "allow"\ntool = "*"\n'
NONE = {"scheme": "none"}
CITY = {"type": "object", "properties": {"city": {"type": "string", "description": "Where."}}}
OPEN = {"type": "object"}


def tool_file(
    tool_id: str,
    transport: Mapping[str, Any] | None,
    *,
    kind: str = "retrieval",
    takes: Mapping[str, Any] = CITY,
    gives: Mapping[str, Any] = OPEN,
    **root: Any,
) -> dict[str, str]:
    """The file of one tool, by its name. `root`: other members of it (`error_codes`, `approval_required`, …)."""
    said = {
        "spec_version": "1.2",
        "tool_id": tool_id,
        "version": "1.0.0",
        "status": "active",
        "type": kind,
        "meta": {"name": tool_id, "description": "Does one thing. Use it for that.", "owner": "tests"},
        "interface": {"input": dict(takes), "output": dict(gives)},
        "use_guidance": {"use_when": ["asked"], "avoid_when": ["not asked"], "side_effects": "As the test says."},
        **({"transport": dict(transport)} if transport is not None else {}),
        **root,
    }
    return {f"tools/{tool_id}.tool.md": f"---\n{json.dumps(said)}\n---\n"}


def rest_transport(
    url: str, endpoint: str = "POST /x", credentials: Mapping[str, Any] | None = None, **said: Any
) -> dict[str, Any]:
    """A transport of type `rest-api`."""
    return {"type": "rest-api", "base_url": url, "endpoint": endpoint, "credentials": credentials or NONE, **said}


@asynccontextmanager
async def running_aml_app(
    files: Mapping[str, str], environment: Mapping[str, str] | None = None, **parts: Any
) -> AsyncIterator[RunningApp]:
    """Runs an app with these tools for a caller who may call them all and reach this machine."""
    caller = parts.pop("caller", {})
    given: dict[str, Any] = {"settings": LOCAL, "policy": ALLOWED, **parts}
    async with memory_app(definitions=dict(files), environment=environment or {}, **given) as app:
        yield RunningApp(app, RecordingExecutor(), app.surface(**({"principal": "ada"} | caller)))


class WarpedLoop(asyncio.SelectorEventLoop):
    """An event loop whose clock can be put forward."""

    ahead = 0.0

    def time(self) -> float:
        return super().time() + self.ahead


def run_with_warped_clock(story: Callable[[WarpedLoop], Awaitable[None]]) -> None:
    """Runs a story on a clock it can put forward; it has twenty real seconds."""

    async def bounded() -> None:
        loop = asyncio.get_running_loop()
        assert isinstance(loop, WarpedLoop)
        playing = asyncio.ensure_future(story(loop))
        watchdog = _watchdog(loop, playing)
        try:
            await playing
        finally:
            watchdog.cancel()

    with asyncio.Runner(loop_factory=WarpedLoop) as runner:
        runner.run(bounded())


def _watchdog(loop: asyncio.AbstractEventLoop, playing: asyncio.Future[None]) -> threading.Timer:
    """Cancels a hanging story by the real clock."""
    timer = threading.Timer(20, loop.call_soon_threadsafe, (playing.cancel,))
    timer.daemon = True
    timer.start()
    return timer
