"""A hook outside the process: what it is told goes out as JSON, what comes back is read strictly."""

from __future__ import annotations

from collections.abc import Sequence
from fnmatch import fnmatchcase

import msgspec

from ferrule.contracts.hook import HookEvent, HookInput, HookOutput, Reach
from ferrule.runtime.hooks.answer import answer_of

_SPARE_SECONDS = 1.0
"""The reach has the deadline and can say what was late; the pipeline only steps in where that fails."""
_encode = msgspec.json.Encoder().encode


class ExternalHook:
    """One hook that is asked through a reach."""

    takes_json = True

    def __init__(
        self,
        hook_id: str,
        event: HookEvent,
        reach: Reach,
        tools: Sequence[str] = ("*",),
        timeout_seconds: float = 5.0,
    ) -> None:
        self.hook_id = hook_id
        self.event = event
        self.matcher = {"tools": list(tools)}
        self.timeout_seconds = timeout_seconds + _SPARE_SECONDS
        self._reach = reach
        self._tools = tuple(tools)

    def matches(self, tool_id: str, tool_name: str) -> bool:
        """True when one of its patterns fits the tool's id or name."""
        return fits(self._tools, tool_id, tool_name)

    async def run(self, told: HookInput) -> HookOutput:
        """Ask, and read the answer. Raises HookFailed."""
        return answer_of(await self._reach.ask(_encode(told)))

    async def aclose(self) -> None:
        """Let go of the reach."""
        await self._reach.aclose()


def fits(patterns: Sequence[str], tool_id: str, tool_name: str) -> bool:
    """True when a pattern is the tool's id or name, or fits one of them with `*`."""
    for pattern in patterns:
        if pattern in ("*", tool_id, tool_name) or fnmatchcase(tool_id, pattern) or fnmatchcase(tool_name, pattern):
            return True
    return False
