"""Tools that wait until a test opens their gate, and the order in which their runs began and ended."""

from __future__ import annotations

import asyncio
from collections import defaultdict
from collections.abc import Callable
from typing import Any

from ferrule.app.app import App


async def wait_until(condition: Callable[[], object]) -> None:
    """Waits for a condition; the test's own time limit ends it."""
    while not condition():
        await asyncio.sleep(0.001)


def list_calls_in_flight(app: App, tool_id: str = "") -> list[str]:
    """Lists the ids of the calls in flight."""
    calls = app.services.live.calls.values()
    return [live.call.invocation_id for live in calls if tool_id in ("", live.call.prepared.tool_id)]


class GatedRuns:
    """Runs side by side: each records its beginning and end, and waits while its gate is closed.

    Runs are named by the argument `city`.
    """

    def __init__(self, *shut: str) -> None:
        self.seen: list[str] = []
        """`+name` for every beginning, `-name` for every end, in order."""
        self.stopped: list[str] = []
        """Runs that were canceled."""
        self._gates: dict[str, asyncio.Event] = defaultdict(asyncio.Event)
        self._shut = set(shut)

    def close_gates(self, *names: str) -> None:
        """Makes runs of these names wait."""
        self._shut.update(names)

    def open_gates(self, *names: str) -> None:
        """Lets runs of these names end; all of them without a name."""
        for name in names or tuple(self._shut):
            self._gates[name].set()

    def has_begun(self, *names: str) -> bool:
        """Returns True once they all run, or ran."""
        return all(f"+{name}" in self.seen for name in names)

    @property
    def running(self) -> set[str]:
        """The names of the current runs."""
        return {step[1:] for step in self.seen if step[0] == "+"} - {step[1:] for step in self.seen if step[0] == "-"}

    async def work(self, arguments: dict[str, Any]) -> Any:
        """One run; a script of `ScriptedExecutor`."""
        name = arguments["city"]
        self.seen.append(f"+{name}")
        try:
            if name in self._shut:
                await self._gates[name].wait()
            else:
                await asyncio.sleep(0)
        except asyncio.CancelledError:
            self.stopped.append(name)
            raise
        finally:
            self.seen.append(f"-{name}")
        return {"city": name}


def have_overlapped(seen: list[str], one: str, other: str) -> bool:
    """Returns True when two runs were in flight at the same time."""
    spans = {name: (seen.index(f"+{name}"), seen.index(f"-{name}")) for name in (one, other)}
    return spans[one][0] < spans[other][1] and spans[other][0] < spans[one][1]
