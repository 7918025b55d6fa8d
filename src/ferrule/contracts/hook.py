"""Something that runs around a call. Hooks see a copy of the observable input; what they change, they return (AT-149)."""

from __future__ import annotations

from collections.abc import Awaitable
from typing import Any, Literal, Protocol

import msgspec

HookEvent = Literal[
    "pre_tool_use",
    "post_tool_use",
    "post_tool_use_failure",
    "permission_request",
    "permission_decision",
    "result_persistence",
]


class HookInput(msgspec.Struct, frozen=True):
    """What a hook is told."""

    event: HookEvent
    invocation_id: str
    tool_id: str
    tool_name: str
    principal: str
    agent: str | None
    observable_input: dict[str, Any]
    """A copy; editing it changes nothing."""
    result: dict[str, Any] | None = None


class HookOutput(msgspec.Struct, frozen=True):
    """What a hook may answer; every part is optional."""

    updated_input: dict[str, Any] | None = None
    """A fresh input to use instead; validated and judged again before anything runs."""
    stop: str | None = None
    """Ends the call, with this reason."""
    permission: Literal["allow", "ask", "deny"] | None = None
    permission_reason: str = ""
    messages: tuple[str, ...] = ()
    additional_context: tuple[dict[str, Any], ...] = ()


class Hook(Protocol):
    """One hook."""

    hook_id: str
    event: HookEvent

    def matches(self, tool_id: str, tool_name: str) -> bool:
        """True when it wants to see calls of this tool."""

    def run(self, told: HookInput) -> HookOutput | Awaitable[HookOutput | None] | None:
        """Its answer. An exception blocks the call (AT-158)."""
