"""A Python function of this process as a hook.

An async function has a deadline. A plain one runs in the event loop and cannot be interrupted: it has to be quick.
"""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Sequence
from inspect import isawaitable
from pathlib import Path
from typing import TypeAlias

from ferrule.contracts.hook import DEFAULT_TIMEOUT_SECONDS, HookEvent, HookInput, HookOutput
from ferrule.errors import BindingError, SettingsError
from ferrule.model.value import JsonObject
from ferrule.runtime.functions.discovery import load_modules
from ferrule.runtime.hooks.external import convert_answer, matches_tool

HookAnswer: TypeAlias = "HookOutput | JsonObject | None"
HookFunction: TypeAlias = "Callable[[HookInput], HookAnswer | Awaitable[HookAnswer]]"
"""Takes a hook's input; returns a `HookOutput`, the same as a dict, or None."""


class FunctionHook:
    """A function as a hook. It can still be called like the function it is."""

    def __init__(
        self,
        hook_id: str,
        event: HookEvent,
        function: HookFunction,
        tools: Sequence[str] = ("*",),
        timeout_seconds: float = DEFAULT_TIMEOUT_SECONDS,
    ) -> None:
        self.hook_id = hook_id
        self.event = event
        self.matcher = {"tools": list(tools)}
        self.timeout_seconds = timeout_seconds
        self._function = function
        self._tools = tuple(tools)

    def __call__(self, told: HookInput) -> HookAnswer | Awaitable[HookAnswer]:
        """Calls the function."""
        return self._function(told)

    def matches(self, tool_id: str, tool_name: str) -> bool:
        """Returns True when one of its patterns matches the tool's id or name."""
        return matches_tool(self._tools, tool_id, tool_name)

    def run(self, told: HookInput) -> HookOutput | Awaitable[HookOutput | None] | None:
        """Returns the function's answer. Raises what the function raises, and HookFailed for an invalid answer."""
        said = self._function(told)
        if said is None or isinstance(said, HookOutput):
            return said
        return _read_awaited(said) if isawaitable(said) else convert_answer(said)


async def _read_awaited(said: Awaitable[object]) -> HookOutput | None:
    return convert_answer(await said)


def hook(
    event: HookEvent,
    *,
    tools: Sequence[str] = ("*",),
    name: str | None = None,
    timeout_seconds: float = DEFAULT_TIMEOUT_SECONDS,
) -> Callable[[HookFunction], FunctionHook]:
    """Makes a function a hook, for `hooks=[…]`. Its id is the function's name unless `name` states another."""

    def decorate(function: HookFunction) -> FunctionHook:
        hook_id = name or str(getattr(function, "__name__", type(function).__name__))
        return FunctionHook(hook_id, event, function, tools, timeout_seconds)

    return decorate


def load_function(reference: str, root: Path, hook_id: str) -> HookFunction:
    """Loads the function at `module:name`; the module may be a file of the workspace. Raises SettingsError."""
    where, _, name = reference.rpartition(":")
    if not where or not name:
        raise SettingsError(f"the hook {hook_id!r}: write its function as module:name, such as checks.py:limit")
    try:
        found = getattr(load_modules(root, [where])[0], name, None)
    except BindingError as error:
        raise SettingsError(f"the hook {hook_id!r}: {error}") from error
    if not callable(found):
        raise SettingsError(f"the hook {hook_id!r}: there is no function {name!r} in {where}")
    function: HookFunction = found
    return function
