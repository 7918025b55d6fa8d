"""The contract of a hook, which runs around a call. Hooks see a copy of the observable input; they return changes
(AT-149).

The six events, and which answers count at each:

| event                   | when                                      | besides messages, progress and context     |
|-------------------------|-------------------------------------------|--------------------------------------------|
| `pre_tool_use`          | before permission is decided              | `updated_input`, `permission`, `stop`      |
| `permission_request`    | before a person is asked                  | `permission` (`deny` alone weighs), `stop` |
| `permission_decision`   | a decision was made, before anything runs | `permission` (`deny` alone weighs), `stop` |
| `post_tool_use`         | the tool returned its output              | `updated_output`, `stop`                   |
| `post_tool_use_failure` | the tool failed                           | `stop` (only on record: the turn ends)     |
| `result_persistence`    | it was decided how the result is kept     | `stop` (the result is withheld)            |

An answer that cannot count at its event (a changed input after the decision, a `deny` after the tool ran) is invalid:
the
hook has failed, and a failed hook blocks the call, or marks its result where the tool ran already (AT-158).
"""

from __future__ import annotations

from collections.abc import Awaitable
from typing import Any, Literal, Protocol, get_args

import msgspec

HookEvent = Literal[
    "pre_tool_use",
    "post_tool_use",
    "post_tool_use_failure",
    "permission_request",
    "permission_decision",
    "result_persistence",
]
HOOK_EVENTS: tuple[HookEvent, ...] = get_args(HookEvent)
Permission = Literal["allow", "ask", "deny"]


class HookInput(msgspec.Struct, frozen=True, omit_defaults=True):
    """The input of a hook. Hooks outside the process get it as JSON."""

    event: HookEvent
    invocation_id: str
    tool_id: str
    tool_name: str
    principal: str
    agent: str | None
    observable_input: Any
    """A copy; editing it changes nothing."""
    result: dict[str, Any] | None = None
    """After the tool ran: the result's record."""
    run_id: str = ""
    surface_id: str = ""
    request: dict[str, Any] | None = None
    """Of `permission_request`: the question a person will get: `message`, `risk`, `expires_at`, `rule_refs`."""
    decision: dict[str, Any] | None = None
    """Of `permission_decision`: `behavior`, `reason` (`type`, `message`), `by`, `rule_refs`."""
    persistence: dict[str, Any] | None = None
    """Of `result_persistence`: `strategy`, `original_size_bytes`, `preview_size_bytes`, `reason`."""


class HookOutput(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """The answer of a hook; every part is optional."""

    updated_input: dict[str, Any] | None = None
    """A fresh input to use instead; validated and judged again before anything runs."""
    stop: str | None = None
    """Ends the call, with this reason."""
    permission: Permission | None = None
    permission_reason: str = ""
    messages: tuple[str, ...] = ()
    """For the record."""
    additional_context: tuple[dict[str, Any], ...] = ()
    """Content blocks for the model beside the tool's own output, each labelled with its hook as the origin."""
    progress: tuple[dict[str, Any], ...] = ()
    """Progress of the call, in the fields of `Context.progress`."""
    updated_output: Any = msgspec.UNSET
    """Replaces the tool's output for the model; the original is kept (AT-157). UNSET: unchanged."""
    stop_code: str | None = None
    """The finer error code of a `stop`, such as `guardrail_fired`."""
    outcome: dict[str, Any] | None = None
    """A judgement for the record, as data: what a guardrail scored, and what was done about it."""


DEFAULT_TIMEOUT_SECONDS = 5.0


class Hook(Protocol):
    """One hook. It may also have:

    `timeout_seconds`: how long an awaited answer may take (5 seconds). A plain function is not interrupted: it runs in the
    event loop and holds up everything, so it has to be quick.
    `matcher`: a dict, for the record.
    `takes_json`: True when it wants `observable_input` as JSON (`msgspec.Raw`), to pass it on without reading it.
    """

    hook_id: str
    event: HookEvent

    def matches(self, tool_id: str, tool_name: str) -> bool:
        """Returns True when the hook wants to see calls of this tool."""

    def run(self, hook_input: HookInput) -> HookOutput | Awaitable[HookOutput | None] | None:
        """Returns the hook's answer. An exception blocks the call (AT-158)."""


class HookConnection(Protocol):
    """The connection to a hook outside the process: a command, an address. JSON goes out, JSON comes back."""

    async def ask(self, message: bytes) -> bytes:
        """Sends a message and returns the answer. Raises HookFailed for everything that can go wrong, a timeout
        included."""

    async def aclose(self) -> None:
        """Closes the connection."""


class HookFailed(Exception):
    """A hook could not be reached, or returned no valid answer. The message names no secret."""
